"""Starting a crawl, or going on with one: what `weft crawl`, `weft resume` and the Python API share."""

from __future__ import annotations

import asyncio
import errno
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.crawl.build import add_seeds, open_crawl
from weft.crawl.events import Observer
from weft.crawl.machine import settle_memory
from weft.crawl.opening import OpenCrawl, RunStart
from weft.db.connection import DatabaseError, explain, open_reader
from weft.db.schema import VERSION
from weft.errors import FolderError, SpecError, StoreError
from weft.extras import need
from weft.fetch.http.bounds import make_room_for_files
from weft.folder import Folder, in_use, not_begun
from weft.options import differences, read_spec, seeds_differ, write_spec
from weft.plugins import check_parts
from weft.ports import Answers
from weft.records import Ending, Progress, StopReason
from weft.run.ending import run_crawl
from weft.run.recrawl import NextPass, next_pass
from weft.run.results import check_repository
from weft.run.signals import ending_signals
from weft.seeds.lists import Seed, default_folder, read_seeds
from weft.spec import CrawlSpec, Limits, PageOrder, Politeness, RenderMode, SitePace
from weft.store.state import is_seeded
from weft.store.warc.recovery import our_files
from weft.text.human import command
from weft.workers.choice import make_fork_server

if TYPE_CHECKING:
    from weft.workers.fork_server import ForkServer

Tell = Callable[[str], None]
"""Says a sentence to the user."""

_SEEDS_COMPARED = 10_000
_FULL = (errno.ENOSPC, errno.EDQUOT)
_UNWRITABLE = (*_FULL, errno.EFBIG, errno.EIO, errno.EROFS)


