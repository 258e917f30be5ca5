"""Progress for machines: JSON lines and Prometheus, with the numbers that weft status gives, by documented names."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

from command import ROOT, Weft, call
from until import wait_until
from web import Site


def documented(column: int) -> set[str]:
    table = [
        line.split("|") for line in (ROOT / "docs" / "metrics.md").read_text().splitlines() if line.startswith("| `")
    ]
    return {name for row in table for name in re.findall(r"`(\w+)", row[column])}


def test_json_lines(site: Site, tmp_path: Path) -> None:
    site.page("/", ["/a", "/reset", "/missing"])
    site.page("/a")
    site.misbehave("/reset", "reset_mid_body")
    options = ("--delay", "0", "--retries", "0", "--sitemaps", "no", "--json-progress", "--quiet")
    ended = call("crawl", site.at("/"), "-o", tmp_path / "c", *options)
    lines = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    status = json.loads(call("status", tmp_path / "c", "--json").stdout)
    last = lines[-1]
    assert {name: last[name] for name in ("pages", "links", "completed", "errors", "waiting")} == {
        name: status[name] for name in ("pages", "links", "completed", "errors", "waiting")
    }
    assert sum(last["causes"].values()) == 1
    assert last["memory_b"] > 1_000_000
    assert set(last) == documented(1)


def test_prometheus_reads_numbers_while_it_runs(site: Site, tmp_path: Path) -> None:
    site.page("/", ["/a", "/b"])
    site.page("/a")
    site.page("/b")
    site.let(3)
    with Weft(tmp_path) as weft:
        options = ("--delay", "0", "--sitemaps", "no", "--metrics", "0", "--quiet")
        running = weft.start("crawl", site.at("/"), "-o", "c", *options)
        assert running.stderr is not None
        first = running.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/metrics", first.decode() if isinstance(first, bytes) else first)
        assert found is not None, first
        numbers: dict[str, float] = {}

        def has_two_pages() -> bool:
            with urllib.request.urlopen(found[0], timeout=60) as answer:
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                text = answer.read().decode()
            pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
            numbers.update((name, float(value)) for name, value in pairs)
            return numbers.get("weft_pages_total") == 2

        wait_until(has_two_pages, "two stored pages")
        site.let()
        running.communicate(timeout=120)
    assert running.returncode == 0
    assert set(numbers) <= documented(2)
    assert {"weft_memory_bytes", "weft_waiting", "weft_received_bytes_total"} <= set(numbers)


def test_a_port_that_is_none_is_told(site: Site, tmp_path: Path) -> None:
    for port in ("nonsense", "99999"):
        ended = call("crawl", site.at("/"), "-o", tmp_path / "c", "--metrics", port)
        assert (ended.code, "--metrics" in ended.stderr) == (2, True)
