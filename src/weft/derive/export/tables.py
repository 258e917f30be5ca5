"""Pages, links, items and texts as tables in a folder: the rows that the commands of these names give (E1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from weft.derive.export.model import Chosen
from weft.derive.items.rows import ItemRow, Wanted, items_of, row_type
from weft.derive.read import LinkRow, Page
from weft.derive.read.links import links_of_visits
from weft.derive.rows import write_rows
from weft.errors import WeftError


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader sees of one page."""

    url: str
    title: str | None
    language: str | None
    text: str


def write_tables(chosen: Chosen, folder: Path, form: str) -> int:
    """Writes `pages`, `links`, `items` and `text` in a form; how many pages there are."""
    write = partial(write_rows, asked=form, folder=chosen.crawl.folder)
    visits = bytearray(chosen.newest + 1)
    pages = bytearray(chosen.crawl.newest_url() + 1)
    count = 0

    def noted() -> Iterator[Page]:
        nonlocal count
        for page in chosen.pages("writing pages"):
            number, visit = page.ids
            pages[number] = 1
            if visit is not None:
                visits[visit] = 1
            count += 1
            yield page

    write(noted(), Page, (), file=str(folder / f"pages.{form}"))
    write(links_of_pages(chosen, visits), LinkRow, (), file=str(folder / f"links.{form}"))
    wanted = Wanted((), False, False)
    kind = row_type(chosen.crawl, wanted)
    write(_items(chosen, wanted, kind, pages), kind, (), file=str(folder / f"items.{form}"))
    if chosen.crawl.spec.keep.archive:
        write(_texts(chosen), Text, (), file=str(folder / f"text.{form}"))
    return count


def _items(chosen: Chosen, wanted: Wanted, kind: type[ItemRow], pages: bytearray) -> Iterator[ItemRow]:
    """The items of the chosen pages, as `weft items` has them."""
    for row in items_of(chosen.crawl, wanted, kind):
        number = None if chosen.is_everything else chosen.crawl.page_id(str(getattr(row, "page", "")))
        if chosen.is_everything or (number is not None and number < len(pages) and pages[number]):
            yield row


def links_of_pages(chosen: Chosen, visits: bytearray) -> Iterator[LinkRow]:
    """The links of the chosen pages, given by their visits; without a filter those of sitemaps, too."""
    if not chosen.is_everything:
        return links_of_visits(chosen.crawl, chosen.newest, visits)
    return links_of_visits(chosen.crawl, chosen.newest, None)


def _texts(chosen: Chosen) -> Iterator[Text]:
    for page in chosen.answered("writing texts"):
        try:
            text = page.text
        except WeftError:  # its body is not in the archive any more: there is no text to write
            continue
        if text:
            yield Text(url=page.url, title=page.title, language=page.language, text=text)
