"""What a run shows of itself while it works: a live screen on a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
import pytest
from command import Weft
from web import Site

from weft.cli.screen import Lately, PlainLines, end_words, share_words, summary_line, trouble_words
from weft.records import Progress

LINE = "the site is on this machine or in a private network: --delay 0 --per-host 8 is allowed"


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


def test_the_cursor_is_never_hidden(site: Site, weft: Weft) -> None:
    """After a kill nobody would show it again."""
    site.page("/")
    code, shown = weft.on_a_terminal("crawl", site.url, "-o", "out", "--delay", "0")
    assert code == 0 and "\x1b[2K" in shown, "there was a display"
    assert "\x1b[?25l" not in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [((), True), (("--delay", "0"), False), (("--per-host", "2"), False), (("--quiet",), False)],
)
def test_on_ones_own_machine_a_line_says_that_it_may_be_fast(
    site: Site, weft: Weft, words: tuple[str, ...], told: bool
) -> None:
    site.page("/")
    run = weft("crawl", site.url, "-o", "out", "--sitemaps", "no", *words)
    assert run.code == 0 and (LINE in run.stderr) is told


def test_hosts_are_those_that_were_asked(site: Site, weft: Weft) -> None:
    site.page("/", [f"http://other{number}.test/" for number in range(5)])
    assert weft("crawl", site.url, "-o", "out", "--delay", "0").code == 0
    assert "hosts 1 " in weft("status", "out").stdout


def test_the_log_of_a_pipe_has_lines_that_can_be_judged(
    site: Site, weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of a real crawl, as its observers are given them."""
    site.robots("User-agent: *\nDisallow: /no\n")
    site.page("/", ["/gone", "/no", "/a"])
    site.page("/a")
    site.page("/gone", status=404)
    from weft.options import spec_of
    from weft.run.session import Run, plan_crawl

    monkeypatch.chdir(tmp_path)
    spec = spec_of([site.url], {"delay": 0, "sitemaps": "no", "processes": 1})
    seen: list[Progress] = []

    class Watcher:
        def ticked(self, visits: object, progress: Progress) -> None:
            seen.append(progress)

    Run(plan_crawl(spec, "out", fresh=False, warn=pytest.fail)).go([Watcher()], None)
    last = seen[-1]
    assert (last.ended, last.left, last.pages, last.hosts) == (3, 0, 2, 1)
    assert (last.broken, last.forbidden, last.errors) == (1, 1, 0)
    assert trouble_words(last) == "1 broken, 1 refused by robots.txt"
    with pytest.raises(AttributeError):
        last.pages = 7  # type: ignore[misc]


def progress(**changes: object) -> Progress:
    """A run that has done 229 of 751 pages in two minutes."""
    made = Progress(
        pages=217, links=9, received_b=0, waiting=521, running=1, completed=229, errors=0, broken=12, forbidden=152,
        refused=40, hosts=3, requests=1, elapsed_s=130.0, stopping=False, max_pages=None, max_time_s=None, delay_s=0.5,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def lately(ended: int, elapsed_s: float) -> Lately:
    """What was noted when so many pages were done."""
    made = Lately()
    made.note([], progress(completed=ended, elapsed_s=elapsed_s))
    return made


def test_a_line_says_how_much_of_what_is_known_is_done_and_how_long_the_rest_takes() -> None:
    line = summary_line(progress(), lately(178, 100.0))
    assert line == (
        "2 min 10 s: 229/751 pages (30 %), 1.7/s, about 5 min left at --delay 0.5s;"
        " 12 broken, 152 refused by robots.txt; 3 hosts"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"elapsed_s": 100.5}, ""),  # nobody can tell from half a second
        ({"delay_s": 0.0}, "about 5 min left"),
        ({"delay_s": 0.2}, "about 5 min left"),  # something else is slower: a Crawl-delay, the server
        ({"max_pages": 230}, "about 8 s left at --delay 0.5s"),
        ({"max_time_s": 150.0}, "ends in about 20.0 s"),
        ({"max_time_s": 99_999.0}, "about 5 min left at --delay 0.5s"),
        ({"waiting": 50_000}, "about 8 h 10 min left at --delay 0.5s"),
        ({"waiting": 500_000}, "about 3 days left at --delay 0.5s"),
        ({"stopping": True}, ""),
        ({"waiting": 0, "running": 0}, ""),
    ],
)
def test_when_it_will_end(changes: dict[str, object], words: str) -> None:
    assert end_words(progress(**changes), lately(178, 100.0)) == words


def test_a_limit_of_pages_is_what_they_are_counted_against() -> None:
    assert share_words(progress(max_pages=230)) == "229/242 pages (94 %)"
    assert share_words(progress(waiting=0, running=0, completed=0)) == "0/0 pages (0 %)"


def test_a_line_comes_every_few_seconds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    now = [100.0]
    monkeypatch.setattr("weft.cli.screen.time.monotonic", lambda: now[0])
    lines = PlainLines(out)
    for _ in range(20):
        now[0] += 1.0
        lines.ticked([], progress())
    assert out.getvalue().count("\n") == 4
