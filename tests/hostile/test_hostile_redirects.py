"""Redirects, and links, to other schemes, hosts and private addresses, however written or resolved.

Issue 3, sections 6 and 10; DESIGN, promises 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import (
    FAST,
    GOOD,
    HOST,
    Lured,
    assert_clean,
    assert_healthy,
    at_host,
    crawl,
    crawl_kinds,
    judge_kind,
    kinds_of,
    lay_out,
)
from web import (
    MISBEHAVIOURS,
    PRIVATE_PLACES,
    Authority,
    Behaviour,
    Line,
    NameServer,
    Request,
    Response,
    Site,
    head_of,
    html_page,
)

KINDS = kinds_of("redirects")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Lured:
    return crawl_kinds(tmp_path_factory.mktemp("kinds"), KINDS, "elsewhere.test")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_recorded_honestly(kinds: Lured, kind: str) -> None:
    url = kinds.site.at(f"/{kind}", HOST)
    if kind != "redirect_cookie_gate":
        judge_kind(kind, url, f"/{kind}", kinds.crawled, kinds.site)
    page = kinds.crawled.page(url)
    if page.redirect_to is not None:
        (target,) = kinds.crawled.targets(url)
        assert target == page.redirect_to or (len(target) > 8_192 and target.startswith(page.redirect_to))
        assert page.redirect_to.isascii() and page.redirect_to.isprintable() and " " not in page.redirect_to
    assert kinds.site.asked(f"/{kind}") <= (4 if kind == "redirect_cookie_gate" else 1)
    if "_private_" in kind or "_to_" in kind:
        known = kinds.crawled.pages.get(page.redirect_to or "")
        assert known is None or (known.state is None and known.reason), known


def test_the_crawl_of_all_kinds_is_healthy(kinds: Lured) -> None:
    assert_healthy(kinds.crawled, kinds.site)
    assert kinds.other.connections == 0
    assert len(kinds.site.requests) < 2 * len(KINDS) + 60


# --- where a Location leads, as browsers read it


def test_locations_lead_where_browsers_go(tmp_path: Path, site: Site) -> None:
    """{a} is the site's host and port. None: nothing of ours is asked."""
    a = f"{HOST}:{site.port}"
    places: dict[str, str | None] = {
        "next": "/dir/next",
        "./t1": "/dir/t1",
        "../t2": "/t2",
        "../../../t3": "/t3",
        "/t4/./x/../y": "/t4/y",
        "/t5/%2e%2e/x": "/x",
        "?t6": "/dir/r6?t6",
        "//" + a + "/t7": "/t7",
        "///" + a + "/t8": "/t8",
        "http:" + "/t9": "/t9",
        "http:t10": "/dir/t10",
        "HTTP://" + a.upper() + "/t11": "/t11",
        "\\t12\\x": "/t12/x",
        "\\\\" + a + "\\t13": "/t13",
        "/t14 with blanks": "/t14%20with%20blanks",
        "/t15\tx": "/t15x",
        "/t16#fragment": "/t16",
        "/t17?a=b#c?d": "/t17?a=b",
        "/t18%0d%0aX-Injected:%201": "/t18%0d%0aX-Injected:%201",
        "/t19%00": "/t19%00",
        "/t20/é".encode().decode("latin-1"): "/t20/%C3%A9",  # as UTF-8,
        "/t21/\xe9": "/t21/%E9",  # and what is none, byte by byte
        "/t22?é".encode().decode("latin-1"): "/t22?%C3%A9",
        "/t47à".encode().decode("latin-1"): "/t47%C3%A0",  # its last byte is a blank in Latin-1
        "/t48\u2028".encode().decode("latin-1"): "/t48%E2%80%A8",
        "/t49\x85": "/t49%85",
        f"http://{HOST.upper()}:0{site.port}/t23": "/t23",
        f"http://%68ostile.test:{site.port}/t24": "/t24",
        f"http://\uff48ostile.test:{site.port}/t25".encode().decode("latin-1"): "/t25",
        "http://@" + a + "/t26": "/t26",
        "/t27" + "x" * 4_000: "/t27" + "x" * 4_000,
        '/t28"<>`{}|^': "/t28%22%3C%3E%60%7B%7D|%5E",
        f"http://user:word@{a}/t29": None,
        f"http://{a}@elsewhere.test/t30": None,
        f"http://elsewhere.test\\@{a}/t31": None,
        "/\\elsewhere.test/t32": None,
        "//elsewhere.test/t33": None,
        f"http://{HOST}:1/t35": None,
        f"http://{HOST}:6667/t36": None,
        f"http://{HOST}.:{site.port}/t37": None,
        f"http://{HOST}.elsewhere.test:{site.port}/t38": None,
        "http://" + "a" * 300 + ".test/t39": None,
        "http://[::1]:80:80/t40": None,
        "http:///t41": None,
        "http://%00/t42": None,
        "//": None,
        "http://": None,
        "javascript:location='/t43'": None,
        "JaVaScRiPt:/t44": None,
        "data:text/html,<a href=/t45>": None,
        "/t46" + "x" * 9_000: None,
    }
    for number, place in enumerate(places):
        site.behave(f"/dir/r{number}", _moved(place), host=HOST)
    site.serve(lambda request: Response(html_page(request.path), 404 if request.path == "/robots.txt" else 200))
    lay_out(site, [f"/dir/r{number}" for number in range(len(places))])
    options = at_host(site, HOST, f"{HOST}.", "elsewhere.test", "*.elsewhere.test")
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *options)
    assert_healthy(crawled, site)
    known = {"/", "/robots.txt", *GOOD, *(f"/dir/r{number}" for number in range(len(places)))}
    asked = [path for path in site.paths() if path not in known]
    assert sorted(asked) == sorted({target for target in places.values() if target is not None})
    assert {request.host for request in site.requests} == {HOST}


