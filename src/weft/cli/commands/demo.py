"""weft demo: crawl a small made-up web and show it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from weft.cli.machine import print_json
from weft.cli.main import tell
from weft.cli.screen import LiveScreen, is_terminal
from weft.crawl.events import Observer
from weft.crawl.logs import CsvLogs
from weft.demo.run import Facts, run_demo
from weft.records import StopReason
from weft.text.human import command, counted, human_bytes
from weft.text.safe import shown

_WIDTH = 10
_FAILED = 1


def run(args: argparse.Namespace) -> int:
    folder = Path(args.output) if args.output else Path(tempfile.mkdtemp(prefix="weft-demo-"))
    quiet = args.quiet or args.json
    with ExitStack() as stack:
        observers: list[Observer] = [CsvLogs(folder / "logs" / "common.csv", folder / "logs" / "error.csv", sys.stderr)]
        if not quiet:
            _say("a made-up web on this machine is crawled; nothing outside of it is asked")
            if is_terminal():
                observers.append(stack.enter_context(LiveScreen(folder)))
        reason, facts = run_demo(folder, observers, _ignore if quiet else _say)
    if args.json:
        print_json(facts)
    elif not quiet:
        print("\n".join(_styled(line) for line in lines_of(facts)))
    if reason is not StopReason.DONE:
        tell(f"the demo was stopped; what it has is in {folder}")
        return reason.exit_code
    if not facts.complete:
        tell(f"a bug in weft; is the demo complete? {_complete(facts)}")
        return _FAILED
    return 0


def _say(message: str) -> None:
    print(f"weft demo: {message}", file=sys.stderr, flush=True)


def _ignore(_message: str) -> None:
    """For --quiet and --json."""


def lines_of(facts: Facts) -> Iterator[str]:
    """The summary for a person: what was done, a line each, and what to try next."""
    found = f"{counted(facts.pages, 'page')} and {counted(facts.links, 'link')} of {counted(facts.hosts, 'host')}"
    yield _told("crawled", f"{found} in {facts.elapsed_s} s")
    yield _told("survived", _survived(facts))
    yield _told("complete", _complete(facts))
    yield _told("answers", _counted(facts.statuses))
    yield _told("read", f"{facts.languages} languages in {facts.encodings} encodings; {facts.sitemaps} sitemaps, with"
                f" {facts.only_in_sitemaps} pages that no link leads to")  # fmt: skip
    yield _told("same", f"{facts.duplicates:,} pages have the body of another page, and say of which")
    yield _told("obeyed", f"robots.txt: {facts.robots_refused} URLs not asked; nofollow: {facts.nofollow} not followed")
    yield _told("escaped", f"traps: {_counted(facts.traps)}")
    yield _told("errors", f"{_counted(facts.errors) or 'none'} (retried, recorded with their cause)")
    yield _told(
        "archived",
        f"{facts.warc_records:,} WARC records, {human_bytes(facts.warc_b)}, each checked; an index for replay",
    )
    if facts.why_url is not None:
        yield _told("why", f"{facts.why_url} was refused:")
        yield _told("", shown(facts.why or ""))
    yield ""
    yield f"It is all in {facts.folder}. Look at it, or crawl something real:"
    yield from (f"  {command}" for command in _next_commands(facts))


def _survived(facts: Facts) -> str:
    if facts.killed_at is None:
        return "the crawl was done before it could be killed"
    lost = f"{counted(len(facts.missing), 'page')} lost" if facts.missing else "nothing lost"
    again = f"{counted(facts.asked_twice, 'page')} asked again" if facts.asked_twice else "no page asked again"
    return f"killed (SIGKILL) at {counted(facts.killed_at, 'page')}, then resumed: {lost}, {again}"


def _complete(facts: Facts) -> str:
    if facts.problems:
        return f"NO: weft check finds {_counted(facts.problems)}"
    if facts.complete:
        return f"all {facts.expected:,} URLs that this web's answer key names; all others lie in its endless parts"
    return f"NO: of {facts.expected:,} URLs {len(facts.missing)} are missing, {len(facts.unexpected)} are too many"


def _next_commands(facts: Facts) -> Iterator[str]:
    """Commands to be copied."""
    yield command("pages", facts.folder)
    yield command("stats", facts.folder, "--html", "report.html")
    yield command("graph", facts.folder, "--to", "web.gexf")
    if facts.why_url is not None:
        yield command("why", facts.folder, facts.why_url)
    yield f"sqlite3 {shlex.quote(facts.folder)}/crawl.db 'SELECT status, count(*) FROM document GROUP BY status'"
    yield command("crawl", "https://example.org", "--max-pages", 100, "--contact", "you@example.org")


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())


def _told(word: str, text: str) -> str:
    return f"  {word:<{_WIDTH}}{text}"


def _styled(line: str) -> str:
    """The words in front in bold, on a terminal that wants it."""
    if (
        not sys.stdout.isatty()
        or os.environ.get("NO_COLOR")
        or not line.startswith("  ")
        or line[2 + _WIDTH - 1 : 2 + _WIDTH] != " "
    ):
        return line
    return f"\x1b[1m{line[: 2 + _WIDTH]}\x1b[0m{line[2 + _WIDTH :]}"
