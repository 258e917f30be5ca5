"""An export is a stream: its memory does not grow with the number of links (R17, issue 5)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import graph

MIB = 1 << 20


def test_memory_does_not_grow_with_the_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Forty times as many links, the same pages: a few megabytes more, where a list of them would take twenty."""
    peaks: dict[str, list[int]] = {"gexf": [], "parquet": []}
    for links in (5, 200):
        words = ["--pages", "600", "--links", str(600 * links), "--folder", str(tmp_path / str(links)), "--json"]
        assert graph.main([*words, "--forms", ",".join(peaks)]) == 0
        for row in json.loads(capsys.readouterr().out):
            peaks[row["form"]].append(row["peak_b"])
    few, many = peaks["gexf"]
    assert many - few < 8 * MIB, peaks
    few, many = peaks["parquet"]  # it writes 50,000 rows at a time
    assert many - few < 60 * MIB, peaks
