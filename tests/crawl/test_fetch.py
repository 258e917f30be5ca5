"""The fetcher against real servers: every limit, every failure a cause, no answer for the wrong URL (E2, G11, T5)."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import socket
import ssl
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import nginx
import pycurl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web import (
    MISBEHAVIOURS,
    POISON,
    TLS_KINDS,
    Authority,
    Expectation,
    Line,
    Request,
    Response,
    Site,
    Tls,
    answer_bytes,
    free_port,
    html_page,
    poison_answer,
)

from weft.errors import Cause
from weft.fetch.cookies import CookieJar
from weft.fetch.http import CAUSE_BY_NUMBER, CAUSES, Fetcher, Outcome
from weft.fetch.http import fetcher as fetcher_module
from weft.fetch.http.bounds import Rate
from weft.fetch.http.watch import EpollWatch, LoopWatch, Watch
from weft.fetch.resolve import AddressPolicy
from weft.records import Failure, Fetched, Lease
from weft.spec import CrawlSpec, Identity, Limits, Network, Politeness

HERE = ("127.0.0.1",)
QUICK = CrawlSpec(limits=Limits(timeout_s=20.0, connect_timeout_s=10.0, retries=0), politeness=Politeness(delay_s=0.0))


def lease(url: str, **more: object) -> Lease:
    return Lease(1, url, 1, **more)  # type: ignore[arg-type]


class Asker:
    """A fetcher with a waiting hand: gives outcomes back to those who ask."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.fetcher = fetcher
        self._rang = asyncio.Event()
        fetcher.on_finished = self._rang.set

    async def all(self, leases: Iterable[Lease], addresses: Sequence[str] = HERE) -> dict[str, Outcome]:
        found: dict[str, Outcome] = {}
        wanted = 0
        for one in leases:
            self.fetcher.start(one, addresses)
            wanted += 1
        async with asyncio.timeout(120):
            while len(found) < wanted:
                await self.rings()
                while self.fetcher.finished:
                    ended, outcome = self.fetcher.finished.popleft()
                    assert ended.url not in found
                    found[ended.url] = outcome
        return found

    async def rings(self) -> None:
        """Waits for the fetcher's next word that something has ended."""
        async with asyncio.timeout(120):
            await self._rang.wait()
        self._rang.clear()

    async def get(self, url: str, addresses: Sequence[str] = HERE, **more: object) -> Outcome:
        return (await self.all([lease(url, **more)], addresses))[url]

    async def page(self, url: str, addresses: Sequence[str] = HERE, **more: object) -> Fetched:
        outcome = await self.get(url, addresses, **more)
        assert isinstance(outcome, Fetched), outcome
        return outcome

    async def failure(self, url: str, addresses: Sequence[str] = HERE, **more: object) -> Failure:
        outcome = await self.get(url, addresses, **more)
        assert isinstance(outcome, Failure), outcome
        return outcome


def run(
    work: Callable[[Asker], object],
    spec: CrawlSpec = QUICK,
    seeds: Sequence[str] = ("127.0.0.1", "::1", "127.0.0.2"),
    **more: object,
) -> None:
    """Run a test's coroutine with a fetcher of its own, for a crawl of loopback."""

    async def main() -> None:
        async with Fetcher(spec, AddressPolicy(spec.network, seeds), **more) as fetcher:  # type: ignore[arg-type]
            await work(Asker(fetcher))  # type: ignore[misc]
            assert fetcher.running == 0 and not fetcher.finished

    asyncio.run(main())


# --- causes


def test_every_error_of_libcurl_has_a_cause() -> None:
    """STYLE 5: a test fails if one is unmapped. E_MULTI_* are a caller's faults, raised and not given to a transfer."""
    names = [name for name in dir(pycurl) if name.startswith("E_") and not name.startswith("E_MULTI_")]
    assert len(names) > 90
    missing = [name for name in names if getattr(pycurl, name) not in CAUSE_BY_NUMBER and name != "E_OK"]
    assert missing == []
    assert {name for name in CAUSES if not hasattr(pycurl, name)} == set()
    assert all(code in CAUSE_BY_NUMBER for code in range(92, 102))


# --- misbehaving servers

DIFFERENCES = {
    "plain_on_https": "the server neither answers the TLS greeting nor closes: that is CONNECT_TIMEOUT",
    "second_answer_later": "asked again in the same instant, the stray answer cannot be told from the right one; "
    "test_an_idle_connection_that_talks_is_not_used_again asks a moment later",
}
PLAIN_GROUPS = ("wire", "content", "connections", "tls")


