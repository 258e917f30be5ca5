"""weft diff: what changed from one crawl to another."""

from __future__ import annotations

import argparse

from weft.cli import tell
from weft.commands.machine import print_json
from weft.commands.progress import ShownProgress
from weft.derive.diff import Change, ChangeGraph, Comparison
from weft.derive.graph import form_of, write_graph
from weft.derive.graph.write import files_of, refuse_targets
from weft.derive.read import StoredCrawl
from weft.derive.rows import Column, write_rows

COLUMNS = (
    Column("what", ("what",), 5),
    Column("change", ("change",), 8),
    Column("old", ("old_status",), 4, right=True),
    Column("new", ("new_status",), 4, right=True),
    Column("url", ("url",)),
    Column("target", ("target",)),
)


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.old) as old, StoredCrawl(args.new) as new, ShownProgress() as progress:
        if args.to_file:
            form = form_of(args.to_file)
            refuse_targets(files_of(args.to_file, form), new.folder, args.force)
            refuse_targets(files_of(args.to_file, form), old.folder, args.force)
        with Comparison(old, new, progress) as found:
            counts = found.counts(progress)
            if args.to_file:
                name = f"{old.folder.path.name} and {new.folder.path.name}"
                graph = ChangeGraph(found, name, progress)
                write_graph(graph, args.to_file, new.folder, force=args.force, progress=progress)
            if args.json:
                print_json(counts)
                return 0
            for what, numbers in (("pages", counts.pages), ("links", counts.links)):
                tell(f"{what}: {', '.join(f'{number:,} {change}' for change, number in numbers.items())}")
            if not args.to_file or args.output or args.format:
                changes = {"pages": found.pages, "links": found.links}.get(args.only, found.changes)
                write_rows(changes(), Change, COLUMNS, asked=args.format, file=args.output, folder=new.folder)
    return 0
