"""weft stats: the numbers of a crawl, for a person, for a machine, or as a report to look at."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from weft.cli import tell
from weft.commands.progress import ShownProgress
from weft.derive.graph.write import refuse_targets
from weft.derive.read import StoredCrawl
from weft.derive.stats import Statistics, gather
from weft.derive.stats.machine import csv_of, json_of
from weft.derive.stats.tell import lines_of
from weft.errors import SpecError
from weft.safe import in_json


def run(args: argparse.Namespace) -> int:
    against = None if args.against is None else Path(args.against)
    if against is not None and not against.is_file():
        raise SpecError(f"there is no list {against}: --against takes a file of URLs, one a line")
    with StoredCrawl(args.folder) as crawl:
        if args.html is not None:  # before the counting, which may take minutes
            refuse_targets((Path(args.html),), crawl.folder, args.force)
        with ShownProgress("counting") as progress:
            statistics = gather(crawl, progress, against)
        with statistics:
            if args.html is not None:
                _report(statistics, args)
            _tell(statistics, args)
    return 0


def _report(statistics: Statistics, args: argparse.Namespace) -> None:
    from weft.derive.report import write_report

    with ShownProgress("writing") as progress:
        write_report(statistics, args.html, force=args.force, progress=progress)


def _tell(statistics: Statistics, args: argparse.Namespace) -> None:
    if args.json:
        _write(map(in_json, json_of(statistics)))
    elif args.csv:
        _write(csv_of(statistics))
    elif args.html is None:
        for line in lines_of(statistics):
            print(line)
    else:
        tell(f"the report is in {args.html}")


def _write(pieces: Iterator[bytes]) -> None:
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