def _plain_kinds() -> list[str]:
    return [
        kind
        for kind, expected in MISBEHAVIOURS.items()
        if expected.group in PLAIN_GROUPS and not expected.timeout and kind not in DIFFERENCES
    ]


def _judge(kind: str, expected: Expectation, path: str, outcome: Outcome) -> None:
    name = "answer" if isinstance(outcome, Fetched) else outcome.cause.name
    assert name in expected.outcomes, (kind, outcome)
    if not isinstance(outcome, Fetched):
        assert outcome.detail.isprintable()
        return
    assert expected.status in (None, outcome.status)
    assert expected.truncated in (None, outcome.truncated)
    assert outcome.head.startswith(b"HTTP/") and outcome.head.endswith(b"\r\n\r\n")
    assert outcome.head.count(b"\r\n\r\n") == 1
    assert outcome.head.count(b"\r") == outcome.head.count(b"\n") == outcome.head.count(b"\r\n")
    assert len(outcome.wire) <= QUICK.limits.max_size_b and len(outcome.body) <= QUICK.limits.max_size_b
    if expected.title == "{path}" and outcome.headers:
        assert path.encode() in outcome.body or expected.group == "content"


@pytest.mark.parametrize("kind", _plain_kinds())
def test_a_broken_answer_is_recorded_and_never_given_to_the_next_url(kind: str, site: Site) -> None:
    """E2, promise 6: each kind ends as web.py says; the next request to the host gets its own answer."""
    expected = MISBEHAVIOURS[kind]
    site.page("/good")

    async def work(ask: Asker) -> None:
        await ask.page(site.at("/good"))
        url = site.misbehave("/bad", kind)
        outcome = await ask.get(url)
        _judge(kind, expected, "/bad", outcome)
        if not expected.listener:
            for _ in range(2):
                good = await ask.page(site.at("/good"))
                assert b"<title>/good</title>" in good.body
                assert POISON.encode() not in good.body

    run(work)


def test_slow_answers_end_at_their_deadline(site: Site) -> None:
    """E2: servers that drip, stall or never end cost the deadline and no more; all at once here."""
    site.drip_pause_s = 0.1
    kinds = [
        k for k, e in MISBEHAVIOURS.items() if e.group in ("slow", *PLAIN_GROUPS) and (e.timeout or e.group == "slow")
    ]
    urls = {site.misbehave(f"/{kind}", kind): kind for kind in kinds}

    async def work(ask: Asker) -> None:
        for url, outcome in (await ask.all([lease(url) for url in urls])).items():
            _judge(urls[url], MISBEHAVIOURS[urls[url]], f"/{urls[url]}", outcome)

    run(work, CrawlSpec(limits=Limits(timeout_s=5.0, connect_timeout_s=3.0)))


@pytest.mark.parametrize("watch_kind", [EpollWatch, LoopWatch])
def test_an_idle_connection_that_talks_is_not_used_again(
    watch_kind: type[Watch], monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    monkeypatch.setattr(fetcher_module, "WATCH_KIND", watch_kind)
    site.page("/good")
    said = threading.Event()

    async def talk(line: Line, request: Request) -> bool:
        await line.send(answer_bytes(Response(html_page(request.path))))
        await line.settle()
        await line.send(poison_answer())
        said.set()
        return True

    url = site.behave("/bad", talk)

    async def work(ask: Asker) -> None:
        assert b"/bad" in (await ask.page(url)).body
        await asyncio.to_thread(said.wait, 60)
        await asyncio.sleep(0.05)
        assert b"<title>/good</title>" in (await ask.page(site.at("/good"))).body

    run(work)
    assert site.connections == 2


@pytest.mark.parametrize("status", [204, 304])
def test_a_body_where_none_may_be_is_left_alone(status: int, site: Site) -> None:
    async def with_body(line: Line, request: Request) -> bool:
        await line.send(b"HTTP/1.1 %d Odd\r\nContent-Length: 9\r\n\r\n123456789" % status)
        return True

    site.behave("/odd", with_body)
    site.page("/good")

    async def work(ask: Asker) -> None:
        odd = await ask.page(site.at("/odd"))
        assert (odd.status, odd.wire) == (status, b"")
        assert b"<title>/good</title>" in (await ask.page(site.at("/good"))).body

    run(work)


def test_the_connection_timeout_is_its_own(site: Site) -> None:
    url = site.misbehave("/full", "backlog_full")

    async def work(ask: Asker) -> None:
        assert (await ask.failure(url)).cause is Cause.CONNECT_TIMEOUT

    run(work, CrawlSpec(limits=Limits(timeout_s=5.0, connect_timeout_s=0.3)))


# --- sizes


@pytest.mark.parametrize("extra", [-1, 0, 1, 70_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_size_bound_is_exact_and_keeps_the_part(extra: int, chunked: bool, site: Site) -> None:
    """E2: an answer past the bound is kept up to it and marked, with or without a declared length."""
    bound = 100_000
    content = os.urandom(bound + extra)

    async def answer(line: Line, request: Request) -> bool:
        if chunked:
            await line.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await line.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content))
        else:
            await line.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content), content)
        return True

    site.behave("/big", answer)

    async def work(ask: Asker) -> None:
        page = await ask.page(site.at("/big"))
        assert page.truncated is (extra > 0)
        assert page.wire == page.body == content[:bound]

    run(work, CrawlSpec(limits=Limits(max_size_b=bound)))


