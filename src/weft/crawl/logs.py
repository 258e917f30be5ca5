"""What a run writes beside its store: the common log, the error log, the log of runs; plugins told of every visit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from weft import native
from weft.errors import StoreError
from weft.records import Progress, Purpose, StoredVisit
from weft.spec import ShownLogs
from weft.text.dates import iso_of_ms
from weft.text.safe import cell, shown


class CommonRow(NamedTuple):
    """A line of the common log: one visit."""

    time: str
    purpose: str  # page, robots, sitemap
    url: str
    state: str  # C, E, or W: it will be tried again
    status: int | None
    error: str | None
    type: str | None
    size: int | None
    response_ms: int | None
    depth: int
    attempt: int
    links: int


COMMON_FIELDS = CommonRow._fields
ERROR_FIELDS = ("time", "purpose", "url", "error", "detail", "attempt", "tried_again")
_PURPOSES = tuple(purpose.name.lower() for purpose in Purpose)  # they count from 0
_OURS, _log = logging.getLogger("weft"), logging.getLogger("weft.crawl")
ROTATE_B = 50_000_000
NOTES_SHOWN = 10


class CsvLogs:
    """The common log, a line for every visit, and the error log, a line for every failure (R16); both rotated.

    ``show`` says which of them are printed to ``screen``, too.
    """

    def __init__(self, common: Path, errors: Path, screen: TextIO, show: ShownLogs = ShownLogs.FILES) -> None:
        self._common = _Csv(common, COMMON_FIELDS)
        self._errors = _Csv(errors, ERROR_FIELDS)
        self._screen = screen
        self._shows_common = show in (ShownLogs.SCREEN, ShownLogs.COMMON)
        self._shows_errors = show in (ShownLogs.SCREEN, ShownLogs.ERROR)

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        common = [_common_cells(one) for one in visits]
        errors = [
            (*cells[:3], one.visit.facts.cause, one.visit.facts.detail, one.lease.attempt, one.state == "W")
            for one, cells in zip(visits, common, strict=True)
            if one.visit.facts.cause is not None
        ]
        self._common.write(common)
        self._errors.write(errors)
        if self._shows_common:
            self._print("", common)
        if self._shows_errors:
            self._print("error: ", errors)

    def _print(self, before: str, rows: Sequence[tuple[object, ...]]) -> None:
        for row in rows:
            line = " ".join("-" if value is None else str(value) for value in row)
            print(before + shown(line), file=self._screen)


def _common_cells(one: StoredVisit) -> tuple[object, ...]:
    """The fields of a ``CommonRow``; for a line of the log they need no names."""
    visit, lease, facts = one.visit, one.lease, one.visit.facts
    return (
        iso_of_ms(facts.started_ms) or "", _PURPOSES[lease.purpose], lease.url, one.state, facts.status, facts.cause,
        facts.type, facts.size, facts.response_ms, lease.depth, lease.attempt, visit.out_links,
    )  # fmt: skip


class Routine:
    """A routine of the user's own (R4): told of every visit as the common log has it."""

    def __init__(self, call: Callable[[list[CommonRow]], None]) -> None:
        self._call = call

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        if visits:
            self._call([CommonRow._make(_common_cells(one)) for one in visits])


class _Csv:
    """One CSV file, appended a batch at a time, put aside as NAME.1, NAME.2 ... when it has grown."""

    def __init__(self, path: Path, fields: tuple[str, ...]) -> None:
        self._path = path
        self._fields = fields
        self._is_there = False

    def write(self, rows: list[tuple[object, ...]]) -> None:
        """Appends the rows; the first call makes the file, also without any."""
        if not rows and self._is_there:
            return
        try:
            self._append(rows)
            self._is_there = True
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}") from error

    def _append(self, rows: list[tuple[object, ...]]) -> None:
        size_b = self._path.stat().st_size if self._path.exists() else 0
        if size_b > ROTATE_B:
            self._put_aside()
            size_b = 0
        lines = csv_lines(rows if size_b else [self._fields, *rows])
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(lines)

    def _put_aside(self) -> None:
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.{number}")).exists():
            number += 1
        self._path.rename(aside)


def csv_lines(rows: list[tuple[object, ...]]) -> str:
    """Rows as CSV, each cell made safe for who opens it."""
    lines = native.csv_lines(rows)
    if lines is not None:
        return lines
    import csv  # rarely needed
    import io

    text = io.StringIO()
    cells = [[value if type(value) is int else cell(value) for value in row] for row in rows]
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()


class RunLog(logging.Handler):
    """Writes into ``logs/weft.log`` whatever the packages of weft log while a run lasts. Use as a context manager.

    A file that cannot be written does not end the run, whose outcome is more important. It is told by ``warn``, once.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._path = path
        self._warn = warn
        self._is_broken = False

    def emit(self, record: logging.LogRecord) -> None:
        words = record.getMessage()
        if record.levelno >= logging.WARNING:
            words = f"{record.levelname.lower()}: {words}"
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{iso_of_ms(int(record.created * 1_000))} {shown(words)}\n")
        except OSError as error:
            if not self._is_broken:
                self._warn(f"{self._path} cannot be written: {error.strerror}")
            self._is_broken = True

    def __enter__(self) -> None:
        self._level_before = _OURS.level
        _OURS.addHandler(self)
        _OURS.setLevel(logging.INFO)

    def __exit__(self, *_: object) -> None:
        _OURS.setLevel(self._level_before)
        _OURS.removeHandler(self)
        self.close()


class Notes:
    """Tells what a run meets and its user should know: in the log of runs, and, of a run's first ones, on the screen.

    A crawl of a million sites may have as many. ``say`` is None where the screen shows nothing; ``path`` is where the
    log of runs lies.
    """

    def __init__(self, path: Path, say: Callable[[str], None] | None) -> None:
        self._path = path
        self._say = say
        self._left = NOTES_SHOWN

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        if not progress.notes:
            return
        for note in progress.notes:
            _log.info("%s", note)
        if self._say is None:
            return
        for note in progress.notes[: self._left]:
            self._left -= 1
            self._say(note if self._left else f"{note}; what follows of this kind is in {self._path}")
