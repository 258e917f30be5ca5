"""weft pages: the pages of a crawl, one object each."""

from __future__ import annotations

import argparse

from weft.derive.read import Page, StoredCrawl
from weft.derive.rows import Column, write_rows

COLUMNS = (
    Column("state", ("state",), 5),
    Column("http", ("status",), 4, right=True),
    Column("error or reason", ("error", "reason"), 18),
    Column("type", ("type",), 16, may_go=2),
    Column("size", ("size",), 9, right=True, may_go=3),
    Column("depth", ("depth",), 5, right=True, may_go=5),
    Column("in", ("in_links",), 6, right=True, may_go=1),
    Column("url", ("url",)),
    Column("title", ("title",), may_go=4),
)


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        rows = crawl.pages(everything=args.all)
        if args.with_measures:
            from weft.derive.graph.kept import MeasuredPage, measured_pages, require_measures

            require_measures(crawl)
            measured = measured_pages(crawl, rows)
            write_rows(measured, MeasuredPage, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
        else:
            write_rows(rows, Page, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