class Plan:
    """A crawl and the folder it works in, checked and ready to be opened."""

    def __init__(
        self, spec: CrawlSpec, folder: Folder, seeds: Sequence[Seed], *, limits_changed: bool,
        next_pass: NextPass | None = None, answers: Answers | None = None,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.ranks = _ranks_of(spec)
        self.folder = folder
        self.seeds = seeds
        self.limits_changed = limits_changed
        self.answers = answers  # an import: what others have fetched
        self.next_pass = next_pass  # which this run is if it is due; None: the last pass is not over, or the only one


def _ranks_of(spec: CrawlSpec) -> Mapping[str, float] | None:
    """The ranks that the user gives, by URL; ``SpecError`` where they cannot be read. None: links make them."""
    file = spec.politeness.ranks
    if file is None:
        return None
    if spec.politeness.order is not PageOrder.PATH_COST:
        raise SpecError("--ranks is for --order path-cost")
    from weft.derive.simulate.ranks import ranks_from

    return ranks_from(Path(file))


def plan_crawl(spec: CrawlSpec, output: str | None, *, fresh: bool, warn: Tell) -> Plan:
    """A new crawl, or an old one gone on with where the specification agrees; ``SpecError`` says what differs."""
    seeds = read_seeds(spec.seeds, warn) if spec.seeds else []
    folder = Folder(Path(output or default_folder(seeds[0])))
    check_parts(spec.plugins.parts, folder.path)
    _check_extras(spec)
    _check_browser(spec)
    check_repository(spec, folder)
    _check_goal(spec.limits)
    if folder.exists and fresh:
        with folder.lock():
            aside = folder.set_aside()
        warn(f"the earlier crawl is kept in {aside}")
    if folder.exists and folder.spec.is_file():
        old = read_spec(folder.spec)
        differing = _differing(folder, old, spec, seeds)
        if not differing:
            return _go_on(spec, old, folder, seeds, warn)
        if _was_answered(folder):
            raise SpecError(
                f"{folder.path} holds a crawl with another specification: {'; '.join(differing)}."
                f" Go on as it was with `{command('resume', folder.path)}`, or start anew with --fresh or another -o"
            )
        with folder.lock():
            aside = folder.set_aside()
        warn(f"the earlier try in {folder.path} never got an answer: it is set aside as {aside}")
    folder.make()
    _write_spec(folder, spec)  # first of all, so that a crawl killed at its first instant can be resumed
    return Plan(spec, folder, seeds, limits_changed=False)


def plan_resume(spec: CrawlSpec, folder: Folder, warn: Tell) -> Plan:
    """The crawl of a folder with the limits given now."""
    check_parts(spec.plugins.parts, folder.path)
    _check_extras(spec)
    _check_browser(spec)
    check_repository(spec, folder)
    _check_goal(spec.limits)
    _make_ready(folder)
    old = read_spec(folder.spec)
    seeds = [] if _has_begun(folder, warn) else read_seeds(spec.seeds, warn)
    _write_spec(folder, spec)
    following = next_pass(folder, spec)
    if following is not None and not following.is_due(time.time_ns() // 1_000_000):
        following = None  # a resume tries again what failed
    return Plan(spec, folder, seeds, limits_changed=_limits_changed(old, spec), next_pass=following)


def _check_extras(spec: CrawlSpec) -> None:
    """Installs, or misses, the libraries of a crawl before it asks for anything."""
    if spec.files.has_any:
        need("documents")


def _check_browser(spec: CrawlSpec) -> None:
    """Raises ``SpecError`` before anything is asked where pages cannot be rendered as the user wants."""
    if spec.browser.render is not RenderMode.NO:
        from weft.fetch.browser.launch import check_browser

        check_browser(spec)


def _write_spec(folder: Folder, spec: CrawlSpec) -> None:
    with _writing(folder):
        write_spec(folder.spec, spec)


@contextmanager
def _writing(folder: Folder) -> Iterator[None]:
    """What the system says while the folder is written is told with the folder's name, and what can be done."""
    try:
        yield
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        how = command("resume", folder.path) if folder.spec.is_file() else "the same command"
        if error.errno in _FULL:
            raise StoreError(
                f"the disk is full: {folder.path} cannot be written. Make room, then go on with: {how}"
            ) from error
        raise StoreError(
            f"{folder.path} cannot be written ({error.strerror}): mend that, then go on with: {how}"
        ) from error


def _make_ready(folder: Folder) -> None:
    """Before anything is written into a folder that holds a crawl: it is not in use, can be written, and is whole."""
    if folder.is_running():
        raise in_use(folder.path)
    folder.make()


def _differing(folder: Folder, old: CrawlSpec, spec: CrawlSpec, seeds: Sequence[Seed]) -> list[str]:
    """What the crawl of a folder has otherwise, in words; none where it can be gone on with."""
    differing = [str(difference) for difference in differences(old, spec)]
    if seeds_differ(old, spec):
        differing.append("the seeds are others (weft add gives a crawl more URLs)")
    elif (new := _unknown_seed(folder, seeds)) is not None:
        differing.append(f"{new.url} is no seed of it (weft add gives a crawl more URLs)")
    return differing


def _was_answered(folder: Folder) -> bool:
    """Whether the crawl of a folder stored an answer, of any status; also where only its archive can tell."""
    if not folder.db.is_file() or not _is_seeded(folder):
        return bool(our_files(folder.warc))
    from weft.derive.read import StoredCrawl

    with StoredCrawl(folder.path) as crawl:
        return crawl.has_answers()


def _go_on(spec: CrawlSpec, old: CrawlSpec, folder: Folder, seeds: Sequence[Seed], warn: Tell) -> Plan:
    if not spec.seeds:
        spec = msgspec.structs.replace(spec, seeds=old.seeds)
    _make_ready(folder)
    if not _has_begun(folder, warn) and not seeds:
        seeds = read_seeds(spec.seeds, warn)
    _write_spec(folder, spec)
    return Plan(spec, folder, seeds, limits_changed=_limits_changed(old, spec), next_pass=next_pass(folder, spec))


def _unknown_seed(folder: Folder, seeds: Sequence[Seed]) -> Seed | None:
    """A seed that the crawl has never heard of: a line that was added to a list since it began."""
    if not seeds or not folder.db.is_file() or not _is_seeded(folder):
        return None
    from weft.derive.read import StoredCrawl

    with StoredCrawl(folder.path) as crawl:
        return next((seed for seed in seeds[:_SEEDS_COMPARED] if crawl.find(seed.url) is None), None)


def _limits_changed(old: CrawlSpec, new: CrawlSpec) -> bool:
    before, now = ((spec.limits, spec.scope, spec.politeness.sites, spec.files) for spec in (old, new))
    return before != now


def _has_begun(folder: Folder, warn: Tell) -> bool:
    """Whether the crawl of a folder has its seeds already; where it had, and its database is lost, that is told."""
    if folder.db.is_file() and _is_seeded(folder):
        return True
    if our_files(folder.warc):
        warn(
            f"{folder.db} is gone or empty, so the crawl begins anew;"
            f" its WARC files of before stay in {folder.warc} with kept- before their names"
        )
    return False


def _is_seeded(folder: Folder) -> bool:
    reader = open_reader(folder.db, VERSION)
    try:
        return is_seeded(reader)
    except DatabaseError as error:
        raise FolderError(explain(error, folder.db)) from error
    finally:
        reader.close()


class Run:
    """One run of a plan. ``go`` runs it; ``has_begun`` tells, also after a fault, whether the crawl was opened."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.was_told_to_stop = False
        self._crawl: OpenCrawl | None = None

    @property
    def has_begun(self) -> bool:
        return self._crawl is not None

    @property
    def progress(self) -> Progress:
        """How far the run came."""
        assert self._crawl is not None
        return self._crawl.progress

    @property
    def ending(self) -> Ending:
        """The facts for the last line of a run that is over."""
        assert self._crawl is not None and self._crawl.ending is not None
        return self._crawl.ending

    def go(self, observers: Sequence[Observer], tell: Tell | None) -> StopReason:
        """Runs the crawl on an event loop of its own, with signals: once stops cleanly, twice at once.

        ``tell`` says a sentence to the user; None where nothing is to be said.
        """
        plan = self.plan
        make_room_for_files(raise_limit=True)
        settle_memory()
        fork_server = make_fork_server(plan.spec)  # before there is a lock, a socket or a thread that it could inherit
        try:
            with _signals_kept(), _writing(plan.folder):
                return asyncio.run(self._main(observers, tell, fork_server))
        except DatabaseError as error:  # read between the ticks, where no transaction explains it
            raise StoreError(explain(error, plan.folder.db)) from error
        finally:
            if fork_server is not None:
                fork_server.close()

    def _end_with_goals(self) -> None:
        if self._crawl is not None:
            self._crawl.stop(StopReason.GOALS)

    async def _main(
        self, observers: Sequence[Observer], tell: Tell | None, fork_server: ForkServer | None
    ) -> StopReason:
        plan = self.plan
        goal = plan.spec.limits.goal
        if goal is not None:
            from weft.run.goals import GoalWatch

            observers = [*observers, GoalWatch(goal, plan.spec.limits, plan.folder, self._end_with_goals)]
        async with open_crawl(
            plan.spec,
            plan.folder,
            RunStart(plan.seeds, plan.limits_changed, new_pass=plan.next_pass is not None),
            observers,
            answers=plan.answers,
            fork_server=fork_server,
            ranks=plan.ranks,
        ) as crawl:
            self._crawl = crawl
            self._stop_by_signals(crawl)
            if tell is not None and crawl.is_private and _has_usual_pace(plan.spec):
                tell(
                    "the site is on this machine or in a private network: --delay 0 --per-host 8 is allowed, and faster"
                )
            return await run_crawl(crawl)

    def _stop_by_signals(self, crawl: OpenCrawl) -> None:
        """Has the signals that end programs stop the crawl, by its event loop.

        The loop's own way to do so looks into every callback with a module that takes a twentieth of the start to load.
        """
        loop = asyncio.get_running_loop()

        def stop(_number: int, _frame: object) -> None:
            self.was_told_to_stop = True  # also where the crawl has just come to its end
            if not loop.is_closed():
                loop.call_soon_threadsafe(crawl.stop)

        if threading.current_thread() is threading.main_thread():
            for number in ending_signals():
                signal.signal(number, stop)
                if hasattr(signal, "siginterrupt"):
                    signal.siginterrupt(number, False)  # what the system was asked for meanwhile goes on


def _check_goal(limits: Limits) -> None:
    """Raises ``SpecError`` where the goal cannot be understood, before anything is written."""
    if limits.goal is not None:
        from weft.derive.goals import Goals

        Goals(limits.goal)
    elif limits.goals is not None:
        raise SpecError("--goals N needs --goal EXPRESSION")


def _has_usual_pace(spec: CrawlSpec) -> bool:
    """Whether sites are asked as gently as weft does where the user says nothing."""
    polite, usual = spec.politeness, Politeness()
    return (polite.delay_s, polite.per_host, polite.sites) == (usual.delay_s, usual.per_host, usual.sites)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Gives the signals back what they did before: an event loop that ends leaves the system's ways behind."""
    before = [(number, signal.getsignal(number)) for number in ending_signals()]
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before:
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def add_to_stopped(folder: Folder, seeds: Sequence[Seed], paces: Mapping[str, SitePace]) -> int:
    """Gives a crawl that does not run more start addresses, at once and for good; how many were new to its queue.

    ``paces``, by site, are settings of single sites (R1): they are kept in crawl.toml as those of `--site` are.
    """
    try:
        return _add_to_stopped(folder, seeds, paces)
    except DatabaseError as error:
        raise FolderError(explain(error, folder.db)) from error


def _add_to_stopped(folder: Folder, seeds: Sequence[Seed], paces: Mapping[str, SitePace]) -> int:
    if not folder.spec.is_file() or not folder.db.is_file() or not _is_seeded(folder):
        raise not_begun(folder.path)
    if folder.is_running():
        raise in_use(folder.path)
    spec = read_spec(folder.spec)
    check_parts(spec.plugins.parts, folder.path)
    if paces:
        spec = _with_paces(spec, paces)
        _write_spec(folder, spec)
    # Nothing is asked here: files that only requests need may be gone.
    network = msgspec.structs.replace(spec.network, cookies=None, ca=None, cert=None)
    return add_seeds(
        msgspec.structs.replace(spec, network=network), folder, [(seed.url, seed.fallback) for seed in seeds]
    )


def _with_paces(spec: CrawlSpec, paces: Mapping[str, SitePace]) -> CrawlSpec:
    sites = {pace.site: pace for pace in spec.politeness.sites} | dict(paces)
    politeness = msgspec.structs.replace(spec.politeness, sites=tuple(sites.values()))
    return msgspec.structs.replace(spec, politeness=politeness)