def _moved(place: str, status: str = "302 Found") -> Behaviour:
    async def behave(line: Line, request: Request) -> bool:
        await line.send(head_of(f"Location: {place}", "Content-Length: 0", status=status))
        return True

    return behave


# --- private addresses


HOSTS = (
    "127.0.0.1",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "a.localhost",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0177.0.0.1",
    "0177.1",
    "0x7f.0.0.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0.0.0.0",
    "0",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[::ffff:0:127.0.0.1]",
    "[fe80::1]",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "\uff11\uff12\uff17.0.0.1",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "loc%61lhost",
    "ⓛocalhost",
    "inner.test",
    "cname.test",
    "inner6.test",
    "mapped.test",
    "zero.test",
    "multi.test",
    "deep.inner.test",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "100.64.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[ff02::1]",
    "[fd00:ec2::254]",
)


@pytest.mark.parametrize("scope", ["free", "host"])
def test_a_public_crawl_never_connects_to_a_private_address(
    scope: str, tmp_path: Path, site: Site, sites: Callable[..., Site], names: NameServer
) -> None:
    """Promise 7, by redirects and by links, under every spelling, by DNS too; not even a connection is opened."""
    secret = sites()
    try:
        secret6 = sites("::1")
    except OSError:  # no IPv6 here
        secret6 = secret
    names.add("inner.test", "127.0.0.1")
    names.add("*.inner.test", "127.0.0.1")
    names.add("inner6.test", "::1")
    names.add("mapped.test", "::ffff:7f00:1")
    names.add("zero.test", "0.0.0.0")
    names.add("multi.test", "127.0.0.1", "10.0.0.1", "::1")
    names.alias("cname.test", "inner.test")
    places = []
    for number, host in enumerate(HOSTS):
        for port in {secret.port, secret6.port, site.port}:
            place = f"http://{host}:{port}/{number}"
            site.redirect(f"/r{number}-{port}", f"{place}/redirected", host=HOST)
            places += [f"/r{number}-{port}", f"{place}/linked"]
    refresh = f"<meta http-equiv=refresh content='0;url=http://127.0.0.1:{secret.port}/refresh'>"
    frame = f"<iframe src='http://localhost:{secret.port}/frame'></iframe><base href='http://127.0.0.1:{secret.port}/'>"
    site.page("/refresh", ["based"], head=refresh + frame, host=HOST)
    lay_out(site, [*places, "/refresh"])
    options = (*FAST, "--scope", scope, *at_host(site), "--nameserver", f"127.0.0.1:{names.port}")
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options)
    assert_healthy(crawled, site)
    assert secret.connections == 0 and secret6.connections == 0
    assert {request.host for request in site.requests} == {HOST}
    inside = [page for url, page in crawled.pages.items() if not url.startswith(site.at("/", HOST))]
    assert len(inside) > 200
    for page in inside:
        if scope == "host":
            assert (page.state, page.reason) == (None, "OUT_OF_SCOPE"), page
        else:
            assert page.state == "E" and page.error in ("ADDRESS_REFUSED", "DNS_NOT_FOUND"), page


