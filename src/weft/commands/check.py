"""weft check: is everything in a crawl's folder consistent?"""

from __future__ import annotations

import argparse
import sys
import time
from types import TracebackType

import msgspec

from weft.derive.check import Report, check_folder
from weft.derive.read import StoredCrawl
from weft.observe import human_bytes
from weft.safe import shown

_PLAIN_EVERY_S = 5.0


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl, _Shown() as progress:
        report = check_folder(crawl, progress)
    if args.json:
        print(msgspec.json.encode(report).decode())
    else:
        _tell(report)
    return 0 if report.consistent else 1


def _tell(report: Report) -> None:
    for problem in report.problems:
        print(shown(f"{problem.kind}: {problem.about}"))
    for kind, number in report.counts.items():
        told = sum(problem.kind == kind for problem in report.problems)
        if told < number:
            print(f"{kind}: {number - told:,} more of this kind")
    for note in report.notes:
        print(shown(f"note: {note}"))
    looked_at = (
        f"{report.pages:,} pages, {report.visits:,} visits, {report.links:,} links, {report.warc_records:,} records"
        f" in {report.warc_files:,} WARC files ({human_bytes(report.warc_bytes)}), {report.index_lines:,} lines of the"
        " index"
    )
    if report.consistent:
        print(shown(f"{report.folder} is consistent: {looked_at}"))
    else:
        print(shown(f"{report.folder} is NOT consistent: {sum(report.counts.values()):,} problems in {looked_at}"))


class _Shown:
    """Progress on stderr: a line that rich rewrites on a terminal, else a plain line every few seconds."""

    def __init__(self) -> None:
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()

    def __enter__(self) -> _Shown:
        if self._terminal:
            from rich.console import Console

            self._status = Console(stderr=True).status("checking")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._status.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        share = f" {done / total:.0%}" if total else ""
        text = f"checking {what}{share}"
        if self._terminal:
            from rich.text import Text

            self._status.update(Text(shown(text)))
        elif time.monotonic() - self._last >= _PLAIN_EVERY_S:
            self._last = time.monotonic()
            print(shown(text), file=sys.stderr, flush=True)
