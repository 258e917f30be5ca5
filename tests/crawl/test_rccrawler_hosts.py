"""Lists of sites, each with its own parallel downloads, level and delay (R1, R2), judged by the server's log."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from command import Weft
from hypothesis import given
from hypothesis import strategies as st
from until import wait_until
from web import Site

from weft.derive.read import StoredCrawl
from weft.errors import SpecError
from weft.options import read_spec, spec_of, write_toml
from weft.seeds.lists import hosts_of_file, read_seeds
from weft.spec import NO_BOUND, Paces, SitePace

ANY_TEST = ("--resolve", "*.test=127.0.0.1")


def no_warning(message: str) -> None:
    raise AssertionError(f"unexpected warning: {message}")


def chain(site: Site, host: str, levels: int, width: int = 3, delay_s: float = 0.0) -> None:
    """A site of ``width`` pages on each level below its index page; each page leads to all of the next level."""
    site.page("/", [f"/1/{n}" for n in range(width)], host=host, delay_s=delay_s)
    for level in range(1, levels + 1):
        for number in range(width):
            links = [f"/{level + 1}/{n}" for n in range(width)] if level < levels else []
            site.page(f"/{level}/{number}", links, host=host, delay_s=delay_s)


def levels_asked(site: Site, host: str) -> int:
    """The deepest level of ``chain`` that was asked."""
    return max(int(path.split("/")[1] or 0) for path in site.paths(host) if path not in ("/robots.txt", "/sitemap.xml"))


def test_all_sites_at_once_each_in_its_own_way(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R1, R2: parallel downloads, level (inclusive) and delay (ms) of each line hold for that site, and only there."""
    for host in ("quick.test", "slow.test", "flat.test", "deep.test"):
        chain(site, host, 4, delay_s=0.05 if host == "quick.test" else 0.0)
    lines = ["quick.test:{};3;2;0", "slow.test:{};1;1;500", "flat.test:{};2;0;0", "deep.test:{};1;-1;0"]
    (tmp_path / "hosts.txt").write_text("".join(f"http://{line.format(site.port)}\n" for line in lines))
    run = weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out", *ANY_TEST)
    assert run.code == 0, run.stderr
    assert [levels_asked(site, f"{name}.test") for name in ("quick", "slow", "flat", "deep")] == [2, 1, 0, 4]
    assert site.parallel_max("quick.test") == 3 and site.parallel_max("slow.test") == 1
    assert site.hurry_s(0.5, "slow.test") < 0.25 and min(site.gaps("deep.test")) < 0.5
    first = {
        host: next(r.time_monotonic for r in site.requests if r.host == host) for host in ("quick.test", "deep.test")
    }
    ends = max(r.time_monotonic for r in site.requests if r.host == "slow.test")
    assert max(first.values()) < ends, "the sites were crawled one after the other"
    with StoredCrawl(tmp_path / "out") as stored:
        depths = {page.url: page.depth for page in stored.pages()}
        assert depths[site.at("/2/0", "quick.test")] == 2 and site.at("/3/0", "quick.test") not in depths


def test_the_settings_are_kept_and_go_on_with_the_crawl(site: Site, weft: Weft, tmp_path: Path) -> None:
    """crawl.toml holds each site's settings, so a resume needs no list; a site's level can be raised on resume."""
    for host in ("a.test", "b.test"):
        chain(site, host, 4)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"http://a.test:{site.port};4;1;0\nhttp://b.test:{site.port};1;2;500\n")
    assert weft("crawl", "hosts.txt", "-o", "out", "--max-pages", "3", *ANY_TEST).code == 0
    hosts.unlink()
    written = tomllib.loads((tmp_path / "out" / "crawl.toml").read_text())["site"]
    assert written[f"a.test:{site.port}"] == {"per-host": 4, "delay": "0s", "max-depth": 1}
    assert written[f"b.test:{site.port}"] == {"per-host": 1, "delay": "0.5s", "max-depth": 2}
    site.clear_log()
    assert weft("resume", "out", "--max-pages", "none").code == 0
    assert levels_asked(site, "a.test") == 1 and levels_asked(site, "b.test") == 2
    assert site.hurry_s(0.5, "b.test") < 0.25
    why = weft("why", "out", site.at("/2/0", "a.test")).stdout
    assert "its depth is 2, and 1 is allowed" in why
    assert weft("resume", "out", "--site", f"a.test:{site.port} per-host=2 delay=0 max-depth=3").code == 0
    assert levels_asked(site, "a.test") == 3 and levels_asked(site, "b.test") == 2


