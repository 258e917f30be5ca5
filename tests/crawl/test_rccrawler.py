"""RCCrawler's own files, as its description prints them, run as they are (R1-R18); judged by the server's log, by the
files that the run leaves, and by networkx."""

from __future__ import annotations

import csv
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import networkx
import pytest
from command import Weft
from rccrawler_files import SETTINGS
from until import wait_until
from web import Site

"""The example of the description, blanks at the ends of lines and the wrapped text included."""

ANY_TEST = ("--resolve", "*.test=127.0.0.1")


def set_up(folder: Path, hosts: Iterable[str], settings: str = SETTINGS) -> Path:
    """A folder with both files, as a user of RCCrawler has it."""
    folder.mkdir(exist_ok=True)
    (folder / "settings.ini").write_text(settings)
    (folder / "hosts.txt").write_text("".join(f"{line}\n" for line in hosts))
    return folder


def graph(folder: Path, host: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Paths of the nodes, and edges between them, as networkx reads them from the host's file."""
    read = networkx.read_gexf(folder / f"{host}.gexf")
    path = {node: "/" + facts["label"].split("/", 3)[3] for node, facts in read.nodes(data=True)}
    return set(path.values()), {(path[source], path[target]) for source, target in read.edges()}


def small_site(site: Site, host: str) -> None:
    """Everything that R8 to R14 speak of, on one site."""
    site.page(
        "/",
        ["/a", "/a/", "/list?y=1&x=2", "/same/1", "/same/2", "/moved", "/paper.pdf", "/script.js", "/plain", "/untyped",
         "/gone", "http://elsewhere.test/", f"http://sub.{host}:{site.port}/", f"https://{host}:{site.port}/secure"],
        host=host,
        body='<area href="/by-area"><iframe src="/by-frame"></iframe><button onclick="location.href=\'/by-script\'">',
    )  # fmt: skip
    site.page("/a", ["/list?x=2&y=1", "/"], host=host)
    site.page("/list?y=1&x=2", ["/deep//1", "/deep/1"], host=host)
    for number in (1, 2):
        site.page(f"/same/{number}", ["/a"], title="the same", host=host)
    site.redirect("/moved", "/moved/there", 301, host=host)
    site.redirect("/moved/there", "/final", 303, host=host)
    site.page("/final", ["/a"], host=host)
    site.page("/deep//1", ["/deeper"], host=host)
    site.page("/deeper", ["/deepest"], host=host)
    site.page("/plain", ["/by-plain"], content_type="text/plain", host=host)
    site.page("/untyped", ["/by-untyped"], content_type=None, host=host)
    site.page("/gone", ["/by-gone"], status=404, host=host)


NODES = {"/", "/a", "/list?y=1&x=2", "/same/1", "/final", "/deep//1", "/deeper"}
EDGES = {
    ("/", "/a"),
    ("/", "/list?y=1&x=2"),
    ("/", "/same/1"),
    ("/", "/final"),
    ("/a", "/list?y=1&x=2"),
    ("/a", "/"),
    ("/list?y=1&x=2", "/deep//1"),
    ("/same/1", "/a"),
    ("/final", "/a"),
    ("/deep//1", "/deeper"),
}
NEVER_ASKED = (
    "/paper.pdf",
    "/script.js",
    "/by-area",
    "/by-frame",
    "/by-script",
    "/by-plain",
    "/by-untyped",
    "/by-gone",
)


def judge_small_site(site: Site, host: str) -> None:
    assert not [path for path in NEVER_ASKED if site.asked(path, host)]
    assert [site.asked(path, host) for path in ("/a", "/a/", "/list?y=1&x=2", "/list?x=2&y=1")] == [1, 0, 1, 0]
    assert site.asked("/deepest", host) == 0 and not site.paths("elsewhere.test") and not site.paths(f"sub.{host}")


# --- the example


def test_the_example_runs_as_it_stands(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R18, and R1-R3, R8-R14, R16 with it: the printed files, three sites at once, results and logs where they say."""
    for host in ("one.test", "two.test"):
        small_site(site, host)
    site.page("/", ["/no", "/yes"], host="three.test")
    site.page("/yes", host="three.test")
    site.robots("User-agent: *\nDisallow: /no\n", host="three.test")
    place = set_up(tmp_path / "rc", [f"http://{n}.test:{site.port};4;3;10" for n in ("one", "two", "three")])
    run = weft("crawl", "-c", "settings.ini", *ANY_TEST, cwd=place)
    assert run.code == 0, run.stderr
    assert sorted(path.name for path in (place / "result").iterdir()) == [
        "one.test.gexf",
        "three.test.gexf",
        "two.test.gexf",
    ]
    for host in ("one.test", "two.test"):
        nodes, edges = graph(place / "result", host)
        assert nodes == NODES | {"/same/2"} and edges == EDGES, (nodes ^ NODES, edges ^ EDGES)
        judge_small_site(site, host)
    assert graph(place / "result", "three.test") == ({"/", "/yes"}, {("/", "/yes")}) and not site.asked(
        "/no", "three.test"
    )
    judge_logs(site, place, run.stderr)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def judge_logs(site: Site, place: Path, screen: str) -> None:
    """R16: a common log and an error log, both CSV, both on screen, where the settings say."""
    common = rows_of(place / "logs" / "common_log.csv")
    asked = sorted(f"http://{r.host}:{site.port}{r.path}" for r in site.requests)
    assert sorted(row["url"] for row in common) == asked
    assert (place / "logs" / "error_log.csv").read_text().startswith("time,purpose,url,error,")
    assert all(row["url"] in screen for row in common)
    assert f"one.test:{site.port}: 8 pages, 10 links" in screen, "TestRU tells of each site"


def test_errors_are_in_their_log_and_on_screen(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R16: DisplayErrorLog alone shows failures alone."""
    site.page("/", ["/lost"], host="one.test")
    site.misbehave("/lost", "reset_before_answer", host="one.test")
    settings = SETTINGS.replace("DisplayCommonLog = 1", "DisplayCommonLog = 0")
    place = set_up(tmp_path / "rc", [f"http://one.test:{site.port};1;3;0"], settings)
    run = weft("crawl", "-c", place / "settings.ini", "-o", "out", "--retries", "0", *ANY_TEST)
    assert run.code == 0, run.stderr
    rows = rows_of(place / "logs" / "error_log.csv")
    assert [(row["url"], row["error"]) for row in rows] == [(site.at("/lost", "one.test"), "CONNECTION_LOST")]
    shown = [line for line in run.stderr.splitlines() if f":{site.port}/" in line]
    assert len(shown) == 1 and shown[0].startswith("error: ") and "/lost" in shown[0]


def test_mode_graph_gives_the_same_without_the_settings(site: Site, weft: Weft, tmp_path: Path) -> None:
    """`weft crawl hosts.txt --mode graph`: the graphs are in the crawl's own folder, duplicates merged away (R13)."""
    small_site(site, "one.test")
    (tmp_path / "hosts.txt").write_text(f"http://one.test:{site.port};4;3;10\n")
    run = weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out", *ANY_TEST)
    assert run.code == 0, run.stderr
    assert graph(tmp_path / "out" / "result", "one.test") == (NODES, EDGES)
    judge_small_site(site, "one.test")
    counted = networkx.read_gexf(tmp_path / "out" / "result" / "one.test.gexf")
    facts = {data["url"]: data for _, data in counted.nodes(data=True)}
    start = facts[site.at("/", "one.test")]
    assert start["external_out_degree"] == 2, "R12: a subdomain is another site"
    assert facts[site.at("/same/1", "one.test")]["duplicates"] == 1
    assert weft("check", "out").code == 0


def test_a_site_without_a_page_has_its_file_too(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R3, R6: a file for each host of the list; where nothing was to be had, an empty graph."""
    small_site(site, "one.test")
    site.page("/", status=404, host="gone.test")
    lines = (f"http://one.test:{site.port};4;3;10", f"http://gone.test:{site.port};1;3;10", "http://down.test:1;1;3;10")
    (tmp_path / "hosts.txt").write_text("\n".join(lines))
    run = weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out", "--retries", "0", "--graph-summary", *ANY_TEST)
    assert run.code == 0, run.stderr
    assert graph(tmp_path / "out" / "result", "one.test") == (NODES, EDGES)
    for host in ("gone.test", "down.test"):
        assert graph(tmp_path / "out" / "result", host) == (set(), set())
        assert f"{host}:" in run.stdout + run.stderr
    again = weft("graph", "out", "--per-site", tmp_path / "out" / "result")
    assert again.code == 2 and "--force" in again.stderr


def test_every_rule_of_the_list_makes_one_page(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R14: each spelling of the description, found first or later, is the page itself; a resume knows it, too."""
    host = f"one.test:{site.port}"
    spellings = [
        f"HTTP://One.TEST:{site.port}/folder", "/folder/", "/x/../folder", "/folder#fragment", "//" + host + "//folder",
        f"http://127.0.0.1:{site.port}/folder", "/folder?", "/folder/?b=&",
        "/q?a=3&b=1", "/q?b=1&a=3", "/q?b=1&c&a=3", "/q/?a=3&b=1",
        "/%3a%2B", "/%3A%2b",
    ]  # fmt: skip
    site.page("/", [f"http://127.0.0.1:{site.port}/first", *spellings], host="one.test")
    for path in ("/folder", "/q?a=3&b=1", "/%3a%2B", "/first"):
        site.page(path, ["/", f"http://127.0.0.1:{site.port}/late"], host="one.test")
    site.page("/late", host="one.test")
    (tmp_path / "hosts.txt").write_text(f"http://{host};1;3;0\n")
    assert weft("crawl", "hosts.txt", "--mode", "graph", "-o", "out", "--max-pages", "2", *ANY_TEST).code == 0
    assert weft("resume", "out", "--max-pages", "none").code == 0
    paths = [path for path in site.paths() if path != "/robots.txt"]
    assert sorted(paths) == ["/", "/%3a%2B", "/first", "/folder", "/late", "/q?a=3&b=1"]
    nodes, edges = graph(tmp_path / "out" / "result", "one.test")
    assert nodes == set(paths) and ("/", "/first") in edges and ("/folder", "/late") in edges
    why = weft("why", "out", f"http://127.0.0.1:{site.port}/late").stdout
    assert "ip-to-host" in why and f"http://{host}/late" in why


def test_hosts_may_be_named_as_a_seed(site: Site, weft: Weft, tmp_path: Path) -> None:
    site.page("/", host="other.test")
    place = set_up(tmp_path / "rc", ["http://one.test;4;3;10"])
    (tmp_path / "others.txt").write_text(f"http://other.test:{site.port};1;0;0\n")
    run = weft("crawl", "others.txt", "-c", place / "settings.ini", "-o", "out", *ANY_TEST)
    assert run.code == 0, run.stderr
    assert [path.name for path in (place / "result").iterdir()] == ["other.test.gexf"]


def test_duplicates_are_saved_only_if_wanted(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R13: SaveDuplicates = 0 leaves one node; with 1 the other stays, without edges."""
    small_site(site, "one.test")
    place = set_up(
        tmp_path / "rc", [f"http://one.test:{site.port};4;3;0"], SETTINGS.replace("Duplicates = 1", "Duplicates = 0")
    )
    assert weft("crawl", "-c", place / "settings.ini", "-o", "out", *ANY_TEST).code == 0
    assert graph(place / "result", "one.test") == (NODES, EDGES)


# --- however it ends


def long_site(site: Site, host: str, pages: int = 400) -> None:
    for number in range(pages):
        site.page("/" if number == 0 else f"/{number}", [f"/{number + 1}"], host=host)


@pytest.fixture
def running(site: Site, weft: Weft, tmp_path: Path) -> tuple[Path, list[str]]:
    """A folder with both files for a site that takes long."""
    long_site(site, "one.test")
    return set_up(tmp_path / "rc", [f"http://one.test:{site.port};1;-1;30"]), ["crawl", "-c", "settings.ini", *ANY_TEST]


def judge_partial(site: Site, place: Path) -> int:
    """The graph holds exactly the chain that was fetched; how long it is."""
    nodes, edges = graph(place / "result", "one.test")
    stored = len(nodes)
    assert nodes == {"/", *(f"/{n}" for n in range(1, stored))} and len(edges) == stored - 1
    assert stored <= len(site.paths("one.test"))
    return stored


def test_the_stop_file_stops_it_and_it_goes_on_later(site: Site, weft: Weft, running: tuple[Path, list[str]]) -> None:
    """R5, R6: the file's appearance stops the run with its results written. It is left alone, and does not stop the
    resume; touched again it does."""
    place, words = running
    stop = place / "stop.txt"
    process = weft.start(*words, cwd=place)
    wait_until(lambda: len(site.requests) > 5, "a first request")
    stop.touch()
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 3 and b"stop.txt is there" in stderr, stderr
    first = judge_partial(site, place)
    process = weft.start("resume", f"one.test_{site.port}", cwd=place)
    wait_until(lambda: len(site.requests) > first + 10, "progress of the resume")
    os.utime(stop)
    assert process.wait(120) == 3
    assert first < judge_partial(site, place) < 400 and stop.exists()


def test_a_stop_file_that_is_there_stops_it_at_once(weft: Weft, running: tuple[Path, list[str]]) -> None:
    place, words = running
    (place / "stop.txt").touch()
    assert weft(*words, cwd=place).code == 3


def test_signals_and_time_leave_results(site: Site, weft: Weft, running: tuple[Path, list[str]]) -> None:
    """R6: SIGTERM, and TimeoutSeconds as a run's time."""
    place, words = running
    process = weft.start(*words, cwd=place)
    wait_until(lambda: len(site.requests) > 5, "a first request")
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 3
    first = judge_partial(site, place)
    settings = place / "settings.ini"
    settings.write_text(SETTINGS.replace("240000", "4"))
    run = weft(*words, cwd=place)
    assert run.code == 0 and "--max-time is reached" in run.stderr, run.stderr
    assert first < judge_partial(site, place) < 400


def test_after_a_kill_the_resume_writes_them(site: Site, weft: Weft, running: tuple[Path, list[str]]) -> None:
    """R6, promise 1: SIGKILL leaves no results; the resume has those of an undisturbed crawl."""
    place, words = running
    process = weft.start(*words, cwd=place)
    wait_until(lambda: len(site.requests) > 40, "progress")
    weft.kill(process)
    process.wait(60)
    assert not (place / "result").exists()
    assert weft("resume", f"one.test_{site.port}", "--site", f"one.test:{site.port} delay=0", cwd=place).code == 0
    assert judge_partial(site, place) == 400


def test_results_that_cannot_be_written_are_told(site: Site, weft: Weft, tmp_path: Path) -> None:
    site.page("/", host="one.test")
    place = set_up(tmp_path / "rc", [f"http://one.test:{site.port};1;3;0"])
    (place / "result").write_text("in the way")
    run = weft("crawl", "-c", "settings.ini", *ANY_TEST, cwd=place)
    assert run.code == 1 and "the graphs cannot be written" in run.stderr and "result is a file" in run.stderr
    assert weft("check", f"one.test_{site.port}", cwd=place).code == 0, "the crawl itself is stored"


# --- the settings


def test_wrong_files_start_nothing(weft: Weft, tmp_path: Path) -> None:
    place = set_up(tmp_path / "rc", ["http://one.test"])
    run = weft("crawl", "-c", "settings.ini", cwd=place)
    assert run.code == 2 and f"{place}/hosts.txt:1: " in run.stderr and "four are wanted" in run.stderr
    (place / "hosts.txt").unlink()
    run = weft("crawl", "-c", place / "settings.ini")
    assert run.code == 2 and "there is no hosts.txt beside" in run.stderr
    (place / "settings.ini").write_bytes(b"\xff\xfe\x00")
    run = weft("crawl", "-c", place / "settings.ini")
    assert run.code == 2 and "settings.ini:1: not UTF-8 text" in run.stderr
    run = weft("crawl", "-c", "missing.ini")
    assert run.code == 2 and "cannot read missing.ini" in run.stderr
    assert sorted(path.name for path in place.iterdir()) == ["settings.ini"]
