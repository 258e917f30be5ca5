"""weft stats: the numbers of a crawl, for a person, for a machine, or as a report to look at."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from weft.cli.main import tell
from weft.cli.progress import ShownProgress
from weft.derive.graph.write import refuse_targets
from weft.derive.read import StoredCrawl
from weft.derive.rows import output
from weft.derive.stats import Statistics, gather
from weft.derive.stats.machine import csv_of, json_of
from weft.derive.stats.tell import lines_of
from weft.errors import SpecError
from weft.text.safe import in_json

_ENDINGS = {".json": "json", ".csv": "csv", ".html": "html", ".htm": "html"}


def run(args: argparse.Namespace) -> int:
    if args.to_file is not None:
        _take_file(args)
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


def _take_file(args: argparse.Namespace) -> None:
    """Takes -o FILE as the options that say the same: its ending tells the form, unless --json or --csv does."""
    ending = Path(args.to_file).suffix.lower()
    if args.json or args.csv:
        return
    if ending not in _ENDINGS:
        said = f"ends in {ending}" if ending else "has no ending"
        raise SpecError(f"{args.to_file} {said}, which is no form of statistics: there are {', '.join(_ENDINGS)}")
    form = _ENDINGS[ending]
    if form == "html" and args.html is not None:
        raise SpecError("stats: -o FILE.html or --html FILE, not both")
    args.json, args.csv = form == "json", form == "csv"
    if form == "html":
        args.html = args.to_file


def _report(statistics: Statistics, args: argparse.Namespace) -> None:
    from weft.derive.report import write_report

    with ShownProgress("writing") as progress:
        write_report(statistics, args.html, force=args.force, progress=progress)


def _tell(statistics: Statistics, args: argparse.Namespace) -> None:
    if args.json or args.csv:
        with output(args.to_file, statistics.crawl.folder) as out:
            _write(map(in_json, json_of(statistics)) if args.json else csv_of(statistics), out)
    elif args.html is None:
        for line in lines_of(statistics):
            print(line)
    else:
        tell(f"the report is in {args.html}")


def _write(pieces: Iterator[bytes], out: IO[bytes]) -> None:
    for piece in pieces:
        out.write(piece)
