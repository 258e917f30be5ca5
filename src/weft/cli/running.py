"""What `weft crawl` and `weft resume` show while they run, say at their end, and leave behind."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from weft import native, spec
from weft.cli.main import tell, warn
from weft.cli.progress import ShownProgress
from weft.cli.screen import LiveScreen, PlainLines, closing_words, is_terminal
from weft.crawl.action_log import ActionLog
from weft.crawl.events import Observer
from weft.crawl.logs import CsvLogs, Notes, RunLog
from weft.errors import WeftError
from weft.ports import silent
from weft.records import Progress, StopReason
from weft.run.recrawl import next_pass
from weft.run.results import result_folder, write_results
from weft.run.session import Plan, Run, plan_resume
from weft.spec import ShownLogs
from weft.text.human import counted
from weft.text.version import __version__

_log = logging.getLogger("weft.cli.commands")
LONGEST_SLEEP_S = 10.0


def run_passes(plan: Plan, how: spec.Run) -> int:
    """The exit code of a crawl, pass by pass (T9): one that is not due is told; with ``--watch`` it is waited for."""
    code = 0
    while True:
        following = plan.next_pass
        if following is None or following.is_due(time.time_ns() // 1_000_000):
            code = run_shown(plan, how)
            following = next_pass(plan.folder, plan.spec)
        if following is None or (code and how.watch):
            return code
        if not how.quiet:
            tell(following.words())
        if not how.watch:
            return code
        _wait_until(following.due_ms)
        plan = plan_resume(plan.spec, plan.folder, warn)


def _wait_until(due_ms: int) -> None:
    """Sleeps until a moment of the wall clock, however that is set meanwhile."""
    while (left_s := due_ms / 1000 - time.time()) > 0:
        time.sleep(min(left_s, LONGEST_SLEEP_S))


def run_shown(plan: Plan, how: spec.Run) -> int:
    """The exit code of a run, with its display, its logs, its closing words and its results.

    The results are written however the run ends (R6); a fault of the crawl's own is told after that.
    """
    run, quiet = Run(plan), how.quiet
    with RunLog(plan.folder.logs / "weft.log", warn):
        without = "" if native.is_compiled else ", without its compiled parts"
        for line in (f"weft {__version__} begins{without}", *_unusual(plan)):
            _log.info("%s", line)
        _note_action(plan, f"weft {__version__} begins")
        try:
            reason = _displayed(run, how)
        except WeftError as error:
            _log.info("ended by a fault: %s", error)
            if run.has_begun:
                with suppress(WeftError):
                    _leave_results(plan, quiet=quiet)
            raise
        words = closing_words(plan.folder.path, run.progress, reason, run.ending)
        _log.info("%s", words)
    _note_action(plan, words)
    if not quiet or reason.exit_code == 1:
        tell(words)
    _leave_results(plan, quiet=quiet)
    if not quiet and reason.exit_code == 0 and run.progress.broken:
        _tell_broken_links(plan, run.progress)
    if how.watch and run.was_told_to_stop:  # a signal that came when the pass had just ended ends the watch
        return StopReason.STOPPED.exit_code
    return reason.exit_code


def _note_action(plan: Plan, words: str) -> None:
    """A line of ``--log-file``, whatever its level."""
    if plan.spec.keep.log_file is not None:
        ActionLog(plan.spec.keep, sys.stderr).note(time.time_ns() // 1_000_000, words)


def _displayed(run: Run, how: spec.Run) -> StopReason:
    """Runs a plan with its display and its logs; why the run ended."""
    plan, quiet, log = run.plan, how.quiet, how.log
    keep, logs = plan.spec.keep, plan.folder.logs
    common, errors = Path(keep.common_log or logs / "common.csv"), Path(keep.error_log or logs / "error.csv")
    notes = Notes(logs / "weft.log", None if quiet else tell)
    observers: list[Observer] = [CsvLogs(common, errors, sys.stderr, log), notes]
    if keep.log_file is not None:
        observers.append(ActionLog(keep, sys.stderr))
    with ExitStack() as stack:
        if how.metrics is not None or how.json_progress:
            from weft.crawl.metrics import JsonLines, Metrics  # a web server: few crawls serve numbers

            if how.metrics is not None:
                served = stack.enter_context(Metrics(how.metrics))
                observers.append(served)
                tell(f"numbers for Prometheus: {served.url}")
            if how.json_progress:
                observers.append(stack.enter_context(JsonLines(sys.stderr)))
        if not quiet:
            for words in _unusual(plan):
                tell(words)
            if log is ShownLogs.FILES and not how.json_progress:
                is_live = is_terminal()
                screen = stack.enter_context(LiveScreen(plan.folder.path)) if is_live else PlainLines(sys.stderr)
                observers.append(screen)
        return run.go(observers, None if quiet else tell)


def _leave_results(plan: Plan, *, quiet: bool) -> None:
    """Writes what the run leaves for its user, and tells where."""
    with ShownProgress("the graphs of the sites:") as progress:
        results = write_results(plan.spec, plan.folder, silent if quiet else progress)
    if quiet:
        return
    for one in results if plan.spec.keep.graph_summary else ():
        numbers = (counted(one.pages, "page"), counted(one.links, "link"), f"{one.external:,} to other sites")
        tell(f"{one.site}: {', '.join(numbers)}")
    if plan.spec.keep.repository is not None:
        tell(f"the copies of pages are in {plan.spec.keep.repository}, their index is index.txt in it")
    target = result_folder(plan.spec, plan.folder)
    if target is not None:
        tell(f"the graph of {counted(len(results), 'site')} is in {target}")


def _tell_broken_links(plan: Plan, progress: Progress) -> None:
    from weft.derive.broken import broken_words  # only for crawls that met such pages

    words = broken_words(plan.folder.path, progress.links, progress.elapsed_s)
    if words is not None:
        tell(words)


def _unusual(plan: Plan) -> list[str]:
    """What whoever runs this crawl should know of it."""
    words = []
    if plan.spec.politeness.ignore_robots:
        words.append("robots.txt is ignored (--ignore-robots): make sure that you may")
    if plan.spec.network.proxy:
        words.append("behind a proxy the check for private addresses is the proxy's")
    return words
