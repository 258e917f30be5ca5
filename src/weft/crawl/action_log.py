"""What a crawl does, in words, in a file or on the screen (`--log-file`, `--log-level`; T1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from weft.errors import StoreError
from weft.records import Progress, Purpose, StoredVisit
from weft.spec import ON_SCREEN, Keep
from weft.text.dates import iso_of_ms
from weft.text.human import counted
from weft.text.safe import shown

QUIET, VERBOSE, DEBUG = 0, 1, 2
_DID = {
    Purpose.PAGE: "fetched",
    Purpose.ROBOTS: "fetched robots.txt",
    Purpose.SITEMAP: "fetched sitemap",
    Purpose.RESOURCE: "loaded",
    Purpose.FILE: "fetched file",
    Purpose.CHECK: "checked",
}


class ActionLog:
    """An observer: level 0 tells what must be known, 1 a line for every request, 2 what was sent back, too."""

    def __init__(self, keep: Keep, screen: TextIO) -> None:
        self._path = None if keep.log_file in (None, ON_SCREEN) else Path(str(keep.log_file))
        self._level = keep.log_level
        self._screen = screen

    def note(self, epoch_ms: int, *words: str) -> None:
        """Lines of any level: that a run begins, what its user should know, how it ended."""
        self._write(f"{iso_of_ms(epoch_ms)} {shown(line)}\n" for line in words)

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        lines = [f"    {shown(note)}\n" for note in progress.notes]
        if self._level >= VERBOSE:
            lines += [line for one in visits for line in self._lines_of(one)]
        if lines:
            self._write(lines)

    def _lines_of(self, one: StoredVisit) -> Iterator[str]:
        visit, lease, facts = one.visit, one.lease, one.visit.facts
        did = _DID[lease.purpose]
        if facts.cause is not None:
            again = ", will be tried again" if one.state == "W" else ""
            what = f"{did}: no answer: {facts.cause} ({facts.detail or 'no more is known'}){again}"
        else:
            size = f"{facts.size or 0:,} bytes, {counted(visit.out_links, 'link')}"
            what = f"{did}: {facts.status} {facts.type or 'no type'}, {size}, in {facts.response_ms} ms"
        yield f"{iso_of_ms(facts.started_ms)} {shown(f'{what}: {lease.url}')}\n"
        if self._level >= DEBUG:
            yield f"    depth {lease.depth}, attempt {lease.attempt}, from {facts.ip}, HTTP {facts.http_version}\n"
            for line in (facts.headers or "").splitlines():
                if line:
                    yield f"    {shown(line)}\n"

    def _write(self, lines: Iterator[str] | list[str]) -> None:
        if self._path is None:
            self._screen.writelines(lines)
            return
        try:
            with self._path.open("a", encoding="utf-8", errors="replace") as file:
                file.writelines(lines)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror or error}") from error
