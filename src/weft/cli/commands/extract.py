"""weft extract: the items of a stored crawl, extracted again; or those of one page, only shown."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from weft.cli.arguments import options_given
from weft.cli.main import tell, warn
from weft.cli.progress import ShownProgress
from weft.derive.items.again import extract_again, extract_page
from weft.derive.read import StoredCrawl
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.errors import SpecError, WeftError
from weft.extract.extractor import Extractor
from weft.parse.source import READING
from weft.spec import Harvest
from weft.text.human import command, counted

COLUMNS = (
    Column("kind", ("kind",), 10),
    Column("value", ("value",)),
    Column("sure", ("confidence",), 4, right=True),
    Column("form", ("obscured",), 10, may_go=2),
    Column("fields", ("fields",), may_go=1),
    Column("context", ("context",), may_go=3),
)


class FoundRow(msgspec.Struct, frozen=True, kw_only=True):
    """An item of one page, as it is shown; ``fields`` are JSON."""

    value: str
    kind: str
    context: str
    obscured: str
    position: int
    confidence: float
    fields: str | None


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        wanted = _wanted(args, crawl)
        if args.url is not None:
            return _show_page(crawl, args, wanted)
        if not crawl.spec.keep.archive:
            raise SpecError(
                f"the crawl in {args.folder} keeps no bodies (--no-archive): there is nothing to extract from"
            )
        with crawl.folder.lock(), ShownProgress() as progress:
            outcome = extract_again(crawl, wanted, progress)
    unread = f"; the bodies of {counted(outcome.unread, 'page')} are gone from the archive" if outcome.unread else ""
    tell(
        f"{counted(outcome.pages, 'page')} read, the crawl has {counted(outcome.items, 'item')} now{unread};"
        f" `{command('items', args.folder)}` lists them"
    )
    return 0


def _wanted(args: argparse.Namespace, crawl: StoredCrawl) -> Harvest:
    """What the command line asks for; where it asks for nothing, what the crawl was made for."""
    from weft.options import harvest_order

    given = options_given(args)
    wanted = harvest_order(given, config=args.config, warn=warn)
    if not wanted.is_wanted:
        wanted = crawl.spec.harvest
    if not wanted.is_wanted:
        raise SpecError(
            f"nothing to extract: say what, for example: {command('extract', Path(args.folder), '--extract email')}"
        )
    return wanted


def _show_page(crawl: StoredCrawl, args: argparse.Namespace, wanted: Harvest) -> int:
    page = crawl.page_id(args.url)
    if page is None:
        raise WeftError(f"{args.url} is no page of the crawl in {crawl.folder.path}")
    found = extract_page(crawl, page, Extractor(wanted, READING))
    rows = (
        FoundRow(
            value=item.value, kind=item.kind, context=item.context, obscured=item.obscured, position=item.position,
            confidence=item.confidence, fields=item.fields or None,
        )
        for item in found.items
    )  # fmt: skip
    write_rows(rows, FoundRow, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
