"""weft add and weft robots (issue 3, sections 2 and 5; E1, E17, G6, R5, R7; promises 3 and 7)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Weft, call
from until import wait_until
from web import NameServer, Response, Site

from weft.derive.read import StoredCrawl


def crawl(site: Site, folder: Path, *options: str) -> Path:
    run = call("crawl", site.at("/"), "-o", folder, "--delay", "0", "--quiet", *options)
    assert run.code in (0, 1), run.stderr
    return folder


def urls_of(folder: Path) -> dict[str, str | None]:
    with StoredCrawl(folder) as stored:
        return {page.url: page.state for page in stored.pages(everything=True)}


# ---- add -------------------------------------------------------------------------------------------------------


def test_add_to_a_stopped_crawl(site: Site, tmp_path: Path) -> None:
    """The URL waits at once, is asked at the resume, and its links are followed."""
    site.page("/", ["/a"])
    site.page("/a")
    site.page("/hidden", ["/hidden/child"])
    site.page("/hidden/child")
    folder = crawl(site, tmp_path / "out")
    run = call("add", folder, site.at("/hidden"), site.at("/a"))
    assert run.code == 0
    assert "1 URL added (1 known already)" in run.stderr
    assert urls_of(folder)[site.at("/hidden")] == "W"
    status = json.loads(call("status", folder, "--json").stdout)
    assert (status["state"], status["waiting"]) == ("stopped", 1)
    assert call("check", folder).code == 0, call("check", folder).stdout
    assert call("resume", folder, "--quiet").code == 0
    assert urls_of(folder) == dict.fromkeys(map(site.at, ("/", "/a", "/hidden", "/hidden/child")), "C")
    assert json.loads(call("status", folder, "--json").stdout)["state"] == "done"
    story = json.loads(call("why", folder, site.at("/hidden"), "--json").stdout)
    assert (story["found"]["kind"], story["found"]["source"]) == ("seed", "weft add")


def test_add_widens_the_scope(sites: object, tmp_path: Path) -> None:
    """A seed that is given later counts like one given at the start, also where it was seen and refused before."""
    assert callable(sites)
    one, other = sites(), sites("127.0.0.2")
    one.page("/", [other.at("/"), "/a"])
    one.page("/a")
    other.page("/", ["/b"])
    other.page("/b")
    folder = crawl(one, tmp_path / "out", "--allow-net", "127.0.0.0/8")
    assert urls_of(folder)[other.at("/")] is None
    assert call("add", folder, other.at("/")).code == 0
    assert call("resume", folder, "--quiet").code == 0
    assert urls_of(folder)[other.at("/b")] == "C"


def test_add_takes_files_and_hosts(site: Site, tmp_path: Path) -> None:
    site.page("/")
    folder = crawl(site, tmp_path / "out")
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"{site.at('/x')}\n# a comment\n{site.at('/y')}\nhttp://\n")
    run = call("add", folder, seeds)
    assert run.code == 0
    assert f"{seeds}:4" in run.stderr
    assert "2 URLs added" in run.stderr
    assert {url for url, state in urls_of(folder).items() if state == "W"} == {site.at("/x"), site.at("/y")}


@pytest.mark.parametrize("url", ["ftp://example.org/", "http://", "missing.txt", "http://user:secret@example.org/"])
def test_add_refuses_what_is_no_url(site: Site, tmp_path: Path, url: str) -> None:
    """Exit 2 with a sentence, and nothing is added, the good ones neither."""
    site.page("/")
    folder = crawl(site, tmp_path / "out")
    before = urls_of(folder)
    run = call("add", folder, site.at("/good"), url)
    assert run.code == 2
    assert run.stderr.startswith("weft: ")
    assert "secret" not in run.stderr
    assert urls_of(folder) == before


def test_add_says_what_is_refused_all_the_same(site: Site, tmp_path: Path) -> None:
    site.page("/")
    folder = crawl(site, tmp_path / "out", "--reject", "/bad")
    run = call("add", folder, site.at("/bad"))
    assert run.code == 0
    assert "REJECTED" in run.stderr


def test_commands_that_are_told_can_be_copied(site: Site, tmp_path: Path) -> None:
    """Names with spaces, and URLs with what a shell takes for its own."""
    site.page("/")
    folder = crawl(site, tmp_path / "my crawl")
    odd = site.at("/x?a=1&b=2")
    assert f"go on with: weft resume '{folder}'" in call("add", folder, odd).stderr
    assert f"(weft why '{folder}' '{odd}' tells more)" in call("show", folder, odd, "--body").stderr


def test_add_to_a_running_crawl(weft: Weft, site: Site) -> None:
    """`--wait` keeps it running; what is added is asked without a restart."""
    site.page("/")
    site.page("/later", ["/later/child"])
    site.page("/later/child")
    process = weft.start("crawl", site.at("/"), "-o", "out", "--delay", "0", "--wait", "--quiet")
    wait_until(lambda: site.asked("/") == 1, "the first request")
    run = call("add", weft.folder / "out", site.at("/later"))
    assert run.code == 0
    assert "left for the crawl that runs" in run.stderr
    wait_until(lambda: site.asked("/later/child") == 1, "what was added")
    assert call("stop", weft.folder / "out").code == 0
    assert process.wait(120) == 3
    assert urls_of(weft.folder / "out")[site.at("/later/child")] == "C"


def test_add_another_private_address_to_a_running_crawl(weft: Weft, site: Site, sites: Callable[..., Site]) -> None:
    """Promise 7: what the user adds opens its address as a seed does."""
    other = sites("127.0.0.2")
    site.page("/")
    other.page("/added")
    process = weft.start("crawl", site.at("/"), "-o", "out", "--delay", "0", "--wait", "--quiet")
    wait_until(lambda: site.asked("/") == 1, "the first request")
    assert call("add", weft.folder / "out", other.at("/added")).code == 0
    wait_until(lambda: urls_of(weft.folder / "out").get(other.at("/added")) in ("C", "E"), "what was added")
    assert call("stop", weft.folder / "out").code == 0
    assert process.wait(120) == 3
    assert urls_of(weft.folder / "out")[other.at("/added")] == "C"


def test_add_a_host_to_a_running_crawl(weft: Weft, site: Site) -> None:
    """DESIGN section 6: a host is asked by https and then by http, whenever it is given."""
    site.page("/")
    site.page("/later")
    process = weft.start("crawl", site.at("/"), "-o", "out", "--delay", "0", "--wait", "--quiet")
    wait_until(lambda: site.asked("/") == 1, "the first request")
    assert call("add", weft.folder / "out", f"127.0.0.1:{site.port}/later").code == 0
    wait_until(lambda: site.asked("/later") == 1, "what was added")
    assert call("stop", weft.folder / "out").code == 0
    assert process.wait(120) == 3
    assert urls_of(weft.folder / "out")[site.at("/later")] == "C"


def test_add_keeps_the_mark_of_a_page_that_ended_a_run(site: Site, tmp_path: Path) -> None:
    """The page that took the parser down is still known at the resume."""
    site.page("/")
    folder = crawl(site, tmp_path / "out")
    (folder / "parsing").write_bytes(b"\x03\x00abc")
    assert call("add", folder, site.at("/x")).code == 0
    assert (folder / "parsing").read_bytes() == b"\x03\x00abc"


# ---- robots ----------------------------------------------------------------------------------------------------


def robots(*arguments: str) -> tuple[int, dict[str, object]]:
    run = call("robots", *arguments, "--json")
    report = json.loads(run.stdout)
    assert isinstance(report, dict)
    return run.code, report


def test_robots_line_by_line(site: Site) -> None:
    """RFC 9309: the verdict, the line that decides, what each line is to weft, the delay as it is kept."""
    site.robots(
        "# hello\nUser-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private\nAllow: /private/open\n"
        "Crawl-delay: 90\nSitemap: /map.xml\nNonsense\n"
    )
    code, report = robots(site.at("/private/x"))
    assert (code, report["allowed"], report["line"], report["rule"]) == (0, False, 6, "Disallow: /private")
    assert (report["crawl_delay_s"], report["delay_s"]) == (90.0, 30.0)
    assert report["sitemaps"] == [site.at("/map.xml")]
    lines = report["lines"]
    assert isinstance(lines, list)
    assert [(line["kind"], line["applies"]) for line in lines[:10]] == [
        ("comment", False), ("group", False), ("disallow", False), ("blank", False), ("group", True),
        ("disallow", True), ("allow", True), ("crawl-delay", True), ("sitemap", True), ("ignored", False),
    ]  # fmt: skip
    assert robots(site.at("/private/open/x"))[1]["allowed"] is True
    assert robots(site.at("/elsewhere"))[1]["line"] is None
    assert site.requests[0].header("user-agent") is not None
    assert set(site.paths()) == {"/robots.txt"}


def test_robots_on_screen_is_safe(site: Site) -> None:
    site.robots(b"User-agent: *\nDisallow: /\x1b[31mred\nDisallow: /\xff\xfe\n")
    run = call("robots", site.at("/x"))
    assert run.code == 0
    assert "may be asked by weft" in run.stdout
    assert "\x1b" not in run.stdout
    assert "   <- must not be asked" in run.stdout


def test_no_robots_allows_and_a_broken_one_forbids(site: Site) -> None:
    """Promise 3: 4xx allows, 5xx and unreachable DISALLOW."""
    assert robots(site.at("/x"))[1]["allowed"] is True
    site.robots("", status=503)
    code, report = robots(site.at("/x"))
    assert (report["allowed"], report["error"], report["status"]) == (False, "ROBOTS_UNAVAILABLE", 503)
    assert code == 0


def test_robots_of_a_host_that_is_not_there(site: Site) -> None:
    address = site.at("/x")
    site.stop()
    code, report = robots(address)
    assert (code, report["allowed"], report["error"], report["status"]) == (1, False, "CONNECT_REFUSED", None)
    assert "RFC 9309" in str(report["because"])


def test_robots_follows_five_redirects(site: Site) -> None:
    for hop in range(1, 7):
        site.redirect(f"/r{hop}", f"/r{hop + 1}")
    site.file("/r6", b"User-agent: *\nDisallow: /", "text/plain")
    site.redirect("/robots.txt", "/r2")  # r2 r3 r4 r5 r6: five
    _, report = robots(site.at("/x"))
    assert (report["allowed"], report["line"], report["robots_url"]) == (False, 2, site.at("/r6"))
    site.redirect("/robots.txt", "/r1")
    _, report = robots(site.at("/x"))
    assert (report["allowed"], report["line"], report["error"]) == (False, None, "ROBOTS_UNAVAILABLE")


def test_robots_never_goes_to_a_private_address(sites: object, names: NameServer) -> None:
    """Promise 7: not by a redirect either."""
    assert callable(sites)
    outside, inside = sites(), sites("127.0.0.2")
    outside.redirect("/robots.txt", inside.at("/robots.txt"))
    _, report = robots(outside.at("/x"))
    assert (report["allowed"], report["error"]) == (False, "ADDRESS_REFUSED")
    assert inside.requests == []


def test_robots_sends_the_identity(site: Site) -> None:
    site.serve("/robots.txt", lambda request: Response(b"", 404))
    assert call("robots", site.at("/"), "--contact", "me@example.org").code == 0
    request = site.requests[-1]
    assert "me@example.org" in str(request.header("user-agent"))
    assert request.header("from") == "me@example.org"


def test_robots_of_no_url() -> None:
    run = call("robots", "ftp://example.org/")
    assert run.code == 2
    assert "only http and https" in run.stderr
    secret = call("robots", "http://joe:s3cret@example.org/")
    assert secret.code == 2 and "give them with --auth" in secret.stderr and "s3cret" not in secret.stderr