def test_a_crawl_of_a_private_seed_stays_at_its_address(tmp_path: Path, sites: Callable[..., Site]) -> None:
    """A seed on loopback may be crawled; other private addresses, and other ports of its own, are out of its scope."""
    site, neighbour, port = sites(), sites("127.0.0.2"), sites()
    for number, host in enumerate(("127.0.0.2", "127.0.0.3", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0")):
        for target in (neighbour.port, port.port, site.port):
            site.redirect(f"/r{number}-{target}", f"http://{host}:{target}/")
    site.redirect("/port", port.at("/"))
    pages = [f"/r{number}-{target.port}" for number in range(7) for target in (neighbour, port, site)]
    lay_out(site, [*pages, "/port"], host=site.host)
    for scope in ("host", "free"):
        folder = tmp_path / scope
        folder.mkdir()
        site.clear_log()
        crawled = crawl(folder, [site.at("/")], *FAST, "--scope", scope)
        assert_healthy(crawled, site, host=site.host)
        assert neighbour.connections == 0
        if scope == "host":
            assert port.connections == 0


def test_a_seed_that_leads_inside_is_not_followed(tmp_path: Path, sites: Callable[..., Site]) -> None:
    """The host that a seed redirects to joins the scope (DESIGN 6), but its address is checked like any other."""
    site, secret = sites(), sites()
    names = ("one.test", "two.test", "three.test", "four.test", "five.test")
    for name, place in zip(
        names,
        (
            secret.at("/", "127.0.0.1"),
            secret.at("/", "localhost"),
            "http://169.254.169.254/latest/",
            "file:///etc/passwd",
            "http://mail.test:25/",
        ),
        strict=True,
    ):
        site.redirect("/", place, host=name)
    lay_out(site, [])
    crawled = crawl(
        tmp_path,
        [site.at("/", HOST), *(site.at("/", name) for name in names)],
        *FAST,
        *at_host(site, HOST, "mail.test", *names),
    )
    assert_healthy(crawled, site)
    assert secret.connections == 0
    assert crawled.page(secret.at("/", "127.0.0.1")).error == "ADDRESS_REFUSED"
    assert crawled.page("http://169.254.169.254/latest/").error == "ADDRESS_REFUSED"
    assert crawled.page(site.at("/", "four.test")).redirect_to == "file:///etc/passwd"
    assert crawled.page("http://mail.test:25/").reason == "BAD_PORT"


def test_a_seed_on_a_metadata_address_by_name_is_refused(tmp_path: Path, names: NameServer) -> None:
    names.add("metadata.test", "169.254.169.254")
    crawled = crawl(tmp_path, ["http://metadata.test/"], *FAST, "--nameserver", f"127.0.0.1:{names.port}")
    assert crawled.code == 1
    assert crawled.page("http://metadata.test/").error == "ADDRESS_REFUSED"


def test_a_name_that_moves_inside_is_refused(tmp_path: Path, sites: Callable[..., Site], names: NameServer) -> None:
    """DNS rebinding: the address is checked each time, on the socket about to be opened; mixed answers are sorted."""
    site, secret = sites("127.0.0.2"), sites("127.0.0.1")
    secret.port = site.port
    secret.stop()
    secret.start()
    names.rotate("rebind.test", ["127.0.0.2"], ["127.0.0.1"], ttl_s=0)
    names.add("mixed.test", "127.0.0.1", "127.0.0.2", "10.0.0.1", ttl_s=0)
    paths = [f"/{number}" for number in range(6)]
    for host in ("rebind.test", "mixed.test"):
        site.page("/", paths, host=host)
        for path in paths:
            site.page(path, host=host)
    crawled = crawl(
        tmp_path,
        [site.at("/", "rebind.test"), site.at("/", "mixed.test")],
        "--delay",
        "0.85",
        "--retries",
        "0",
        "--timeout",
        "2s",
        "--sitemaps",
        "no",
        "--allow-net",
        "127.0.0.2/32",
        "--nameserver",
        f"127.0.0.1:{names.port}",
    )
    assert crawled.code == 0
    assert secret.connections == 0
    found = [crawled.page(site.at(path, "rebind.test")) for path in paths]
    assert found[0].state == "C" and found[-1].error == "ADDRESS_REFUSED", found
    assert all(crawled.page(site.at(path, "mixed.test")).ip == "127.0.0.2" for path in paths)


# --- chains


def test_chains_end_after_ten_hops(tmp_path: Path, site: Site) -> None:
    """Ten redirects are walked and the page behind them is there; an eleventh is not."""
    for length in (9, 10, 11, 12):
        for hop in range(length):
            site.redirect(f"/{length}/{hop}", f"/{length}/{hop + 1}", host=HOST)
        site.page(f"/{length}/{length}", host=HOST)
    lay_out(site, [f"/{length}/0" for length in (9, 10, 11, 12)])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site))
    assert_healthy(crawled, site)
    for length in (9, 10):
        assert crawled.page(site.at(f"/{length}/{length}", HOST)).title == f"/{length}/{length}"
    for length in (11, 12):
        assert not site.asked(f"/{length}/11")
        last = crawled.page(site.at(f"/{length}/11", HOST))
        assert (last.state, last.reason) == (None, "TOO_MANY_REDIRECTS"), last
    depths = {crawled.page(site.at(f"/10/{hop}", HOST)).depth for hop in range(11)}
    assert depths == {1}


