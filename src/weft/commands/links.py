"""weft links: the links of a crawl, in order; of one page, or to one page."""

from __future__ import annotations

import argparse

from weft.derive.read import LinkRow, StoredCrawl
from weft.derive.rows import Column, write_rows

COLUMNS = (
    Column("kind", ("kind",), 9),
    Column("followed", ("followed",), 8),
    Column("source", ("source",)),
    Column("target", ("target",)),
    Column("anchor", ("anchor",), may_go=1),
)


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        rows = crawl.links(source=args.from_url, target=args.to_url)
        write_rows(rows, LinkRow, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