def test_a_list_that_is_added_brings_its_settings(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R1: `weft add` of a list of sites keeps what its lines say, and leaves the other sites their own."""
    for host in ("a.test", "b.test", "c.test"):
        chain(site, host, 4)
    (tmp_path / "hosts.txt").write_text(f"http://a.test:{site.port};4;1;0\n")
    assert weft("crawl", "hosts.txt", "-o", "out", *ANY_TEST).code == 0
    (tmp_path / "more.txt").write_text(f"http://b.test:{site.port};2;3;10\nhttp://c.test:{site.port};1;0;10\n")
    added = weft("add", "out", "more.txt")
    assert added.code == 0 and "2 URLs added" in added.stderr
    written = tomllib.loads((tmp_path / "out" / "crawl.toml").read_text())["site"]
    assert written[f"a.test:{site.port}"] == {"per-host": 4, "delay": "0s", "max-depth": 1}
    assert written[f"b.test:{site.port}"] == {"per-host": 2, "delay": "0.01s", "max-depth": 3}
    assert weft("resume", "out").code == 0
    assert [levels_asked(site, f"{name}.test") for name in "abc"] == [1, 3, 0]


def test_a_list_with_settings_is_not_for_a_running_crawl(site: Site, weft: Weft, tmp_path: Path) -> None:
    """What a running crawl cannot take up is refused, with the way that works."""
    chain(site, "a.test", 1)
    (tmp_path / "more.txt").write_text(f"http://b.test:{site.port};2;3;10\n")
    process = weft.start("crawl", site.at("/", "a.test"), "-o", "out", "--wait", "--quiet", *ANY_TEST)
    wait_until(lambda: site.asked("/", "a.test"), "the first request")
    added = weft("add", "out", "more.txt")
    assert added.code == 2 and "weft stop out" in added.stderr and "weft resume out" in added.stderr
    assert weft("stop", "out").code == 0
    assert process.wait(60) == 3
    assert weft("add", "out", "more.txt").code == 0


def test_the_site_that_a_seed_redirects_to_has_the_seeds_settings(site: Site, weft: Weft, tmp_path: Path) -> None:
    """``a.test`` that leads to ``www.a.test``: the line's level and delay hold there, after a kill and resume too."""
    site.redirect("/", site.at("/", "www.a.test"), host="a.test")
    chain(site, "www.a.test", 4)
    (tmp_path / "hosts.txt").write_text(f"http://a.test:{site.port};1;2;400\n")
    assert weft("crawl", "hosts.txt", "-o", "out", "--max-pages", "2", "--mode", "graph", *ANY_TEST).code == 0
    assert weft("resume", "out", "--max-pages", "none").code == 0
    assert levels_asked(site, "www.a.test") == 2 and site.hurry_s(0.4, "www.a.test") < 0.2
    assert "its depth is 3, and 2 is allowed" in weft("why", "out", site.at("/3/0", "www.a.test")).stdout


def test_a_line_added_to_the_list_is_told(site: Site, weft: Weft, tmp_path: Path) -> None:
    """The same list with one more site is another crawl; `weft add` gives it to this one."""
    for host in ("a.test", "b.test"):
        site.page("/", host=host)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"http://a.test:{site.port};1;1;0\n")
    words = ("crawl", "hosts.txt", "-o", "out", *ANY_TEST)
    assert weft(*words).code == 0 and weft(*words).code == 0
    hosts.write_text(f"http://a.test:{site.port};1;1;0\nhttp://b.test:{site.port};1;1;0\n")
    run = weft(*words)
    assert run.code == 2 and f"http://b.test:{site.port}/ is no seed of it (weft add" in run.stderr
    assert weft("add", "out", f"http://b.test:{site.port}/").code == 0 and weft(*words).code == 0
    assert site.asked("/", "b.test") == 1


