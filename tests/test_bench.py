"""The benchmarks run, and their figures are what they say. Small webs: nothing here asks how fast anything is."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import crawl
from process import cost_of


def test_weft_beside_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    """Both have asked for the same pages, and the ratio is of the same run."""
    assert crawl.main(["--invented", "60", "--runs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    weft, floor = found["rows"]
    assert found["pages"] >= 60
    assert weft["cpu_per_1000"] > 0 and floor["cpu_per_1000"] > 0
    assert found["ratio"] == pytest.approx(weft["cpu_per_1000"] / floor["cpu_per_1000"])


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
        ("main (weft/cli.py:60);run (weft/loop.py:90);_parse (weft/parse/bounds.py:75)", "parse"),
        ("run (weft/loop.py:90);parse_page (weft/parse/html.py:90);resolve (weft/url/resolving.py:67)", "url"),
        ("run (weft/loop.py:90);tick (weft/loop.py:340);sqlite3_step (libsqlite3.so.0)", "sqlite"),
        ("run (weft/loop.py:90);offer (weft/frontier/sql.py:610)", "frontier"),
        ("run (weft/loop.py:90);keep (weft/store/archive.py:30);packed (weft/store/warc.py:254)", "warc"),
        ("run (weft/loop.py:90);_on_ready (weft/fetch/http/fetcher.py:295)", "curl"),
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
