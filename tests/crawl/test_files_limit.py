"""Few open files: a lower limit lowers the requests in flight, and only far too low a one ends in a sentence."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from web import Response, Site, html_page

SOURCE = Path(__file__).resolve().parents[2] / "src"
HOSTS = 100


def crawl(site: Site, folder: Path, limits: tuple[int, int]) -> subprocess.CompletedProcess[str]:
    """A crawl of a hundred hosts, all at once, under limits for open files."""
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(site.at("/", host=f"h{number}.test") + "\n" for number in range(HOSTS)))
    words = ["crawl", str(seeds), "--resolve", "*.test=127.0.0.1", "--workers", "1000", "--delay", "0", "--quiet"]
    return subprocess.run(
        [sys.executable, "-P", "-m", "weft", *words, "--sitemaps", "no", "-o", str(folder / "out")],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def serve(site: Site, delay_s: float) -> None:
    site.serve(lambda request: Response(html_page(request.host), delay_s=delay_s))


def let_go_at(site: Site, requests: int) -> None:
    """Answers only when so many requests are open; or else after a while, so that the crawl ends."""
    until = time.monotonic() + 25
    while site.open_max < requests and time.monotonic() < until:
        time.sleep(0.01)
    site.let()


def test_far_too_few_files_are_told_in_one_sentence(site: Site, tmp_path: Path) -> None:
    done = crawl(site, tmp_path, (12, 12))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "only 12 files may be open" in done.stderr and "ulimit -n" in done.stderr
    assert not site.requests


@pytest.mark.parametrize("limit", [24, 32, 64])
def test_few_files_only_lower_the_requests_in_flight(site: Site, tmp_path: Path, limit: int) -> None:
    serve(site, 0.01)
    done = crawl(site, tmp_path, (limit, limit))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(request.host for request in site.requests if request.path == "/") == sorted(
        f"h{number}.test" for number in range(HOSTS)
    )


def test_the_limit_is_raised_as_far_as_the_system_lets_us(site: Site, tmp_path: Path) -> None:
    """A thousand requests in flight need more files than many systems give a process at first."""
    site.let(0)
    opened = threading.Thread(target=let_go_at, args=(site, 65))
    opened.start()
    serve(site, 0.0)
    done = crawl(site, tmp_path, (64, min(1_024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    assert (done.returncode, done.stderr) == (0, "")
    opened.join()
    assert site.open_max > 64