def test_decoded_bodies_are_bounded_and_wire_bytes_kept(site: Site) -> None:
    import gzip

    content = b"a" * 500_000
    packed = gzip.compress(content)
    site.respond("/zip", Response(packed, headers={"Content-Encoding": "gzip"}))

    async def work(ask: Asker) -> None:
        page = await ask.page(site.at("/zip"))
        assert page.wire == packed
        assert page.body == content[:1_000] and page.truncated

    run(work, CrawlSpec(limits=Limits(max_size_b=1_000)))


def test_many_large_bodies_wait_for_memory_and_all_arrive(site: Site) -> None:
    """Promise 5: bodies under way stay within their part of the memory; one is always let through."""
    contents = {site.respond(f"/{n}", Response(os.urandom(400_000))): n for n in range(12)}

    async def work(ask: Asker) -> None:
        found = await ask.all([lease(url) for url in contents])
        assert all(isinstance(page, Fetched) and len(page.body) == 400_000 for page in found.values())

    run(work, CrawlSpec(limits=Limits(max_size_b=500_000, max_memory_b=1_000_000)))


def test_a_rate_lets_everything_through_in_the_end(site: Site) -> None:
    contents = [site.respond(f"/{n}", Response(os.urandom(50_000))) for n in range(6)]

    async def work(ask: Asker) -> None:
        found = await ask.all([lease(url) for url in contents])
        assert all(isinstance(page, Fetched) and len(page.body) == 50_000 for page in found.values())

    run(work, CrawlSpec(limits=Limits(max_rate_b=1_000_000)))


def test_a_transfer_whose_time_is_over_while_it_waits_stops_no_other(site: Site) -> None:
    """It waits for bandwidth, and its end lies in libcurl's hands as long as a large answer is not taken."""
    site.respond("/large", Response(gzip.compress(bytes(3 << 20)), headers={"Content-Encoding": "gzip"}))
    site.respond("/waits", Response(bytes(1_000_000)))
    troubles: list[dict[str, object]] = []

    async def work(ask: Asker) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, trouble: troubles.append(trouble))
        large, waits = lease(site.at("/large")), lease(site.at("/waits"))
        ask.fetcher.start(large, HERE)
        await ask.rings()
        ask.fetcher.start(waits, HERE)
        await asyncio.sleep(4.0)  # its time is over, and there is bandwidth again
        assert [ended for ended, _ in ask.fetcher.finished] == [large]
        ask.fetcher.finished.clear()
        await ask.rings()
        ended, outcome = ask.fetcher.finished.popleft()
        assert ended == waits and isinstance(outcome, Failure)
        assert outcome.cause in (Cause.READ_TIMEOUT, Cause.FIRST_BYTE_TIMEOUT)

    run(work, CrawlSpec(limits=Limits(max_rate_b=100_000, timeout_s=3.0, max_memory_b=16 << 20)))
    assert not troubles


@given(st.lists(st.tuples(st.integers(1, 65_536), st.floats(0.0, 0.5)), min_size=50, max_size=200))
@settings(max_examples=30)
def test_the_rate_is_true(steps: list[tuple[int, float]]) -> None:
    """Who waits as told never takes more than the rate and one tenth of a second, plus the last piece."""
    rate, now, taken = Rate(200_000), 0.0, 0
    for size, pause in steps:
        now += pause
        if rate.spend(size, now):
            taken += size
            continue
        taken += size
        while not rate.refill(now):
            now += rate.wait_s(now)
    assert taken <= 200_000 * (now + 0.1) + 65_536


# --- what is asked


