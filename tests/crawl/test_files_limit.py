"""Few open files: a lower limit lowers the requests in flight, and only far too low a one ends in a sentence."""

from __future__ import annotations

import resource
import threading
import time

import pytest
from command import Weft
from web import Response, Site, html_page

HOSTS = 100


def crawl(site: Site, weft: Weft, limit: int, limit_max: int | None = None) -> tuple[int | None, str]:
    """The exit code and the messages of a crawl of a hundred hosts, all at once, under limits for open files."""
    seeds = weft.folder / "seeds.txt"
    seeds.write_text("".join(site.at("/", host=f"h{number}.test") + "\n" for number in range(HOSTS)))
    process = weft.start(
        "crawl", seeds, "--resolve", "*.test=127.0.0.1", "--workers", "1000", "--delay", "0", "--quiet",
        "--sitemaps", "no", "-o", "out", limit=(resource.RLIMIT_NOFILE, limit), limit_max=limit_max,
    )  # fmt: skip
    _, stderr = process.communicate(timeout=300)
    return process.returncode, stderr.decode()


def serve(site: Site, delay_s: float) -> None:
    site.serve(lambda request: Response(html_page(request.host), delay_s=delay_s))


def let_go_at(site: Site, requests: int) -> None:
    """Answers only when so many requests are open; or else after a while, so that the crawl ends."""
    until = time.monotonic() + 25
    while site.open_max < requests and time.monotonic() < until:
        time.sleep(0.01)
    site.let()


def test_far_too_few_files_are_told_in_one_sentence(site: Site, weft: Weft) -> None:
    code, said = crawl(site, weft, 12)
    assert code == 1 and said.count("\n") == 1
    assert "only 12 files may be open" in said and "ulimit -n" in said
    assert not site.requests


@pytest.mark.parametrize("limit", [24, 32, 64])
def test_few_files_only_lower_the_requests_in_flight(site: Site, weft: Weft, limit: int) -> None:
    serve(site, 0.01)
    assert crawl(site, weft, limit) == (0, "")
    assert sorted(request.host for request in site.requests if request.path == "/") == sorted(
        f"h{number}.test" for number in range(HOSTS)
    )


def test_the_limit_is_raised_as_far_as_the_system_lets_us(site: Site, weft: Weft) -> None:
    """A thousand requests in flight need more files than many systems give a process at first."""
    site.let(0)
    opened = threading.Thread(target=let_go_at, args=(site, 65))
    opened.start()
    serve(site, 0.0)
    limit_max = min(1_024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    assert crawl(site, weft, 64, limit_max) == (0, "")
    opened.join()
    assert site.open_max > 64
