"""How a folder is opened for a run, recovered from the last one, and left at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple

import msgspec

from weft.clock import Clock
from weft.crawl.housekeeping import Housekeeping
from weft.crawl.loop import Loop
from weft.crawl.marks import make_marks, marked_page
from weft.db.connection import Database, DatabaseError, open_writer
from weft.db.schema import MIGRATIONS
from weft.errors import StoreError, means_full_disk
from weft.folder import Folder
from weft.frontier.endings import failed_seeds, last_answer_ms, site_limits
from weft.frontier.sql import SqlFrontier
from weft.ports import Workers
from weft.records import Ending, Progress, StopReason
from weft.seeds.lists import Seed
from weft.spec import CrawlSpec
from weft.store.documents import keep_document, keep_links, unread_documents
from weft.store.state import StoredState
from weft.store.visits import SqlStore
from weft.store.warc.cdxj import stored_rows, write_cdxj
from weft.store.warc.losses import note_losses
from weft.store.warc.recovery import keep_aside, recover
from weft.text.version import __version__
from weft.url import Normalizer

DEATHS_ON_A_PAGE = 3
DATABASE_CACHE_B = 64_000_000


class Opened(NamedTuple):
    """A folder that this process holds alone."""

    folder: Folder
    database: Database
    state: StoredState
    fatal: str | None  # the page that was read when the last run died, if it died there


class RunStart(NamedTuple):
    """What one run starts with."""

    seeds: Sequence[Seed]  # for a new crawl
    limits_changed: bool = False  # since the last run
    new_pass: bool = False  # every page that was asked is asked again


class Program(NamedTuple):
    """The parts that turn while a run lasts."""

    loop: Loop
    workers: Workers  # who ask, read and archive for it
    housekeeping: Housekeeping  # what comes from outside


@contextmanager
def open_folder(folder: Folder, spec: CrawlSpec) -> Iterator[Opened]:
    """The folder with its lock, its database and its marks; all of it is given back at the end."""
    with folder.lock():
        if folder.stop.is_file():
            folder.stop.unlink(missing_ok=True)
        fatal = marked_page(folder.parsing)
        cache_b = min(DATABASE_CACHE_B, spec.limits.max_memory_b // 8)
        database = open_writer(folder.db, MIGRATIONS, cache_b=cache_b)
        try:
            state = StoredState(database.connection)
            with database.transaction():
                state.make_hash_seed()
            yield Opened(folder, database, state, fatal)
        finally:
            database.close()


@contextmanager
def marking(opened: Opened) -> Iterator[None]:
    """The file of marks while a run may read pages. A full disk that ends the run is noted."""
    folder, database, state, _ = opened
    make_marks(folder.parsing)
    try:
        yield
    except BaseException as error:
        if means_full_disk(error):
            _note_full_disk(folder, database, state)
        raise
    finally:
        folder.parsing.unlink(missing_ok=True)


def _note_full_disk(folder: Folder, database: Database, state: StoredState) -> None:
    """Stores that a full disk ended the run. Nothing else is stored of its end: the next run recovers as after a kill.

    Room for it is where the marks lie, and the answers that are not committed: these will be asked again.
    """
    with suppress(StoreError, OSError, DatabaseError):  # where there is no room even for that, it counts as killed
        folder.parsing.unlink(missing_ok=True)
        recover(folder.warc, state.committed())
        with database.transaction():
            state.note_stop_reason(StopReason.DISK_FULL.value)


def begin_run(
    opened: Opened, frontier: SqlFrontier, store: SqlStore, normalizer: Normalizer, clock: Clock, start: RunStart
) -> int:
    """Recovers from however the last run ended, and admits the seeds of a new crawl; the number of the run."""
    database, state = opened.database, opened.state
    was_seeded, last = state.is_seeded, state.last_run()
    _recover_archive(opened, frontier, store, is_new=not was_seeded)
    with database.transaction():
        state.forget_failed_robots()
        _leave_fatal_page_alone(state, opened.fatal, frontier)
        if start.new_pass:
            state.begin_pass(clock.epoch_ms(), store.totals["pages"])
            frontier.ask_all_again()
        elif last is not None and last[1] in (StopReason.DONE, StopReason.FAILED):
            frontier.retry_failed()
        if state.last_pass[0] > 1:
            frontier.ask_conditionally()
        if was_seeded:
            frontier.load(killed=last is not None and last[0] is None, limits_changed=start.limits_changed)
        for seed in () if was_seeded else start.seeds:
            source = f"{seed.source}:{seed.line}" if seed.source else "command line"
            frontier.discovery.seed(seed.url, source, seed.fallback)
        state.note_seeded()
        state.keep_ip_hosts(normalizer.ip_hosts)
        run = state.begin_run(clock.epoch_ms(), __version__)
        frontier.flush()
    frontier.committed()
    return run


def spec_of_pass(spec: CrawlSpec, state: StoredState, *, new_pass: bool) -> CrawlSpec:
    """The specification as it holds in a further pass: pages are counted from its start.

    The limits of single sites held in the first pass, and so did the budget for bodies that were seen: every body that
    has not changed is one.
    """
    if state.last_pass[0] == 1 and not new_pass:
        return spec
    limits = msgspec.structs.replace(spec.limits, max_pages_per_site=None, max_time_per_site_s=None)
    if limits.max_pages is not None:
        before = state.pages_stored if new_pass else state.pages_before_pass
        limits = msgspec.structs.replace(limits, max_pages=limits.max_pages + before)
    traps = msgspec.structs.replace(spec.traps, duplicates_only=0)
    return msgspec.structs.replace(spec, limits=limits, traps=traps)


def _leave_fatal_page_alone(state: StoredState, fatal: str | None, frontier: SqlFrontier) -> None:
    """A page that takes the process down again and again is recorded and not asked any more.

    A kill from outside may meet any page while it is parsed, so it takes several deaths in a row on the same one.
    """
    deaths = state.deaths_on(fatal)
    if fatal is None:
        return
    if deaths < DEATHS_ON_A_PAGE:
        state.suspect(fatal, deaths)
    else:
        state.leave_alone(fatal)
        frontier.recount_states()


def _recover_archive(opened: Opened, frontier: SqlFrontier, store: SqlStore, *, is_new: bool) -> None:
    """Cuts WARC files back to what is committed. Where bytes are gone (a power cut), their pages are asked again.

    In a new database none is committed, and no crawl writes one before its database is: files that are there belong to
    a database that is lost, and are kept.
    """
    folder, database, state, _ = opened
    if is_new:
        keep_aside(folder.warc)
    damaged = recover(folder.warc, state.committed())
    for file in damaged:
        path = folder.warc / file
        with database.transaction() as connection:
            note_losses(connection, store.totals, file, path.stat().st_size if path.is_file() else 0)
            frontier.recount_states()
    if damaged:  # what is left of them may end in half a record
        recover(folder.warc, state.committed())


class OpenCrawl:
    """A crawl ready to run: its loop, and what its end writes. ``is_private``: all seeds lie in private networks."""

    def __init__(
        self, spec: CrawlSpec, opened: Opened, clock: Clock, program: Program, frontier: SqlFrontier, *,
        is_private: bool,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.folder = opened.folder
        self.is_private = is_private
        self.ending: Ending | None = None  # once it is over
        self._database = opened.database
        self._state = opened.state
        self._clock = clock
        self._loop, self._workers, self._housekeeping = program
        self._frontier = frontier

    def stop(self, reason: StopReason = StopReason.STOPPED) -> None:
        """Takes no more; what is under way may finish within the grace time. A second call ends at once."""
        self._loop.stop(reason)

    def wake(self) -> None:
        """Something outside changed: a reader has caught up."""
        self._loop.wake()

    def hold_back(self, while_true: Callable[[], bool]) -> None:
        """No page is taken while this function says so."""
        self._loop.held_back = while_true

    def watch_stop(self, *_progress: object) -> None:
        """Raises InterruptedError where a stop was asked for since the crawl ended: what is left can be done later."""
        if self._loop.ends_now:
            raise InterruptedError

    @property
    def progress(self) -> Progress:
        """How far the run is at this moment."""
        return self._loop.progress

    @contextmanager
    def transaction(self) -> Iterator[StoredState]:
        """The state of the run, to be written all or not at all."""
        with self._database.transaction():
            yield self._state

    async def run(self) -> StopReason:
        """Runs to the end and writes what belongs to the end: the index of the archive, why and when it stopped.

        The run ends when its index is there: where that fails, or is cut off, the next run makes it.
        """
        reason = await self._loop.run()
        ending = self.ending = self._ending(is_done=reason is StopReason.DONE)
        if reason is StopReason.DONE and ending.seeds is not None and ending.seeds.none_gave_a_page:
            reason = StopReason.FAILED
        positions = await self._workers.close()
        ended_ms = self._clock.epoch_ms()
        with self._database.transaction():
            self._state.close_files(positions)
        if self.spec.keep.archive and self.spec.files.documents:
            await self._read_documents()
        with self._database.transaction():
            self._frontier.close()
        if self.spec.keep.archive:
            write_cdxj(stored_rows(self._database.connection), self.folder.cdxj)
        with self._database.transaction():
            self._state.end_run(ended_ms, reason.value)
        return reason

    async def _read_documents(self) -> None:
        """Reads the documents that came, until there are no more, or a stop is asked for: the next run goes on."""
        from weft.crawl.document_reading import DocumentProcess, links_of_document  # only where documents are stored
        from weft.extract.documents import is_readable

        connection = self._database.connection
        with closing(DocumentProcess()) as process:
            for document in unread_documents(connection, is_readable):
                if self._loop.ends_now:
                    return
                said = await asyncio.to_thread(process.read_stored, self.folder.warc, document)
                with self._database.transaction():
                    keep_document(
                        connection, document.visit, said.title, said.author, said.pages, said.text, said.problem
                    )
                    if said.links is not None:
                        links = links_of_document(said.links, document.url)
                        packed, external = self._frontier.mention(links, document.url)
                        keep_links(connection, document.visit, packed, len(links), external)
                        self._loop.found_links(len(links))
                    self._frontier.flush()
                self._frontier.committed()

    def _ending(self, *, is_done: bool) -> Ending:
        """The facts that the last line of this run needs; one that is not done is not kept waiting for large tables."""
        connection, limits = self._database.connection, self.spec.limits
        has_limits = limits.max_pages_per_site is not None or limits.max_time_per_site_s is not None
        return Ending(
            visits=self._loop.visits, wait_s=self._frontier.wait_s() or 0.0, stopped_by=self._housekeeping.stopped_by,
            seeds=failed_seeds(connection) if is_done else None,
            limits=site_limits(connection) if is_done and has_limits else (),
            last_answer_ms=last_answer_ms(connection),
        )  # fmt: skip
