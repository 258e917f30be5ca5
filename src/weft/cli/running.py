"""What `weft crawl` and `weft resume` show while they run, say at their end, and leave behind."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from weft import __version__, native
from weft.cli.main import tell, warn
from weft.cli.progress import ShownProgress
from weft.cli.screen import CsvLogs, LiveScreen, Notes, PlainLines, RunLog, closing_words, is_terminal
from weft.crawl.loop import Crawl, Observer
from weft.errors import WeftError
from weft.ports import silent
from weft.records import StopReason
from weft.run.results import result_folder, write_results
from weft.run.session import Plan, run_plan
from weft.spec import Politeness, ShownLogs
from weft.text.human import counted

_log = logging.getLogger("weft.cli.commands")


def run_shown(plan: Plan, *, quiet: bool, log: ShownLogs) -> int:
    """The exit code of a run, with its display, its logs, its closing words and its results.

    The results are written however the run ends (R6); a fault of the crawl's own is told after that.
    """
    running: list[Crawl] = []
    with RunLog(plan.folder.logs / "weft.log", warn):
        without = "" if native.is_compiled else ", without its compiled parts"
        for line in (f"weft {__version__} begins{without}", *_unusual(plan)):
            _log.info("%s", line)
        try:
            reason = _displayed(plan, running, quiet=quiet, log=log)
        except WeftError as error:
            _log.info("ended by a fault: %s", error)
            if running:
                with suppress(WeftError):
                    _leave_results(plan, quiet=quiet)
            raise
        ending = running[0].ending
        assert ending is not None  # the run is over
        words = closing_words(plan.folder.path, running[0].progress, reason, ending)
        _log.info("%s", words)
    if not quiet or reason.exit_code == 1:
        tell(words)
    _leave_results(plan, quiet=quiet)
    if not quiet and reason.exit_code == 0 and running[0].progress.broken:
        _tell_broken_links(plan, running[0])
    return reason.exit_code


def _displayed(plan: Plan, running: list[Crawl], *, quiet: bool, log: ShownLogs) -> StopReason:
    """Why the run ended; what runs is put into ``running`` as soon as it does."""
    keep, logs = plan.spec.keep, plan.folder.logs
    common, errors = Path(keep.common_log or logs / "common.csv"), Path(keep.error_log or logs / "error.csv")
    notes = Notes(logs / "weft.log", None if quiet else tell)
    observers: list[Observer] = [CsvLogs(common, errors, sys.stderr, log), notes]
    with ExitStack() as stack:
        if not quiet:
            for words in _unusual(plan):
                tell(words)
            if is_terminal() and log is ShownLogs.FILES:
                observers.append(stack.enter_context(LiveScreen(plan.folder.path)))
            elif log is ShownLogs.FILES:
                observers.append(PlainLines(sys.stderr))
        return run_plan(plan, observers, partial(_began, plan, running, quiet=quiet))


def _began(plan: Plan, running: list[Crawl], crawl: Crawl, *, quiet: bool) -> None:
    running.append(crawl)
    polite, usual = plan.spec.politeness, Politeness()
    is_usual = (polite.delay_s, polite.per_host, polite.sites) == (usual.delay_s, usual.per_host, usual.sites)
    if crawl.is_private and is_usual and not quiet:
        tell("the site is on this machine or in a private network: --delay 0 --per-host 8 is allowed, and faster")


def _leave_results(plan: Plan, *, quiet: bool) -> None:
    """Writes what the run leaves for its user, and tells where."""
    with ShownProgress("the graphs of the sites:") as progress:
        results = write_results(plan.spec, plan.folder, silent if quiet else progress)
    if quiet:
        return
    for one in results if plan.spec.keep.graph_summary else ():
        numbers = (counted(one.pages, "page"), counted(one.links, "link"), f"{one.external:,} to other sites")
        tell(f"{one.site}: {', '.join(numbers)}")
    target = result_folder(plan.spec, plan.folder)
    if target is not None:
        tell(f"the graph of {counted(len(results), 'site')} is in {target}")


def _tell_broken_links(plan: Plan, crawl: Crawl) -> None:
    from weft.derive.broken import broken_words  # only for crawls that met such pages

    words = broken_words(plan.folder.path, crawl.progress.links, crawl.progress.elapsed_s)
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
