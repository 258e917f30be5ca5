"""What `weft crawl` and `weft resume` show while they run, and say at their end."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from weft.loop import Crawl, Observer
from weft.observe import CsvLogs, LiveScreen, PlainLines, closing_words, is_terminal
from weft.session import Plan, run_plan


def run_shown(plan: Plan, *, quiet: bool, log: str) -> int:
    """The exit code of a run, with its display, its logs and its closing words."""
    screen_log = log == "screen"
    observers: list[Observer] = [CsvLogs(plan.folder.logs, sys.stderr if screen_log else None)]
    running: list[Crawl] = []
    with ExitStack() as stack:
        if not quiet:
            _say_what_is_unusual(plan)
            if is_terminal() and not screen_log:
                from rich.console import Console

                observers.append(stack.enter_context(LiveScreen(Console(stderr=True))))
            elif not screen_log:
                observers.append(PlainLines(sys.stderr))
        reason = run_plan(plan, observers, running.append)
    crawl = running[0]
    if not quiet or reason.exit_code == 1:
        print(f"weft: {closing_words(crawl, reason, crawl.parts.frontier.wait_s())}", file=sys.stderr)
    return reason.exit_code


def _say_what_is_unusual(plan: Plan) -> None:
    if plan.spec.politeness.ignore_robots:
        print("weft: robots.txt is ignored (--ignore-robots): make sure that you may", file=sys.stderr)
    if plan.spec.network.proxy:
        print("weft: behind a proxy the check for private addresses is the proxy's", file=sys.stderr)