def test_robots_txt_may_ask_for_more_than_the_line(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R7: a Crawl-delay above the line's delay is obeyed."""
    site.robots("User-agent: *\nCrawl-delay: 0.6\n", host="a.test")
    chain(site, "a.test", 1)
    (tmp_path / "hosts.txt").write_text(f"http://a.test:{site.port};1;1;10")
    assert weft("crawl", "hosts.txt", "-o", "out", *ANY_TEST).code == 0
    assert site.hurry_s(0.6, "a.test", first=1) < 0.3


# --- each site by its own links


def two_sites(site: Site) -> tuple[str, str]:
    """Two sites; a.test leads to pages of b.test that its own links reach later, or never."""
    other = f"http://b.test:{site.port}"
    site.page("/", ["/1", f"{other}/1/far", f"{other}/unlinked", f"{other}/moved"], host="a.test")
    site.page("/1", host="a.test")
    site.redirect("/2", f"{other}/by-redirect", 301, host="a.test")
    site.page("/", ["/1"], host="b.test")
    site.page("/1", ["/1/near"], host="b.test")
    site.page("/1/near", ["/1/far"], host="b.test")
    site.page("/1/far", ["/1/farther"], host="b.test")
    for path in ("/1/farther", "/unlinked", "/moved", "/by-redirect"):
        site.page(path, host="b.test")
    return f"http://a.test:{site.port}", other


def depths(folder: Path, url: str) -> dict[str, int]:
    """The pages of a site that were asked, each with its level."""
    with StoredCrawl(folder) as stored:
        return {page.url.removeprefix(url): page.depth for page in stored.pages() if page.url.startswith(url)}


def test_a_link_from_another_site_adds_no_page_and_shortens_no_level(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R2, R12: pages and levels are those of the site crawled alone, whichever site is asked first."""
    a, b = two_sites(site)
    site.page("/1", ["/2"], host="a.test")
    (tmp_path / "alone.txt").write_text(f"{b};1;3;0\n")
    assert weft("crawl", "alone.txt", "--mode", "graph", "-o", "alone", *ANY_TEST).code == 0
    (tmp_path / "hosts.txt").write_text(f"{a};4;-1;0\n{b};1;3;100\n")
    assert weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out", *ANY_TEST).code == 0
    alone = depths(tmp_path / "alone", b)
    assert alone == {"/": 0, "/1": 1, "/1/near": 2, "/1/far": 3} == depths(tmp_path / "out", b)
    assert depths(tmp_path / "out", a) == {"/": 0, "/1": 1, "/2": 2}
    why = weft("why", "out", f"{b}/unlinked").stdout
    assert "OTHER_SITE" in why and "--same-site" in why
    assert weft("check", "out").code == 0


def test_without_same_site_a_link_from_another_seed_counts(site: Site, weft: Weft, tmp_path: Path) -> None:
    a, b = two_sites(site)
    (tmp_path / "hosts.txt").write_text(f"{a};4;-1;0\n{b};1;3;100\n")
    (tmp_path / "together.toml").write_text('mode = "graph"\nsame-site = false\n')
    run = weft("crawl", "hosts.txt", "-c", "together.toml", "-o", "out", *ANY_TEST)
    assert run.code == 0, run.stderr
    found = depths(tmp_path / "out", b)
    assert found["/1/far"] == 1 and found["/unlinked"] == 1


def test_a_level_that_is_raised_later_lets_in_what_its_own_links_reach(site: Site, weft: Weft, tmp_path: Path) -> None:
    """Met first by a link from another site, then by one of its own that lay too deep."""
    a, b = two_sites(site)
    (tmp_path / "hosts.txt").write_text(f"{a};4;-1;0\n{b};1;2;100\n")
    assert weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out", *ANY_TEST).code == 0
    assert depths(tmp_path / "out", b) == {"/": 0, "/1": 1, "/1/near": 2}
    assert weft("resume", "out", "--site", f"b.test:{site.port} max-depth=4").code == 0
    assert depths(tmp_path / "out", b) == {"/": 0, "/1": 1, "/1/near": 2, "/1/far": 3, "/1/farther": 4}


def test_a_site_that_is_added_later_is_crawled_by_its_own_links(site: Site, weft: Weft, tmp_path: Path) -> None:
    a, b = two_sites(site)
    (tmp_path / "hosts.txt").write_text(f"{a};4;-1;0\n")
    assert weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out", *ANY_TEST).code == 0
    assert weft("add", "out", b).code == 0 and weft("resume", "out").code == 0
    assert depths(tmp_path / "out", b) == {"/": 0, "/1": 1, "/1/near": 2, "/1/far": 3, "/1/farther": 4}


def test_an_index_page_may_redirect_to_another_host(site: Site, weft: Weft, tmp_path: Path) -> None:
    """The host that it leads to is the site of that line, also after a resume; another line's site stays its own."""
    port = site.port
    site.redirect("/", f"http://www.a.test:{port}/", 301, host="a.test")
    site.page("/", [f"http://a.test:{port}/old", "/1", f"http://b.test:{port}/unlinked"], host="www.a.test")
    site.page("/1", ["/2"], host="www.a.test")
    site.page("/2", host="www.a.test")
    site.redirect("/old", f"http://www.a.test:{port}/new", 301, host="a.test")
    site.page("/new", host="www.a.test")
    for path in ("/", "/unlinked"):
        site.page(path, host="b.test")
    seeds = (f"http://a.test:{port}/", f"http://b.test:{port}/")
    words = ("--mode", "graph", "--delay", "0", "-o", "out", *ANY_TEST)
    assert weft("crawl", *seeds, *words, "--max-pages", "2").code == 0
    assert weft("resume", "out", "--max-pages", "none").code == 0
    assert set(depths(tmp_path / "out", f"http://www.a.test:{port}")) == {"/", "/1", "/2", "/new"}
    assert site.asked("/unlinked", "b.test") == 0


# --- the list


def listed(tmp_path: Path, text: str, **how: bool) -> list[tuple[str, SitePace]]:
    path = tmp_path / "hosts.txt"
    path.write_text(text)
    return [(host.url, host.pace) for host in hosts_of_file(path, **how)]


def test_the_form_of_the_list(tmp_path: Path) -> None:
    """R1: comments, blank lines, blanks around fields, capital letters and ports are all read."""
    text = "\ufeff# sites\r\n\r\nhttp://Example.COM;5;3;1000\r\n https://b.test:8443/ ; 1 ; -1 ; 0  # a remark\r\n"
    assert listed(tmp_path, text) == [
        ("http://example.com/", SitePace(site="example.com", per_host=5, max_depth=3, delay_s=1.0)),
        ("https://b.test:8443/", SitePace(site="b.test:8443", per_host=1, max_depth=NO_BOUND, delay_s=0.0)),
    ]
    path = str(tmp_path / "hosts.txt")
    assert [(s.url, s.fallback, s.line) for s in read_seeds([path], no_warning)] == [
        ("http://example.com/", None, 3),
        ("https://b.test:8443/", None, 4),
    ]
    spec = spec_of([path], {"mode": "graph", "site": ["example.com delay=2s"]})
    assert spec.politeness.workers == 64
    assert Paces(spec).delay_s("example.com") == 2.0 and Paces(spec).per_host("example.com") == 1
    assert Paces(spec).max_depth("b.test:8443") is None and Paces(spec).max_depth("other.test") is None


def test_there_is_room_for_all_downloads_that_the_lines_allow(tmp_path: Path) -> None:
    listed(tmp_path, "".join(f"http://h{n}.test;7;3;0\n" for n in range(100)))
    path = str(tmp_path / "hosts.txt")
    assert spec_of([path], {}).politeness.workers == 700
    assert spec_of([path], {"workers": 5}).politeness.workers == 5


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("http://a.test;5;3", "3 fields where four are wanted"),
        ("http://a.test;5;3;100;9", "5 fields where four are wanted"),
        ("http://a.test;;3;100", "maxDownloadsAtTime is ''"),
        ("http://a.test;0;3;100", "maxDownloadsAtTime is 0"),
        ("http://a.test;five;3;100", "maxDownloadsAtTime is 'five'"),
        ("http://a.test;5;-2;100", "maxCrawlLevel is -2"),
        ("http://a.test;5;3.5;100", "maxCrawlLevel is '3.5'"),
        ("http://a.test;5;3;-1", "crawlDelay is -1"),
        ("http://a.test;5;3;1s", "crawlDelay is '1s'"),
        ("http://a.test;5;3;99999999999999999999", "crawlDelay is '9"),
        ("ftp://a.test;5;3;100", "protocol 'ftp' cannot be crawled"),
        ("a.test;5;3;100", "names no protocol"),
        ("http:/a.test;5;3;100", "names no protocol"),
        ("http://;5;3;100", "no host in it"),
        ("http://a b.test;5;3;100", "no host in it"),
        ("http://me:hush@a.test;5;3;100", "--auth"),
        ("http://a.test/docs/;5;3;100", "more than a host"),
        ("http://first.test;6;3;100", "first.test stands on line 1 with other settings"),
    ],
)
def test_a_wrong_line_is_told_with_file_line_and_reason(tmp_path: Path, weft: Weft, line: str, reason: str) -> None:
    with pytest.raises(SpecError) as raised:
        listed(tmp_path, f"http://first.test;5;3;100\n\n{line}\n", wanted=True)
    message = str(raised.value)
    assert message.startswith(f"{tmp_path / 'hosts.txt'}:3: ") and reason in message and "hush" not in message
    assert raised.value.exit_code == 2