def test_a_way_through_another_host_is_not_taken(tmp_path: Path, site: Site, sites: Callable[..., Site]) -> None:
    """Out of scope is out of scope, though it would lead back in."""
    other = sites()
    other.redirect("/back", site.at("/behind", HOST), host="elsewhere.test")
    site.redirect("/out", other.at("/back", "elsewhere.test"), host=HOST)
    site.page("/behind", host=HOST)
    lay_out(site, ["/out"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site), *at_host(other, "elsewhere.test"))
    assert_healthy(crawled, site)
    assert other.connections == 0 and not site.asked("/behind")
    assert crawled.page(other.at("/back", "elsewhere.test")).reason == "OUT_OF_SCOPE"


def test_the_target_of_a_redirect_has_its_own_robots_and_its_own_turn(tmp_path: Path, site: Site) -> None:
    """A redirect opens no door that robots.txt keeps shut, and costs the site's delay like any request."""
    site.robots("User-agent: *\nDisallow: /private\n", host=HOST)
    site.page("/private/1", host=HOST)
    site.page("/public", host=HOST)
    site.redirect("/a", "/private/1", host=HOST)
    site.redirect("/b", "/public", host=HOST)
    site.redirect("/c", "/private/../private/2?x", host=HOST)
    lay_out(site, ["/a", "/b", "/c"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, "--per-host", "1", "--delay", "0.3", *at_host(site))
    assert_healthy(crawled, site)
    assert not [path for path in site.paths() if path.startswith("/private")]
    assert crawled.page(site.at("/private/1", HOST)).error == "ROBOTS_DISALLOWED"
    assert site.asked("/public") == 1 and site.hurry_s(0.3, HOST) < 0.2


def test_refreshes_are_links_and_their_loops_end(tmp_path: Path, site: Site) -> None:
    """A refresh in a header or a meta is followed like a link, once; rings of them end by themselves."""
    site.page("/meta", head="<meta http-equiv=refresh content='0;url=/goal/meta'>", host=HOST)
    site.page("/header", headers={"Refresh": "0; url=/goal/header"}, host=HOST)
    site.page("/self", head="<meta http-equiv=refresh content=0>", headers={"Refresh": "1"}, host=HOST)
    for number in range(3):
        head = f"<meta http-equiv=refresh content='0;url=/ring/{(number + 1) % 3}'>"
        site.page(f"/ring/{number}", head=head, host=HOST)
    site.page("/script", head="<meta http-equiv=refresh content='0;url=javascript:alert(1)'>", host=HOST)
    for name in ("meta", "header"):
        site.page(f"/goal/{name}", host=HOST)
    lay_out(site, ["/meta", "/header", "/self", "/ring/0", "/script"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site))
    assert_healthy(crawled, site)
    assert sorted(path for path in site.paths() if path not in (*GOOD, "/", "/robots.txt")) == sorted(
        ["/meta", "/header", "/self", "/ring/0", "/ring/1", "/ring/2", "/script", "/goal/meta", "/goal/header"]
    )


@pytest.mark.parametrize("in_header", [False, True], ids=["meta", "header"])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_refreshes_at_once_are_a_chain_of_redirects(
    tmp_path: Path, site: Site, in_header: bool, processes: str
) -> None:
    """Refreshes after 0 s are bounded like redirects, also mixed with them; those that let a reader read are not."""
    for delay_s in (0, 5):
        for hop in range(12):
            says = f"{delay_s}; url=/{delay_s}/{hop + 1}"
            if in_header:
                site.page(f"/{delay_s}/{hop}", headers={"Refresh": says}, host=HOST)
            else:
                head = f"<meta http-equiv=refresh content='{says}'>"
                links = ["", f"/{delay_s}/{hop + 1}", f"/{delay_s}/{max(hop - 1, 0)}"]  # itself, on, and back
                site.page(f"/{delay_s}/{hop}", links, head=head, host=HOST)
        site.page(f"/{delay_s}/12", host=HOST)
    for hop in range(9):
        site.redirect(f"/mixed/{hop}", f"/mixed/{hop + 1}", host=HOST)
    for hop in (9, 10):
        site.page(f"/mixed/{hop}", head=f"<meta http-equiv=refresh content='0;/mixed/{hop + 1}'>", host=HOST)
    lay_out(site, ["/0/0", "/5/0", "/mixed/0"])
    options = (*FAST, *at_host(site), "--processes", processes)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options)
    assert_healthy(crawled, site)
    for path in ("/0/11", "/mixed/11"):
        last = crawled.page(site.at(path, HOST))
        assert (last.state, last.reason) == (None, "TOO_MANY_REDIRECTS"), last
        assert not site.asked(path)
    assert crawled.page(site.at("/0/10", HOST)).depth == 11 and crawled.page(site.at("/mixed/10", HOST)).depth == 2
    assert site.asked("/5/12") == 1


