"""--max-memory is kept (promise 5, G8): caches are shed, taking slows down, and nothing dies inside a hard limit."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from command import Weft
from web import Site

from weft.crawl.machine import memory_b
from weft.derive.read import StoredCrawl

LIMIT_B = 110_000_000
PAGES, LINKS = 80, 3_000
ADDRESS_SPACE_B = 1_500_000_000


def test_a_crawl_stays_within_its_memory(site: Site, weft: Weft, tmp_path: Path) -> None:
    """Two hundred thousand URLs found in seconds, in less RAM than their texts in a dictionary would take."""
    for page in range(PAGES):
        elsewhere = [f"http://elsewhere{n % 50}.test/{page}/{n}/{'x' * 200}" for n in range(LINKS)]
        site.page(f"/{page}" if page else "/", [f"/{page + 1}", *elsewhere] if page + 1 < PAGES else elsewhere)
    process = weft.start(
        "crawl", site.at("/"), "-o", "crawl", "--delay", "0", "--processes", "1", "--max-memory", str(LIMIT_B),
        "--sitemaps", "no", "--quiet", limit=(resource.RLIMIT_AS, ADDRESS_SPACE_B),
    )  # fmt: skip
    peak_b = weft.watch(process)
    assert process.returncode == 0
    with StoredCrawl(tmp_path / "crawl") as crawl:
        status_of = crawl.status()
    assert status_of.pages == PAGES
    assert status_of.known == PAGES + PAGES * LINKS
    # the peak of a moment, with what is shared with other processes; without the limit it is 250 MB
    assert 0 < peak_b < LIMIT_B * 1.7, f"{peak_b / 1e6:.0f} MB"


def test_what_is_counted_roughly_is_never_less() -> None:
    """Only far from the bound is memory counted roughly, and then with what is shared once for each process."""
    words = [sys.executable, "-c", "print(flush=True); input()"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline()
        exact_b = memory_b([child.pid], 0)
        assert 0 < exact_b <= memory_b([child.pid], exact_b * 100)
        assert memory_b([child.pid], exact_b // 2) == pytest.approx(exact_b, rel=0.2)
    finally:
        child.communicate(b"\n")
