"""The benchmarks run, and their figures are what they say. Small webs: nothing here asks how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import compare
import crawl
import latency
import nginx
import process
import processes
import pytest
import startup
import stats
from process import cost_of


def test_weft_beside_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    """Both have asked for the same pages, and the ratio is of the same run."""
    assert crawl.main(["--invented", "60", "--runs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    weft, floor = found["rows"]
    assert found["pages"] >= 60
    assert weft["cpu_per_1000"] > 0 and floor["cpu_per_1000"] > 0
    assert found["ratio"] == pytest.approx(weft["cpu_per_1000"] / floor["cpu_per_1000"])


def test_sites_that_answer_late(capsys: pytest.CaptureFixture[str]) -> None:
    """All pages of all sites are found, with and without a delay, and the share is of what the run itself shows."""
    sizes = ["--hosts", "20", "--pages", "4", "--workers", "20", "--delays", "0.05", "--runs", "1"]
    assert latency.main([*sizes, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["rows"]
    assert found["pages"] == 80 and row["possible"] == min(found["free"], 20 / 0.05)
    assert row["share"] == pytest.approx(row["rate"] / row["possible"]) and row["rate"] > 0


@pytest.mark.skipif(nginx.program() is None, reason="nginx is not installed")
def test_beside_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What had to be found is known without any crawler, and what was asked is read from the server's log."""
    folder = tmp_path / "web"
    (folder / "private").mkdir(parents=True)
    (folder / "sub").mkdir()
    links = '<a href="a.html#part">a</a> <a href="sub">sub</a> <a href="private/x.html">x</a> <img src="i.png">'
    (folder / "index.html").write_text(f'{links} <!-- <a href="c.html">c</a> --> <a href="http://127.0.0.1:9/">o</a>')
    (folder / "a.html").write_text('<a href="/lost.html">lost</a> <a href="mailto:a@b">m</a> <a href="t.txt">t</a>')
    for name in ("sub/index.html", "private/x.html", "c.html", "t.txt", "i.png"):
        (folder / name).write_text(name)
    assert compare.main(["--folder", str(folder), "--only", "weft", "--runs", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["found"], row["wanted"], row["forbidden"]) == (3, 3, 0)
    assert row["version"].startswith("weft ") and row["cpu_per_1000"] > 0
    assert "| weft | 3 of 3 | obeyed |" in compare.table([row])


def test_statistics_of_a_made_crawl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report is written, and a browser opens it without asking for anything else."""
    assert stats.main(["--pages", "300", "--links", "4", "--sites", "3", "--folder", str(tmp_path), "--json"]) == 0
    rows = {row["way"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["text"]["size_b"] > 0 and rows["html"]["size_b"] == (tmp_path / "report.html").stat().st_size
    if "chromium" in rows:
        assert rows["chromium"]["asked"] == 0 and rows["chromium"]["elements"] > 100


def test_start_up_is_measured_in_times_of_the_first(tmp_path: Path) -> None:
    said: list[str] = []
    chosen = {"nothing": ["true"], "a moment": ["sleep", "1"]}
    rows = startup.measured(chosen, 2, tmp_path / "crawl", said.append)
    assert [row["name"] for row in rows] == list(chosen) and len(said) == 2
    assert rows[0]["ratio"] == 1.0 and rows[1]["ratio"] > 1.0


def test_the_steps_of_a_page_are_in_their_order() -> None:
    listed = subprocess.run(
        [sys.executable, str(Path(process.__file__).with_name("steps.py")), "--list"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    *calls, numbers = listed.stdout.splitlines()
    across = sum(call.startswith("* ") for call in calls)
    assert numbers.startswith(f"{len(calls)} changes of module, ") and numbers.endswith(f", {across} across packages")
    steps = ("RobotsGate.check", "Fetcher.start", "parse_page", "WarcArchive.keep", "Settling.settle", "SqlStore.write")
    places = [next(at for at, call in enumerate(calls) if call.endswith(step)) for step in steps]
    assert places == sorted(places)


def test_every_peer_has_its_script() -> None:
    known = compare.crawlers(["weft"])
    assert {one.script for one in known if one.script} == {path.name for path in compare.PEERS.glob("*.py")}
    for one in known:
        assert one.stores and (one.words is not None) != bool(one.script)
        assert one.command(Path("place"), "folder", ["http://127.0.0.1:1/"])


def test_cost_counts_all_processes(tmp_path: Path) -> None:
    """CPU time of a grandchild counts, and so does its memory."""
    burn = "import time\nblock = bytearray(80_000_000)\nwhile time.process_time() < 0.3: pass"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}], check=True)"
    cost = cost_of([sys.executable, "-c", outer], tmp_path / "log")
    assert cost.exit_code == 0
    assert cost.cpu_s >= 0.3
    assert cost.peak_b >= 80_000_000


@pytest.mark.parametrize(
    ("stack", "stage"),
    [
        ("main (weft/cli/main.py:60);run (weft/crawl/loop.py:90);_parse (weft/parse/bounds.py:75)", "parse"),
        ("run (weft/crawl/loop.py:90);parse_page (weft/parse/html.py:90);resolve (weft/url/resolving.py:67)", "url"),
        ("run (weft/crawl/loop.py:90);tick (weft/crawl/loop.py:340);sqlite3_step (libsqlite3.so.0)", "sqlite"),
        ("run (weft/crawl/loop.py:90);offer (weft/frontier/sql.py:610)", "frontier"),
        (
            "run (weft/crawl/loop.py:90);keep (weft/store/warc/archive.py:30);packed (weft/store/warc/writer.py:254)",
            "warc",
        ),
        ("run (weft/crawl/loop.py:90);with_true_length (weft/store/warc/heads.py:70)", "warc"),
        ("run (weft/crawl/loop.py:90);_on_ready (weft/fetch/http/fetcher.py:295)", "curl"),
        ("somewhere (else.py:1)", "other"),
    ],
)
def test_stage_of_a_sample(stack: str, stage: str) -> None:
    assert crawl.stage_of(stack) == stage


def test_profile_groups_by_stage() -> None:
    said: list[str] = []
    stacks = Counter({"f (weft/parse/html.py:1)": 3, "f (weft/parse/html.py:9)": 1, "g (weft/url/parts.py:2)": 4})
    assert crawl.report_profile(stacks, said.append) == {"parse": 0.5, "url": 0.5}
    assert any("50.0 %  f (weft/parse/html.py)" in line for line in said)


@pytest.mark.skipif(nginx.program() is None, reason="nginx is not installed")
def test_processes_take_turns(capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 4, section 2: both numbers of processes find all pages; the ratio is that of their rates."""
    package = "debian-faq"
    if not Path(nginx.DOCUMENTATION[package].folder).is_dir():
        pytest.skip(f"{package} is not installed")
    assert processes.main(["--only", "one", "--one", package, "--runs", "1", "--json"]) == 0
    (web,) = json.loads(capsys.readouterr().out)["webs"]
    one, two, apart = web["runs"]
    assert [(run["processes"], run["crawls"]) for run in (one, two, apart)] == [(1, 1), (2, 1), (1, 2)]
    assert one["pages"] == two["pages"] == apart["pages"] / 2 == nginx.DOCUMENTATION[package].pages
    assert web["ratio"] == pytest.approx(two["rate"] / one["rate"])
    assert web["limit"] == pytest.approx(apart["rate"] / one["rate"])