def test_a_link_leads_past_a_chain_of_refreshes(tmp_path: Path, site: Site) -> None:
    """R2: what too many refreshes lead to is admitted when a link is found, and so is what lies behind it."""
    for hop in range(24):
        site.page(f"/{hop}", head=f"<meta http-equiv=refresh content='0;/{hop + 1}'>", host=HOST)
    site.page("/24", host=HOST)
    site.page("/late", ["/11"], host=HOST)
    lay_out(site, ["/0", "/late"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site), "--max-redirects", "10")
    assert_healthy(crawled, site)
    assert site.asked("/21") == 1 and crawled.page(site.at("/21", HOST)).depth == 12
    assert crawled.page(site.at("/22", HOST)).reason == "TOO_MANY_REDIRECTS"


def test_odd_redirects(tmp_path: Path, site: Site) -> None:
    """Bodies of redirects are no pages, unless they lead nowhere; two Locations, statuses that do not redirect."""

    def answer(status: str, *lines: str) -> Behaviour:
        async def behave(line: Line, request: Request) -> bool:
            body = html_page("moved", [f"/in-the-body{request.path}"])
            await line.send(head_of(*lines, f"Content-Length: {len(body)}", status=status) + body)
            return True

        return behave

    site.behave("/two", answer("302 Found", "Location: /first", "Location: http://elsewhere.test/"), host=HOST)
    site.behave("/none", answer("301 Moved"), host=HOST)
    site.behave("/error", answer("404 Not Found", "Location: /stolen", "Refresh: 0;url=/stolen"), host=HOST)
    site.behave("/created", answer("201 Created", "Location: /stolen"), host=HOST)
    site.behave("/options", answer("300 Multiple", "Location: /maybe"), host=HOST)
    site.behave("/proxy", answer("305 Use Proxy", "Location: http://127.0.0.1:1/"), host=HOST)
    site.behave("/refused", answer("401 Who", "Location: /stolen", "WWW-Authenticate: Basic realm=x"), host=HOST)
    site.behave("/nowhere", answer("302 Found", "Location: http://[x"), host=HOST)
    places = ["/two", "/none", "/error", "/created", "/options", "/proxy", "/refused", "/nowhere"]
    for path in ("/first", "/maybe", *(f"/in-the-body{place}" for place in places)):
        site.page(path, host=HOST)
    lay_out(site, places)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site, HOST, "elsewhere.test"))
    assert_healthy(crawled, site)
    assert not site.asked("/stolen")
    assert {request.host for request in site.requests} == {HOST}
    for path in ("/none", "/nowhere"):  # browsers show them
        page = crawled.page(site.at(path, HOST))
        assert (page.redirect_to, page.title, page.out_links) == (None, "moved", 1)
    two = crawled.page(site.at("/two", HOST))
    assert two.title is None
    assert (two.error, two.redirect_to) in (("BAD_ANSWER", None), (None, site.at("/first", HOST)))
    shown = {place for place in places if site.asked(f"/in-the-body{place}")}
    assert shown == {"/created", "/none", "/nowhere", "/options", "/proxy"}