def test_the_request_has_our_headers_in_order_and_no_referrer(site: Site) -> None:
    site.page("/")
    spec = CrawlSpec(identity=Identity(contact="who@example.org", headers=("Accept-Language: sl", "X-Odd: é")))

    async def work(ask: Asker) -> None:
        shown = ask.fetcher.request_head(
            lease(site.at("/"), etag='"v1"', last_modified="Mon, 16 Nov 2026 02:13:12 GMT")
        )
        await ask.page(site.at("/"), etag='"v1"', last_modified="Mon, 16 Nov 2026 02:13:12 GMT")
        sent = site.requests[-1].headers
        assert [name for name, _ in sent] == [
            "Host", "User-Agent", "Accept", "Accept-Encoding", "From", "Accept-Language", "X-Odd", "If-None-Match",
            "If-Modified-Since",
        ]  # fmt: skip
        lines = [f"{name}: {value}" for name, value in sent]
        assert shown.decode("latin-1") == "\r\n".join(["GET / HTTP/1.1", *lines, "", ""])
        assert site.requests[-1].header("from") == "who@example.org"

    run(work, spec)


def test_a_page_that_did_not_change_answers_304(site: Site) -> None:
    """T5: validators of an earlier visit go out with the lease."""
    site.respond("/", Response(b"<p>one", headers={"ETag": '"v1"'}))

    async def work(ask: Asker) -> None:
        first = await ask.page(site.at("/"))
        again = await ask.page(site.at("/"), etag=first.header("etag") or "")
        assert (first.status, again.status, again.body) == (200, 304, b"")

    run(work)


def test_credentials_go_to_their_origin_only(site: Site, sites: Callable[..., Site]) -> None:
    """Promise 8: another port is another origin; the archive's request has no secret."""
    other = sites()
    for one in (site, other):
        one.page("/")
    secret = b64encode(b"me:pass@word").decode()
    spec = CrawlSpec(network=Network(auth=(f"me:pass@word@127.0.0.1:{site.port}",)))

    async def work(ask: Asker) -> None:
        await ask.page(site.at("/"))
        await ask.page(other.at("/"))
        await ask.page(site.at("/", "localhost"))
        assert site.requests[0].header("authorization") == f"Basic {secret}"
        assert other.requests[0].header("authorization") is None
        assert site.requests[1].header("authorization") is None
        assert secret.encode() not in ask.fetcher.request_head(lease(site.at("/")))

    run(work, spec, ("127.0.0.1",))


def test_secret_headers_of_the_user_stay_with_the_seeds(site: Site, sites: Callable[..., Site]) -> None:
    other = sites()
    for one in (site, other):
        one.page("/")
    headers = ("Cookie: a=1", "Authorization: Bearer token")
    spec = CrawlSpec(seeds=(site.at("/"),), identity=Identity(headers=headers))

    async def work(ask: Asker) -> None:
        await ask.page(site.at("/"))
        await ask.page(other.at("/"))
        assert site.requests[0].header("cookie") == "a=1"
        assert site.requests[0].header("authorization") == "Bearer token"
        assert other.requests[0].header("cookie") is other.requests[0].header("authorization") is None
        assert b"token" not in ask.fetcher.request_head(lease(site.at("/")))

    run(work, spec)


def test_passwords_do_not_fall_from_https_to_http() -> None:
    from weft.fetch.http.headers import RequestHeaders

    spec = CrawlSpec(network=Network(auth=("me:pw@a.test", "me:pw@b.test", "me:pw@c.test:443", "me:pw@d.test:8080")))
    headers = RequestHeaders(spec, None, frozenset({"https://a.test"}), lambda: 0)

    def has(url: str) -> bool:
        return any(line.startswith(b"Authorization") for line in headers.lines(lease(url)))

    assert [has(f"{scheme}://a.test/") for scheme in ("https", "http")] == [True, False]
    assert [has(f"{scheme}://b.test/") for scheme in ("https", "http")] == [True, True]
    assert [has(f"{scheme}://c.test/") for scheme in ("https", "http")] == [True, False]
    assert [has(f"http://d.test{port}/") for port in (":8080", ":8081", "")] == [True, False, False]
    assert not has("https://sub.a.test/")


def test_cookies_come_back_to_their_origin_only(site: Site, sites: Callable[..., Site]) -> None:
    other = sites()
    site.respond("/", Response(b"x", headers={"Set-Cookie": "id=7; Domain=127.0.0.1"}))
    other.page("/")

    async def work(ask: Asker) -> None:
        for url in (site.at("/"), site.at("/a"), other.at("/")):
            await ask.get(url)
        assert [request.header("cookie") for request in (*site.requests, *other.requests)] == [None, "id=7", None]

    run(work, jar=CookieJar())


def test_no_cookies_means_none(site: Site) -> None:
    site.respond("/", Response(b"x", headers={"Set-Cookie": "id=7"}))

    async def work(ask: Asker) -> None:
        await ask.get(site.at("/"))
        await ask.get(site.at("/"))
        assert site.requests[1].header("cookie") is None

    run(work, CrawlSpec(network=Network(keep_cookies=False)), jar=CookieJar())