def test_a_wrong_list_starts_nothing(tmp_path: Path, weft: Weft) -> None:
    (tmp_path / "hosts.txt").write_text("http://a.test;5;3;100\nhttp://b.test;5;3\n")
    run = weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out")
    assert run.code == 2 and "hosts.txt:2: " in run.stderr and run.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_lists_of_urls_stay_lists_of_urls(tmp_path: Path) -> None:
    assert listed(tmp_path, "http://a.test/x;5;3;100\nhttp://b.test\n") == []
    with pytest.raises(SpecError, match=r"hosts\.txt: there is no site in it"):
        listed(tmp_path, "# none\n\n", wanted=True)


@given(st.text(alphabet="htps:/a.;0123-\n #", max_size=60))
def test_no_list_breaks_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "hosts"
    path.write_text(text)
    try:
        hosts = hosts_of_file(path, wanted=True)
    except SpecError as error:
        assert str(error).startswith(str(path))
        return
    assert hosts and all(host.url.startswith(("http://", "https://")) for host in hosts)


# --- the option


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("a.test per-hosts=4", "nearest: per-host"),
        ("a.test 4", "is not a site and its settings"),
        ("a.test delay=soon", "a.test: delay: 'soon' is not a time"),
        ("a.test/x delay=1s", "is not a host"),
        ("a.test max-depth=-1", "a.test: max-depth:"),
        ({"a.test": 4}, "is not of the form"),
    ],
)
def test_a_wrong_setting_of_a_site(given: object, reason: str) -> None:
    with pytest.raises(SpecError, match=r"^site: ") as raised:
        spec_of(["http://a.test"], {"site": [given] if isinstance(given, str) else given})
    assert reason in str(raised.value)


def test_sites_in_toml(tmp_path: Path, weft: Weft) -> None:
    """A table in TOML, a text on the command line; the later one wins, site by site; none empties the list."""
    path = tmp_path / "a.toml"
    path.write_text(
        'seeds = ["http://a.test/"]\n[site."a.test"]\nper-host = 2\n'
        '[site."b.test:80"]\nmax-depth = "none"\ndelay = 1.5\n'
    )
    spec = read_spec(path)
    assert spec.politeness.sites == (
        SitePace(site="a.test", per_host=2),
        SitePace(site="b.test", max_depth=NO_BOUND, delay_s=1.5),
    )
    again = tmp_path / "again.toml"
    again.write_text(write_toml(spec))
    assert read_spec(again) == spec
    path.write_text('[site."a.test"]\nper_host = 2\n')
    run = weft("crawl", "http://a.test", "-c", path)
    assert run.code == 2 and f"{path}:1: site: a.test: there is no setting 'per_host' (nearest: per-host)" in run.stderr