def test_gates_that_lead_back_are_passed_with_their_cookie(tmp_path: Path, site: Site) -> None:
    """A page that leads to a cookie and is led back to is asked again; a gate that never opens, and a ring, end."""

    def gate(request: Request) -> Response:
        opened = "open=1" in (request.header("cookie") or "")
        place = request.path.partition("?")[0]
        match request.host, place:
            case _, "/robots.txt":
                return Response(status=404)
            case "never.test", _:
                cookie = {"Set-Cookie": f"n={len(site.requests)}"}
                return Response(b"", 302, headers={"Location": "/set" if place == "/" else "/", **cookie})
            case "ring.test", _:
                return Response(b"", 302, headers={"Location": "/set" if place == "/" else "/"})
            case "there.test", "/set":
                return Response(b"", 302, headers={"Location": "/again", "Set-Cookie": "open=1; Path=/"})
            case "here.test", "/check":
                return Response(b"", 302, headers={"Location": "/"}) if opened else Response(html_page("no cookie"))
            case _, "/again":
                return Response(b"", 302, headers={"Location": "/"})
        if opened:
            return Response(html_page(place, ["/behind"]))
        if request.host == "here.test":
            return Response(b"", 302, headers={"Location": "/check", "Set-Cookie": "open=1"})
        return Response(b"", 302, headers={"Location": "/set"})

    site.serve(gate)
    hosts = ("there.test", "here.test", "never.test", "ring.test")
    seeds = [site.at("/", host) for host in hosts]
    crawled = crawl(tmp_path, seeds, *FAST, *at_host(site, *hosts), check=True)
    assert crawled.code == 0 and crawled.status.waiting == 0
    for host in ("there.test", "here.test"):
        assert site.asked("/", host) == 2 and site.asked("/behind", host) == 1
        assert crawled.page(site.at("/", host)).status == crawled.page(site.at("/behind", host)).status == 200
    assert 2 <= site.asked("/", "never.test") <= 4
    assert site.asked("/", "ring.test") == site.asked("/set", "ring.test") == 1


# --- TLS


def test_from_https_to_http_nothing_secret_goes_along(
    tmp_path: Path, site: Site, tls_site: Callable[..., Site], authority: Authority
) -> None:
    """A redirect down to plain HTTP, and up to a bad certificate: cookies and passwords stay where they belong."""
    secure = tls_site("good", "secure.test")
    bad = tls_site("self_signed", "bad.test")
    cookies = {"Set-Cookie": "plain=1; Path=/", "X-Other": "1"}
    secure.page("/", ["/down", "/up"], headers=cookies)
    secure.redirect("/down", site.at("/plain", "secure.test"))
    secure.redirect("/up", bad.at("/"))
    site.page("/plain", host="secure.test")
    site.page("/robots.txt", status=404)
    bad.page("/")
    seeds = [secure.at("/"), site.at("/start", "secure.test"), bad.at("/start")]
    site.page("/start", host="secure.test")
    crawled = crawl(
        tmp_path,
        seeds,
        *FAST,
        "--ca",
        str(authority.certificate),
        "--auth",
        f"me:secret@secure.test:{secure.port}",
        *at_host(site, "secure.test", "bad.test"),
    )
    assert crawled.code == 0
    assert crawled.page(site.at("/plain", "secure.test")).state == "C"
    assert_clean(site)
    assert all(request.header("authorization") for request in secure.requests if request.path != "/robots.txt")
    assert not any(request.header("cookie") or request.header("authorization") for request in site.requests)
    assert crawled.page(bad.at("/")).error == "TLS_CERTIFICATE" and not bad.requests


def test_every_private_spelling_of_the_bench_is_tried() -> None:
    assert {f"redirect_private_{name}" for name in PRIVATE_PLACES} <= set(MISBEHAVIOURS)