def test_odd_urls_are_asked_as_they_are(site: Site) -> None:
    """Normalising never changes what is asked: dots, doubled slashes, odd percent signs go out untouched."""
    paths = [
        "/a/%2e%2e/b",
        "//x//y",
        "/%zz%",
        "/a;b=c?d=%20&e=|^`{}",
        "/?",
        "/a?b?c",
        "/" + "x" * 8_000,
        "/'()*!$&+,:@",
    ]

    async def work(ask: Asker) -> None:
        for path in paths:
            await ask.page(site.at(path))
        assert [request.path for request in site.requests] == paths

    run(work)


@pytest.mark.parametrize(
    "url", ["http://a$b.test/", "ftp://127.0.0.1/", "http://127.0.0.1:99999/", "http://é.test/", "x"]
)
def test_urls_that_libcurl_refuses_fail_and_raise_nothing(url: str) -> None:
    async def work(ask: Asker) -> None:
        failed = await ask.failure(url)
        assert failed.detail

    run(work)


def test_credentials_in_a_url_are_never_used(site: Site) -> None:
    site.page("/")

    async def work(ask: Asker) -> None:
        failed = await ask.failure(f"http://me:secret@127.0.0.1:{site.port}/")
        assert failed.detail and "secret" not in failed.detail
        assert not site.requests, "such a URL is not asked at all: admission refuses it, and so does the fetcher"

    run(work)


# --- redirects, connections, addresses


def test_a_redirect_is_an_answer(site: Site) -> None:
    site.redirect("/old", "/new", 301)

    async def work(ask: Asker) -> None:
        page = await ask.page(site.at("/old"))
        assert (page.status, page.header("location")) == (301, "/new")
        assert site.paths() == ["/old"]

    run(work)


@pytest.mark.parametrize("watch_kind", [EpollWatch, LoopWatch])
def test_connections_are_kept_per_host(watch_kind: type[Watch], monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    monkeypatch.setattr(fetcher_module, "WATCH_KIND", watch_kind)
    site.page("/")

    async def work(ask: Asker) -> None:
        for host in ("127.0.0.1", "a.test", "b.test"):
            for _ in range(4):
                page = await ask.page(site.at("/", host))
                assert (page.ip, page.http_version) == ("127.0.0.1", "1.1")
        found = await ask.all([lease(site.at(f"/{n}")) for n in range(40)])
        assert all(isinstance(page, Fetched) and page.status == 404 for page in found.values())

    run(work)
    by_host: dict[str, set[int]] = {}
    for request in site.requests[:12]:
        by_host.setdefault(request.host, set()).add(request.connection)
    assert all(len(connections) == 1 for connections in by_host.values())
    assert len(set.union(*by_host.values())) == 3


def test_the_next_address_is_tried_where_one_does_not_connect(site: Site) -> None:
    site.page("/")

    async def work(ask: Asker) -> None:
        for _ in range(2):  # the second time the dead one is known
            page = await ask.page(site.at("/", "two.test"), ("127.0.0.2", "127.0.0.1"))
            assert page.ip == "127.0.0.1"
        failed = await ask.failure(f"http://two.test:{free_port()}/", ("127.0.0.2", "127.0.0.1"))
        assert failed.cause is Cause.CONNECT_REFUSED

    run(work)


def test_the_socket_itself_is_refused_to_a_private_address(site: Site) -> None:
    """Promise 7: whatever the resolver was told, the address about to be connected to is checked again."""
    site.page("/")

    async def work(ask: Asker) -> None:
        failed = await ask.failure(site.at("/", "public.test"))
        assert failed.cause is Cause.ADDRESS_REFUSED
        assert "127.0.0.1 is a loopback address" in failed.detail
        assert (await ask.failure(site.at("/"), ("::ffff:127.0.0.1",))).cause is Cause.ADDRESS_REFUSED
        assert (await ask.failure(site.at("/"), ())).detail == "no address to connect to"

    run(work, seeds=("example.org",))
    assert site.connections == 0


def test_a_pin_allows_its_host_and_no_other(site: Site) -> None:
    site.page("/")

    async def work(ask: Asker) -> None:
        assert (await ask.page(site.at("/", "mine.test"))).status == 200
        assert (await ask.failure(site.at("/", "yours.test"))).cause is Cause.ADDRESS_REFUSED

    run(work, CrawlSpec(network=Network(resolve=("mine.test=127.0.0.1",))), seeds=("mine.test",))


def test_ipv6_addresses_are_asked(sites: Callable[..., Site]) -> None:
    try:
        site = sites("::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    site.page("/")

    async def work(ask: Asker) -> None:
        page = await ask.page(site.at("/"), ("::1",))
        assert page.ip == "::1"
        assert site.requests[0].header("host") == f"[::1]:{site.port}"
        assert (await ask.page(site.at("/", "six.test"), ("::1",))).status == 200

    run(work)


def test_proxies_of_the_environment_are_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    site.page("/")

    async def work(ask: Asker) -> None:
        assert (await ask.page(site.at("/"))).status == 200

    run(work)


def test_a_proxy_is_asked_for_names_nobody_resolved(site: Site) -> None:
    """Promise 7: behind a proxy, names and the check of addresses are the proxy's."""
    site.page("/x")
    spec = CrawlSpec(network=Network(proxy=site.url))

    async def work(ask: Asker) -> None:
        page = await ask.page("http://nowhere.invalid/x", ())
        assert (page.status, page.ip) == (200, "")
        assert site.requests[0].target == "http://nowhere.invalid/x"
        assert (await ask.failure("https://nowhere.invalid/x", ())).cause is Cause.PROXY_FAILED

    run(work, spec, ())


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, asked: list[bytes]) -> None:
    """A CONNECT proxy for one connection: notes what it is asked, leads the rest to a port of this machine."""
    asked.append(await reader.readuntil(b"\r\n\r\n"))
    writer.write(b"HTTP/1.1 200 Tunnel\r\nX-Proxy: secret\r\n\r\n")
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            sink.write(data)
        sink.close()

    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer), return_exceptions=True)


