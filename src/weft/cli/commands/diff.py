"""weft diff: what changed from one crawl to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.cli.machine import print_json
from weft.cli.main import tell
from weft.cli.progress import ShownProgress
from weft.derive.diff import Change, ChangeGraph, Comparison
from weft.derive.graph import FORMS, form_of, write_graph
from weft.derive.graph.write import files_of, refuse_targets
from weft.derive.read import StoredCrawl
from weft.derive.rows import ENDINGS, format_of, write_rows
from weft.derive.table import Column

COLUMNS = (
    Column("what", ("what",), 5),
    Column("change", ("change",), 8),
    Column("old", ("old_status",), 4, right=True),
    Column("new", ("new_status",), 4, right=True),
    Column("url", ("url",)),
    Column("target", ("target",)),
)


def run(args: argparse.Namespace) -> int:
    graphs = [file for file in args.files if _is_graph(file)]
    lists = [file for file in args.files if file not in graphs]
    with StoredCrawl(args.old) as old, StoredCrawl(args.new) as new, ShownProgress() as progress:
        for file in lists:
            format_of(args.format, file)  # before the comparison, which may take minutes
        for file in graphs:
            refuse_targets(files_of(file, form_of(file)), new.folder, args.force)
            refuse_targets(files_of(file, form_of(file)), old.folder, args.force)
        with Comparison(old, new, progress) as found:
            counts = found.counts(progress)
            for file in graphs:
                graph = ChangeGraph(found, f"{old.folder.path.name} and {new.folder.path.name}", progress)
                write_graph(graph, file, new.folder, force=args.force, progress=progress)
            changes = {"pages": found.pages, "links": found.links}.get(args.only, found.changes)
            for file in lists:
                write_rows(changes(), Change, COLUMNS, asked=args.format, file=file, folder=new.folder)
            if args.json:
                print_json(counts)
                return 0
            for what, numbers in (("pages", counts.pages), ("links", counts.links)):
                tell(f"{what}: {', '.join(f'{number:,} {change}' for change, number in numbers.items())}")
            if not lists and (not graphs or args.format):
                write_rows(changes(), Change, COLUMNS, asked=args.format, file=None, folder=new.folder)
    return 0


def _is_graph(file: str) -> bool:
    """Whether a file's ending names a form of a graph; csv and parquet are lists here."""
    ending = Path(file).suffix.lower()
    return ending.removeprefix(".") in FORMS and ending not in ENDINGS
