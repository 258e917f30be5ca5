"""weft pages: the pages of a crawl, one object each."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import msgspec

from weft.derive.chosen import field_names, only_fields, rows_where
from weft.derive.read import Page, StoredCrawl
from weft.derive.read.versions import Version, versions_of
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.errors import SpecError

COLUMNS: tuple[Column, ...] = (
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


VERSION_COLUMNS = (
    Column("fetched", ("fetched_at",), 24),
    Column("http", ("status",), 4, right=True),
    Column("error", ("error",), 18),
    Column("changed", ("changed",), 7),
    Column("url", ("url",)),
)


def run(args: argparse.Namespace) -> int:
    if args.versions and (args.all or args.with_measures):
        raise SpecError("pages: --versions is about attempts: not with --all or --with-measures")
    with StoredCrawl(args.folder) as crawl:
        rows: Iterable[msgspec.Struct]
        kind: type[msgspec.Struct]
        rows, kind, columns = crawl.pages(everything=args.all), Page, COLUMNS
        if args.versions:
            rows, kind, columns = versions_of(crawl), Version, VERSION_COLUMNS
        elif args.with_measures:
            from weft.derive.graph.kept import MeasuredPage, measured_pages, require_measures

            require_measures(crawl)
            rows, kind = measured_pages(crawl, crawl.pages(everything=args.all)), MeasuredPage
        rows = rows_where(rows, kind, args.where)
        if args.fields is None:
            write_rows(rows, kind, columns, asked=args.format, file=args.to_file, folder=crawl.folder)
        else:
            chosen, narrow, few = only_fields(rows, kind, field_names(args.fields, kind))
            write_rows(chosen, narrow, few, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