def test_tls_goes_through_a_proxys_tunnel_and_its_answer_is_not_ours(
    authority: Authority, tls_site: Callable[[str], Site]
) -> None:
    """Promise 8: what is for the proxy goes to the proxy alone, what is for the site not to the proxy."""
    site = tls_site("good")
    site.page("/x")
    asked: list[bytes] = []

    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await tunnel(reader, writer, site.port, asked)

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            headers = ("Proxy-Authorization: Bearer proxys", "Authorization: Bearer sites", "Cookie: its=own")
            spec = CrawlSpec(
                seeds=("https://secure.test/x",),
                identity=Identity(user_agent="mine/1.0", headers=headers),
                network=Network(ca=str(authority.certificate), proxy=proxy),
            )
            async with Fetcher(spec, AddressPolicy(spec.network)) as fetcher:
                page = await Asker(fetcher).page("https://secure.test/x", ())
                assert page.status == 200 and page.header("x-proxy") is None
                assert b"<title>/x</title>" in page.body
            await asyncio.sleep(0.05)

    asyncio.run(main())
    assert b"User-Agent: mine/1.0\r\n" in asked[0] and b"curl" not in asked[0].lower()
    assert b"Proxy-Authorization: Bearer proxys\r\n" in asked[0]
    assert b"sites" not in asked[0] and b"its=own" not in asked[0]
    request = site.requests[0]
    assert (request.header("authorization"), request.header("cookie")) == ("Bearer sites", "its=own")
    assert request.header("proxy-authorization") is None


def test_a_proxy_that_is_not_there_is_its_own_cause() -> None:
    spec = CrawlSpec(network=Network(proxy=f"http://127.0.0.1:{free_port()}"))

    async def work(ask: Asker) -> None:
        assert (await ask.failure("http://nowhere.invalid/", ())).cause is Cause.PROXY_FAILED

    run(work, spec, ())


# --- floods


