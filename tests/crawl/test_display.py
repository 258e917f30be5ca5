"""What a run shows of itself while it works: a live screen on a terminal."""

from __future__ import annotations

import re

from command import Weft
from web import Site


def test_a_terminal_has_the_numbers_the_limit_and_the_newest_pages(site: Site, weft: Weft) -> None:
    site.page("/", ["/a", "/missing"])
    site.page("/a")
    code, shown = weft.on_a_terminal(
        "crawl", site.url, "-o", "out", "--delay", "0.2s", "--max-time", "2h", "--sitemaps", "no"
    )
    assert code == 0, shown
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    for words in (
        "a second",
        "waiting",
        "refused",
        "received",
        "ends in about 1 h 59 min",
        f"404 {site.at('/missing')}",
    ):
        assert words in text, (words, text)
    assert "2 pages and 2 links in out" in text
    assert "stopping" not in text, "it ended by itself"


def test_a_terminal_tells_what_a_run_waits_for_when_its_time_is_over(site: Site, weft: Weft) -> None:
    site.misbehave("/", "hang_before_answer")
    code, shown = weft.on_a_terminal(
        "crawl", site.url, "-o", "out", "--max-time", "0.5s", "--grace", "1s", "--sitemaps", "no"
    )
    assert code == 0, shown
    assert "stopping: waiting for the pages under way" in shown
    assert "ends in about 0.0 s" not in shown
