"""weft extract: the items and texts of a stored crawl, extracted again; or the items of one page, only shown."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from weft.cli.arguments import options_given
from weft.cli.main import tell, warn
from weft.cli.progress import ShownProgress
from weft.derive.items.again import Outcome, Wanted, extract_again, extract_page
from weft.derive.read import StoredCrawl
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.errors import SpecError, WeftError
from weft.extract.extractor import Extractor
from weft.parse.source import READING
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
    _tell(outcome, wanted, args.folder)
    return 0


def _tell(outcome: Outcome, wanted: Wanted, folder: str) -> None:
    """One line of what became of it."""
    has, where = [], []
    if wanted.items.is_wanted:
        has.append(counted(outcome.items, "item"))
        where.append(f"`{command('items', folder)}` lists the items")
    if wanted.texts.wants_text:
        has.append(counted(outcome.texts, "text"))
        where.append(f"`{command('pages', folder, '--with', 'text,markdown,keywords')}` shows the texts")
    parts = [f"{counted(outcome.pages, 'page')} read, the crawl has {' and '.join(has)} now"]
    if outcome.unread:
        parts.append(f"the bodies of {counted(outcome.unread, 'page')} are gone from the archive")
    if outcome.bugs:
        parts.append(f"{counted(outcome.bugs, 'page')} could not be read because of a bug of weft (table bug)")
    tell("; ".join([*parts, *where]))


def _wanted(args: argparse.Namespace, crawl: StoredCrawl) -> Wanted:
    """What the command line asks for; where it asks for nothing, what the crawl was made for."""
    from weft.options import harvest_order

    wanted = Wanted(*harvest_order(options_given(args), config=args.config, warn=warn))
    if not wanted.is_anything:
        wanted = Wanted(crawl.spec.harvest, crawl.spec.extract)
    if not wanted.is_anything:
        raise SpecError(
            f"nothing to extract: say what, for example: {command('extract', Path(args.folder), '--extract', 'email')}"
        )
    kept = max(wanted.texts.keywords, crawl.spec.extract.keywords)  # the crawl's own are not taken away
    return wanted._replace(texts=msgspec.structs.replace(wanted.texts, keywords=kept if wanted.texts.wants_text else 0))


def _show_page(crawl: StoredCrawl, args: argparse.Namespace, wanted: Wanted) -> int:
    if not wanted.items.is_wanted:
        shown = command("show", crawl.folder.path, args.url, "--markdown")
        raise SpecError(f"with a URL, items are looked for: its text is shown by `{shown}`")
    page = crawl.page_id(args.url)
    if page is None:
        raise WeftError(f"{args.url} is no page of the crawl in {crawl.folder.path}")
    found = extract_page(crawl, page, Extractor(wanted.items, READING))
    rows = (
        FoundRow(
            value=item.value, kind=item.kind, context=item.context, obscured=item.obscured, position=item.position,
            confidence=item.confidence, fields=item.fields or None,
        )
        for item in found.items
    )  # fmt: skip
    write_rows(rows, FoundRow, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