def test_what_stands_between_chunks_is_bounded() -> None:
    """Promise 6: extensions of a chunk are neither headers nor body; libcurl reads them for as long as they come."""
    poured_b = 0
    refused = asyncio.Event()

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal poured_b
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
                poured_b += 65_536
                await asyncio.sleep(0)  # the crawler's turn: both are in one loop
        writer.close()
        refused.set()

    async def main() -> None:
        async with await asyncio.start_server(pour, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            spec = CrawlSpec(limits=Limits(max_size_b=100_000, timeout_s=600.0))
            async with Fetcher(spec, AddressPolicy(spec.network, ["127.0.0.1"])) as fetcher:
                failure = await Asker(fetcher).failure(f"http://127.0.0.1:{port}/")
                assert failure.cause is Cause.BAD_ANSWER and "far more" in failure.detail
            await refused.wait()

    asyncio.run(main())
    assert poured_b > 1 << 20


# --- TLS


def tls_spec(authority: Authority, **more: object) -> CrawlSpec:
    network = Network(ca=str(authority.certificate), resolve=("secure.test=127.0.0.1",), **more)  # type: ignore[arg-type]
    return CrawlSpec(seeds=("https://secure.test/",), network=network)


@pytest.mark.parametrize("kind", sorted(TLS_KINDS))
def test_certificates_are_verified(kind: str, authority: Authority, tls_site: Callable[[str], Site]) -> None:
    """Issue 6, G11: a bad certificate is a cause, the wish for a client's certificate another."""
    site = tls_site(kind)
    site.page("/")

    async def work(ask: Asker) -> None:
        causes = []
        for attempt in (1, 2):
            outcome = await ask.get(site.at("/"), attempt=attempt)
            causes.append("answer" if isinstance(outcome, Fetched) else outcome.cause.name)
        assert causes[-1] in TLS_KINDS[kind].outcomes, outcome
        assert causes[0] in TLS_KINDS[kind].outcomes or causes[0] == "CONNECTION_LOST"
        assert kind != "good" or site.connections == 2  # what is tried again has a new one

    run(work, tls_spec(authority))


def test_the_wish_for_a_certificate_is_seen_in_old_tls_too(authority: Authority) -> None:
    """G11: before TLS 1.3 there is no alert of that name, only "handshake failure"."""
    good = authority.issue("old", ["secure.test"])

    class Old(Tls):
        def context(self) -> ssl.SSLContext:
            context = super().context()
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            return context

    with Site(host="secure.test", tls=Old(good.certificate, good.key, authority.certificate)) as site:

        async def work(ask: Asker) -> None:
            assert (await ask.failure(site.at("/"))).cause is Cause.TLS_CLIENT_CERTIFICATE

        run(work, tls_spec(authority))


def test_a_client_certificate_opens_the_site_and_stays_with_the_seeds(
    authority: Authority, tls_site: Callable[[str], Site]
) -> None:
    site = tls_site("client_certificate")
    site.page("/")
    cert = str(authority.bundle(authority.client()))

    async def home(ask: Asker) -> None:
        assert (await ask.page(site.at("/"))).status == 200

    async def stranger(ask: Asker) -> None:
        assert (await ask.failure(site.at("/"), attempt=2)).cause is Cause.TLS_CLIENT_CERTIFICATE

    spec = tls_spec(authority, cert=cert)
    run(home, spec)
    run(stranger, spec, seed_origins=["https://other.test"])


def test_insecure_is_per_host(authority: Authority, tls_site: Callable[[str], Site]) -> None:
    site = tls_site("self_signed")
    site.page("/")
    spec = tls_spec(authority, insecure=("secure.test",))

    async def work(ask: Asker) -> None:
        assert (await ask.page(site.at("/"))).status == 200
        assert (await ask.failure(site.at("/", "127.0.0.1"))).cause is Cause.TLS_CERTIFICATE
        assert (await ask.page(site.at("/"))).status == 200

    run(work, spec)


def test_an_answer_that_ends_without_ending_tls_is_taken_where_it_has_no_length(
    authority: Authority, tls_site: Callable[[str], Site]
) -> None:
    site = tls_site("good")

    def cut(head: bytes) -> Callable[[Line, Request], object]:
        async def behave(line: Line, request: Request) -> bool:
            await line.send(head + b"hello")
            raw = line.writer.get_extra_info("socket")
            raw.shutdown(socket.SHUT_WR)
            return False

        return behave

    site.behave("/open", cut(b"HTTP/1.1 200 OK\r\n\r\n"))  # type: ignore[arg-type]
    site.behave("/short", cut(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"))  # type: ignore[arg-type]

    async def work(ask: Asker) -> None:
        page = await ask.page(site.at("/open"))
        assert page.body == b"hello"
        assert (await ask.failure(site.at("/short"))).cause is Cause.INCOMPLETE_BODY

    run(work, tls_spec(authority))


@pytest.fixture
def tls_nginx(authority: Authority, tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Starts an nginx with TLS and the given lines in its server block; gives the port."""
    program = nginx.program()
    if program is None:
        pytest.skip("nginx is not installed")
    running: list[subprocess.Popen[bytes]] = []

    def start(lines: str) -> int:
        port, tls = free_port(), authority.issue("nginx", ["secure.test"])
        (tmp_path / "index.html").write_bytes(html_page("/"))
        for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
            (tmp_path / name).mkdir()
        temporary = "".join(
            f"{kind}_temp_path {tmp_path}/{kind.removeprefix('client_')};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}\n"
            f"http {{ access_log off; default_type text/html; {temporary}\n"
            f"server {{ listen 127.0.0.1:{port} ssl http2; server_name secure.test; root {tmp_path};\n"
            f"ssl_certificate {tls.certificate}; ssl_certificate_key {tls.key}; {lines} }} }}\n"
        )
        command = [program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "error.log")]
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port
            subprocess.run(["sleep", "0.02"], check=True)
        raise RuntimeError((tmp_path / "error.log").read_text())

    yield start
    for process in running:
        process.terminate()
        process.wait(10)


def test_http2_is_spoken_where_the_server_does(authority: Authority, tls_nginx: Callable[[str], int]) -> None:
    port = tls_nginx("")
    url = f"https://secure.test:{port}/"

    async def two(ask: Asker) -> None:
        found = await ask.all([lease(f"{url}?{n}") for n in range(30)])
        for page in found.values():
            assert isinstance(page, Fetched) and page.body == html_page("/")
            assert page.http_version == "2" and page.head.startswith(b"HTTP/2 200")
        assert (await ask.page(f"{url}nothing")).status == 404

    async def one(ask: Asker) -> None:
        assert (await ask.page(url)).http_version == "1.1"

    run(two, tls_spec(authority))
    run(one, tls_spec(authority, http2=False))


def test_nginx_says_inside_tls_that_it_wishes_for_a_certificate(
    authority: Authority, tls_nginx: Callable[[str], int]
) -> None:
    """G11: nginx finishes the handshake and answers 400."""
    port = tls_nginx(f"ssl_client_certificate {authority.certificate}; ssl_verify_client on;")

    async def work(ask: Asker) -> None:
        failed = await ask.failure(f"https://secure.test:{port}/")
        assert failed.cause is Cause.TLS_CLIENT_CERTIFICATE

    run(work, tls_spec(authority))


# --- life


def test_cancelled_leases_come_back_and_nothing_else_does(site: Site) -> None:
    urls = [site.misbehave(f"/{n}", "hang_before_answer") for n in range(5)]

    async def work(ask: Asker) -> None:
        for url in urls:
            ask.fetcher.start(lease(url), HERE)
        await asyncio.sleep(0.05)
        assert ask.fetcher.running == 5
        assert sorted(one.url for one in ask.fetcher.cancel_all()) == sorted(urls)
        site.page("/good")
        assert (await ask.page(site.at("/good"))).status == 200

    run(work)


def test_a_fetcher_closed_in_the_middle_is_quiet(site: Site) -> None:
    url = site.misbehave("/", "hang_mid_body")

    async def main() -> None:
        fetcher = Fetcher(QUICK, AddressPolicy(QUICK.network, HERE))
        async with fetcher:
            fetcher.start(lease(url), HERE)
            await asyncio.sleep(0.05)
        await fetcher.close()
        assert not fetcher.finished

    asyncio.run(main())


def test_two_fetchers_share_nothing(site: Site) -> None:
    site.respond("/", Response(b"x", headers={"Set-Cookie": "id=7"}))

    async def main() -> None:
        policy = AddressPolicy(QUICK.network, HERE)
        async with Fetcher(QUICK, policy, jar=CookieJar()) as one, Fetcher(QUICK, policy, jar=CookieJar()) as two:
            await Asker(one).page(site.at("/"))
            await Asker(two).page(site.at("/"))

    asyncio.run(main())
    assert [request.header("cookie") for request in site.requests] == [None, None]
    assert site.connections == 2


def test_few_descriptors_lower_the_number_of_requests_at_once(site: Site) -> None:
    """Issue 10: a low limit for open files slows the crawl and breaks nothing."""
    site.page("/")
    program = f"""
import asyncio, sys
sys.path[:0] = {sys.path!r}
from weft.fetch.http import Fetcher
from weft.fetch.resolve import AddressPolicy
from weft.records import Fetched, Lease
from weft.spec import CrawlSpec, Politeness
spec = CrawlSpec(politeness=Politeness(workers=500))
async def main():
    rang = asyncio.Event()
    async with Fetcher(spec, AddressPolicy(spec.network, ["127.0.0.1"])) as fetcher:
        fetcher.on_finished = rang.set
        left, good = 100, 0
        while good < 100:
            while left and fetcher.running < fetcher.max_parallel:
                fetcher.start(Lease(1, "{site.at("/")}?%d" % left, 1), ["127.0.0.1"])
                left -= 1
            await rang.wait()
            rang.clear()
            while fetcher.finished:
                _, outcome = fetcher.finished.popleft()
                assert isinstance(outcome, Fetched), outcome
                good += 1
        print(fetcher.max_parallel)
asyncio.run(main())
"""
    command = f'ulimit -n 40; exec {sys.executable} -c "$PROGRAM"'
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PROGRAM": program}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert 1 <= int(done.stdout) <= 20


def test_workers_bound_what_runs_at_once() -> None:
    spec = CrawlSpec(politeness=Politeness(workers=7))
    assert Fetcher(spec, AddressPolicy(spec.network)).max_parallel == 7


# --- heads
