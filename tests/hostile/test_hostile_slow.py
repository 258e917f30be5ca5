"""Servers that drip, stall or never end: total deadlines, recorded honestly, and nobody else waits for them (E2).

Issue 3, sections 6 and 10; DESIGN, promises 4 and 6.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import (
    GOOD,
    HASTY,
    HOST,
    Visited,
    assert_healthy,
    at_host,
    crawl,
    judge_kind,
    kinds_of,
    lay_out,
    own_page,
)
from web import (
    CHUNKED,
    MISBEHAVIOURS,
    Behaviour,
    Line,
    NameServer,
    Request,
    Response,
    Site,
    answer_bytes,
    chunked,
    head_of,
    html_page,
    sized,
)

from weft.errors import STALLS_MAX

TIMEOUT_S = 6.0
ROUNDED_S = 0.25  # a deadline may be met a little early, by rounding, and late on a busy machine

SLOW = ("FIRST_BYTE_TIMEOUT", "READ_TIMEOUT")


# --- further ways to be slow: each ends at the deadline of the whole request


async def _drip_gzip(line: Line, request: Request) -> bool:
    """Valid gzip, a few bytes at a time, never idle."""
    packed = gzip.compress(own_page(request.path) + b" " * 5_000_000, 0)
    await line.send(head_of("Content-Encoding: gzip", f"Content-Length: {len(packed)}"))
    for at in range(0, len(packed), 50):
        await line.send(packed[at : at + 50])
        await asyncio.sleep(0.01)
    return False


async def _drip_header_lines(line: Line, request: Request) -> bool:
    """A whole header line at a time, never idle for long."""
    await line.send(head_of()[:-2])
    return await line.pour(b"X-Slow: yes\r\n", limit_b=13 * 1_000, pause_s=0.1)


async def _drip_interim(line: Line, request: Request) -> bool:
    """An interim answer at a time."""
    return await line.pour(b"HTTP/1.1 102 Processing\r\n\r\n", limit_b=27 * 1_000, pause_s=0.1)


async def _drip_trailers(line: Line, request: Request) -> bool:
    """All of the body, then trailers for ever."""
    await line.send(CHUNKED + chunked(own_page(request.path)) + b"0\r\n")
    return await line.pour(b"X-Slow: yes\r\n", limit_b=13 * 1_000, pause_s=0.1)


async def _drip_chunk_sizes(line: Line, request: Request) -> bool:
    """A chunk whose size never ends."""
    await line.send(CHUNKED)
    return await line.pour(b"0", limit_b=1_000, pause_s=0.4)


async def _drip_chunk_extension(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + b"5;")
    return await line.pour(b"x", limit_b=1_000, pause_s=0.1)


async def _drip_redirect(line: Line, request: Request) -> bool:
    """A redirect whose body never ends: its target is known, but there is no whole answer."""
    await line.send(head_of("Location: /good/0", "Content-Length: 100000", status="302 Found"))
    return await line.pour(b"x", limit_b=1_000, pause_s=0.1)


async def _stalls_on_second(line: Line, request: Request) -> bool:
    """Well at first, silent when the line is used again; on a new line it is silent at once."""
    return await line.hang()


async def _fast_then_silent(line: Line, request: Request) -> bool:
    """A megabyte at once, then nothing."""
    await line.send(head_of("Content-Length: 2000000") + own_page(request.path) + b" " * 1_000_000)
    return await line.hang()


async def _last_byte_missing(line: Line, request: Request) -> bool:
    await line.send(sized(own_page(request.path))[:-1])
    return await line.hang()


async def _last_chunk_missing(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + chunked(own_page(request.path)))
    return await line.hang()


async def _never_reads(line: Line, request: Request) -> bool:
    """Pours bytes that belong to no body, on a line kept open."""
    await line.send(head_of("Content-Length: 5000000"))
    return await line.pour(b"y" * 10, limit_b=10_000, pause_s=0.05)


ENDED_BY_DEADLINE: dict[str, Behaviour] = {
    "drip_gzip": _drip_gzip,
    "drip_header_lines": _drip_header_lines,
    "drip_interim": _drip_interim,
    "drip_trailers": _drip_trailers,
    "drip_chunk_sizes": _drip_chunk_sizes,
    "drip_chunk_extension": _drip_chunk_extension,
    "drip_redirect": _drip_redirect,
    "stalls_on_second": _stalls_on_second,
    "fast_then_silent": _fast_then_silent,
    "last_byte_missing": _last_byte_missing,
    "last_chunk_missing": _last_chunk_missing,
    "never_reads": _never_reads,
}


async def _slow_but_whole(line: Line, request: Request) -> bool:
    """In a hundred pieces, within the deadline."""
    whole = sized(own_page(request.path))
    for at in range(0, len(whole), 4):
        await line.send(whole[at : at + 4])
        await asyncio.sleep(0.005)
    return True


async def _slow_head_quick_body(line: Line, request: Request) -> bool:
    await asyncio.sleep(0.7)
    await line.send(head_of(f"Content-Length: {len(own_page(request.path))}"))
    await asyncio.sleep(0.4)
    await line.send(own_page(request.path))
    return True


async def _slow_close(line: Line, request: Request) -> bool:
    """Whole by its length; the line is left open, then closed."""
    await line.send(sized(own_page(request.path)))
    await asyncio.sleep(1.0)
    return False


async def _identity(line: Line, request: Request) -> bool:
    """Whole by its length: its transfer encoding is none, so that the line may stay open."""
    body = own_page(request.path)
    await line.send(head_of("Transfer-Encoding: Identity", f"Content-Length: {len(body)}") + body)
    return await line.hang()


IN_TIME: dict[str, Behaviour] = {
    "identity": _identity,
    "slow_but_whole": _slow_but_whole,
    "slow_head_quick_body": _slow_head_quick_body,
    "slow_close": _slow_close,
}
KINDS = kinds_of("slow")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Visited:
    with Site() as site:
        site.drip_pause_s = 0.1
        for kind in KINDS:
            site.misbehave(f"/{kind}", kind, host=HOST)
        for name, behaviour in {**ENDED_BY_DEADLINE, **IN_TIME}.items():
            site.behave(f"/{name}", behaviour, host=HOST)
        lay_out(site, [f"/{name}" for name in (*KINDS, *ENDED_BY_DEADLINE, *IN_TIME)])
        options = (*HASTY, "--per-host", "64", "--max-size", "3M", *at_host(site))
        return Visited(site, crawl(tmp_path_factory.mktemp("slow"), [site.at("/", HOST)], *options))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_recorded_honestly(slow: Visited, kind: str) -> None:
    url = slow.site.at(f"/{kind}", HOST)
    judge_kind(kind, url, f"/{kind}", slow.crawled, slow.site)
    assert slow.site.asked(f"/{kind}") == 1
    page = slow.crawled.page(url)
    if page.error is not None:
        _assert_met_its_deadline(page.response_ms)


@pytest.mark.parametrize("name", ENDED_BY_DEADLINE)
def test_the_deadline_is_that_of_the_whole_request(slow: Visited, name: str) -> None:
    page = slow.crawled.page(slow.site.at(f"/{name}", HOST))
    assert page.state == "E" and page.error in SLOW, (page, slow.crawled.details[page.url])
    assert (page.status, page.title, page.hash, page.truncated) == (None, None, None, False), page
    _assert_met_its_deadline(page.response_ms)
    assert slow.site.asked(f"/{name}") == 1


@pytest.mark.parametrize("name", IN_TIME)
def test_what_comes_in_time_is_an_answer(slow: Visited, name: str) -> None:
    page = slow.crawled.page(slow.site.at(f"/{name}", HOST))
    assert (page.state, page.status, page.title) == ("C", 200, f"/{name}"), slow.crawled.details[page.url]


def test_what_never_ends_is_cut_and_said_to_be(slow: Visited) -> None:
    for kind in ("endless_body", "endless_chunks", "endless_blanks"):
        page = slow.crawled.page(slow.site.at(f"/{kind}", HOST))
        assert page.truncated and page.size == page.size_wire == 3_000_000 and page.title == f"/{kind}", page


def test_the_slow_crawl_is_healthy_and_bounded(slow: Visited) -> None:
    """All of them at once cost one deadline and not one each, and little memory."""
    assert_healthy(slow.crawled, slow.site)
    assert slow.crawled.status.elapsed_s < TIMEOUT_S * len(ENDED_BY_DEADLINE)
    assert slow.crawled.peak_b < 400 << 20


def _assert_met_its_deadline(response_ms: int | None) -> None:
    assert response_ms is not None
    assert response_ms / 1000 >= TIMEOUT_S - ROUNDED_S, response_ms


# --- whole servers


def test_hosts_that_stall_keep_nobody_else_waiting(tmp_path: Path, site: Site, names: NameServer) -> None:
    """Connections never taken up, never answered, names never resolved: each has its cause, the good site its pages."""
    wanted: dict[str, tuple[str, ...]] = {}
    options: list[str] = []
    for kind in ("backlog_full", "accept_hang"):
        host = f"{kind.replace('_', '-')}.test"
        wanted[site.misbehave("/", kind, host=host)] = (*MISBEHAVIOURS[kind].outcomes,)
        options += at_host(site, host)

    async def never(line: Line) -> bool:
        return await line.hang()

    tls = site.second(never).at("/", "handshake.test").replace("http:", "https:")
    wanted[tls] = ("CONNECT_TIMEOUT",)
    options += at_host(site, "handshake.test")
    names.fail("silent.test", "silent")
    names.fail("garbage.test", "garbage")
    names.fail("servfail.test", "servfail")
    names.fail("refused.test", "refused")
    for host in ("silent.test", "garbage.test", "servfail.test", "refused.test"):
        wanted[f"http://{host}:8080/"] = ("DNS_FAILED",)
    names.fail("empty.test", "empty")
    names.alias("ring.test", "ring2.test")
    names.alias("ring2.test", "ring.test")
    for host in ("empty.test", "nowhere.test", "ring.test"):
        wanted[f"http://{host}:8080/"] = ("DNS_NOT_FOUND", "DNS_FAILED")
    hanging = [f"h{number}.stall.test" for number in range(70)]
    hung = site.second(never)
    for host in hanging:
        wanted[hung.at("/", host)] = SLOW
    options += at_host(site, "*.stall.test")
    lay_out(site, [])
    seeds = [*list(wanted)[:40], site.at("/", HOST), *list(wanted)[40:]]
    crawled = crawl(tmp_path, seeds, *HASTY, *options, *at_host(site), "--nameserver", f"127.0.0.1:{names.port}")
    assert_healthy(crawled, site)
    for url, outcomes in wanted.items():
        page = crawled.page(url)
        assert page.state == "E" and page.error in outcomes, (page, crawled.details.get(url))


def test_pages_that_stall_do_not_hold_back_those_of_their_own_site(tmp_path: Path, site: Site) -> None:
    """Eight that hang, eight at a time: the good ones are all asked, each bad one as often as --retries says."""
    bad = [f"/hang/{number}" for number in range(8)]
    for path in bad:
        site.misbehave(path, "hang_before_answer", host=HOST)
    lay_out(site, bad)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *HASTY, "--timeout", "5s", "--retries", "1", *at_host(site))
    assert_healthy(crawled, site)
    for path in bad:
        page = crawled.page(site.at(path, HOST))
        assert (page.error, page.attempts, site.asked(path)) == ("FIRST_BYTE_TIMEOUT", 2, 2), page


def test_good_pages_come_before_those_that_stall_are_tried_again(tmp_path: Path, site: Site) -> None:
    """However many stall at the head of the queue, one at a time: the good ones behind them are asked, and not last."""
    bad = [f"/hang/{number}" for number in range(25)]
    for path in bad:
        site.misbehave(path, "hang_before_answer", host=HOST)
    site.page("/", [*bad, *GOOD], host=HOST)
    for path in GOOD:
        site.page(path, host=HOST)
    options = ("--delay", "0", "--timeout", "0.4s", "--sitemaps", "no", "--max-pages", str(1 + len(GOOD)))
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options, *at_host(site))
    assert (crawled.code, crawled.status.stop_reason) == (0, "max-pages"), crawled.stderr
    assert {crawled.page(site.at(path, HOST)).status for path in GOOD} == {200}
    assert {site.asked(path) for path in bad} == {1}


def test_sites_never_asked_come_before_those_that_stall_are_tried_again(tmp_path: Path, site: Site) -> None:
    """More sites that say nothing than requests run at once: none is tried again before all others had their turn."""
    stalled = [f"stall-{number}.test" for number in range(12)]
    for host in stalled:
        site.misbehave("/robots.txt", "hang_before_answer", host=host)
        site.misbehave("/", "hang_before_answer", host=host)
    site.page("/", host=HOST)
    seeds = [site.at("/", host) for host in (*stalled, HOST)]
    options = ("--delay", "0", "--workers", "3", "--timeout", "1s", "--retries", "1", "--resolve", "*.test=127.0.0.1")
    crawled = crawl(tmp_path, seeds, *options)
    assert crawled.page(site.at("/", HOST)).status == 200
    hosts = [request.host for request in site.requests]
    assert hosts.index(HOST) <= len(stalled), hosts


def test_lines_that_answer_once_are_not_used_again(tmp_path: Path, site: Site) -> None:
    """A server that keeps its lines open and answers the first request of each: two deadlines are lost in all."""
    stalled: list[str] = []

    async def first_only(line: Line, request: Request) -> bool:
        if line.asked > 1:
            stalled.append(request.path)
            return await line.hang()
        await line.send(answer_bytes(Response(html_page(request.path))))
        return True

    paths = [f"/{number}" for number in range(20)]
    for path in paths:
        site.behave(path, first_only, host=HOST)
    lay_out(site, paths)
    options = ("--delay", "0", "--timeout", "2s", "--sitemaps", "no")
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options, *at_host(site))
    assert_healthy(crawled, site)
    assert {crawled.page(site.at(path, HOST)).title for path in paths} == set(paths)
    assert 0 < len(stalled) <= 3, stalled


def test_what_stalled_is_tried_again_on_a_new_line(tmp_path: Path, site: Site) -> None:
    """A server that answers the first two requests of each line: no page is silent at all its attempts."""

    async def first_two(line: Line, request: Request) -> bool:
        if line.asked > 2:
            return await line.hang()
        await line.send(answer_bytes(Response(html_page(request.path))))
        return True

    paths = [f"/{number}" for number in range(8)]
    for path in paths:
        site.behave(path, first_two, host=HOST)
    lay_out(site, paths)
    options = ("--delay", "0", "--timeout", "1s", "--retries", "1", "--sitemaps", "no")
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options, *at_host(site))
    assert_healthy(crawled, site)
    assert {crawled.page(site.at(path, HOST)).title for path in paths} == set(paths)


def test_a_site_that_only_stalls_is_given_up_in_the_end(tmp_path: Path, site: Site) -> None:
    """Three hundred pages that hang cost no three hundred deadlines, and other sites nothing."""
    bad = [f"/hang/{number}" for number in range(300)]
    for path in bad:
        site.misbehave(path, "hang_before_answer" if len(path) % 2 else "hang_mid_body", host="stall.test")
    site.page("/", bad, host="stall.test")
    lay_out(site, [])
    seeds = [site.at("/", "stall.test"), site.at("/", HOST)]
    crawled = crawl(tmp_path, seeds, *HASTY, "--per-host", "64", *at_host(site), *at_host(site, "stall.test"))
    assert_healthy(crawled, site)
    pages = [crawled.page(site.at(path, "stall.test")) for path in bad]
    assert all(page.state == "E" and page.error in SLOW for page in pages)
    tried = sum(page.attempts > 0 for page in pages)
    assert STALLS_MAX < tried < 250, tried  # those that were under way ended by themselves
    assert sum(site.asked(path, "stall.test") for path in bad) == tried


def test_stalls_count_whether_or_not_they_are_tried_again(tmp_path: Path, site: Site) -> None:
    """A hundred pages that hang, with retries: the site is given up as soon as without."""
    bad = [f"/hang/{number}" for number in range(100)]
    for path in bad:
        site.misbehave(path, "hang_before_answer", host=HOST)
    site.page("/", bad, host=HOST)
    options = ("--delay", "0", "--per-host", "8", "--timeout", "0.5s", "--sitemaps", "no")
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options, *at_host(site))
    assert crawled.code == 0, crawled.stderr
    assert {(crawled.page(site.at(path, HOST)).state, crawled.page(site.at(path, HOST)).error) for path in bad} == {
        ("E", "FIRST_BYTE_TIMEOUT")
    }
    assert STALLS_MAX < sum(site.asked(path) for path in bad) <= STALLS_MAX + 9


def test_sitemaps_that_stall_keep_no_page_waiting(tmp_path: Path, site: Site) -> None:
    """Seventy of them: the pages come after the first, and those that are left are given up in the end."""
    maps = [f"/map/{number}.xml" for number in range(70)]
    for path in maps:
        site.misbehave(path, "hang_mid_body", host=HOST)
    lines = "".join(f"Sitemap: {site.at(path, HOST)}\n" for path in maps)
    site.file("/robots.txt", lines.encode(), "text/plain", host=HOST)
    site.page("/", [*GOOD], host=HOST)
    for path in GOOD:
        site.page(path, host=HOST)
    crawled = crawl(tmp_path, [site.at("/", HOST)], "--delay", "0", "--timeout", "0.3s", *at_host(site))
    assert crawled.code == 0, crawled.stderr
    assert {crawled.page(site.at(path, HOST)).status for path in ("/", *GOOD)} == {200}
    asked = site.paths()
    assert asked[:3] == ["/robots.txt", "/", maps[0]] and asked.index(GOOD[-1]) < 3 + len(GOOD) + 2
    assert STALLS_MAX < sum(site.asked(path) for path in maps) <= STALLS_MAX + 3


def test_a_time_limit_ends_a_crawl_that_only_waits(tmp_path: Path, site: Site) -> None:
    """--max-time is kept though nothing answers; what was under way waits for a resume."""
    site.page("/", ["/hang/1", "/hang/2", *GOOD], host=HOST)
    for path in GOOD:
        site.page(path, host=HOST)
    site.misbehave("/hang/1", "hang_before_answer", host=HOST)
    site.misbehave("/hang/2", "drip_body", host=HOST)
    crawled = crawl(
        tmp_path,
        [site.at("/", HOST)],
        "--delay",
        "0",
        "--per-host",
        "4",
        "--grace",
        "0.5s",
        "--max-time",
        "5s",
        "--sitemaps",
        "no",
        *at_host(site),
    )
    assert (crawled.code, crawled.status.stop_reason) == (0, "max-time")
    assert {crawled.page(site.at(path, HOST)).state for path in GOOD} == {"C"}
    assert {crawled.page(site.at(f"/hang/{number}", HOST)).state for number in (1, 2)} == {"W"}


def test_seeds_that_stall_are_a_crawl_that_failed(tmp_path: Path, site: Site) -> None:
    """No seed answered: exit 1, said in a sentence, each cause recorded."""
    site.drip_pause_s = 0.1
    kinds = ("hang_before_answer", "drip_body", "drip_headers", "hang_mid_body")
    seeds = {kind: site.misbehave(f"/{kind}", kind, host=HOST) for kind in kinds}
    crawled = crawl(tmp_path, [*seeds.values()], *HASTY, "--timeout", "2s", *at_host(site))
    first = seeds[kinds[0]]
    told = f"no seed answered: {crawled.page(first).error} (weft why "
    assert crawled.code == 1 and told in crawled.stderr and first in crawled.stderr, crawled
    for kind, url in seeds.items():
        assert crawled.page(url).error in MISBEHAVIOURS[kind].outcomes


def test_slow_redirects_have_a_deadline_each(tmp_path: Path, site: Site) -> None:
    """A chain whose every hop takes its time is walked: the deadline is a request's, not a chain's."""

    def hop(number: int) -> Callable[[Line, Request], object]:
        async def behave(line: Line, request: Request) -> bool:
            await asyncio.sleep(2.2)
            await line.send(answer_bytes(Response(html_page("moved"), 302, headers={"Location": f"/hop/{number + 1}"})))
            return True

        return behave

    for number in range(3):
        site.behave(f"/hop/{number}", hop(number), host=HOST)  # type: ignore[arg-type]
    site.page("/hop/3", host=HOST)
    lay_out(site, ["/hop/0"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *HASTY, *at_host(site))
    assert_healthy(crawled, site)
    assert crawled.page(site.at("/hop/3", HOST)).title == "/hop/3"
