"""An order for an export: its form, its target, and the pages that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from weft.derive.chosen import rows_where
from weft.derive.read import Page, StoredCrawl
from weft.derive.read.pages import pages_of
from weft.errors import SpecError
from weft.ports import Progress

FILE_FORMS = ("warc", "wacz", "index", "sqlite")
FOLDER_FORMS = ("mirror", "parquet", "sitemap", "jsonl", "markdown")
FORMS = (*FILE_FORMS, *FOLDER_FORMS)
"""Forms that are one file, then forms that are a folder."""

_TELL_EVERY = 500


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What the user chooses of an export, beside its form and target."""

    where: tuple[str, ...] = ()
    force: bool = False
    warc_file_b: int | None = None  # warc: begin a new file past this size
    operator: str | None = None  # warc, wacz: who ran the crawl
    description: str | None = None  # warc, wacz: what the crawl is about
    indexable: bool = False  # sitemap: without noindex, duplicates, and pages that name another one as canonical
    rewrite_links: bool = False  # mirror: links lead to the files
    names: str = "path"  # mirror: path, or md5 for names of one length


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote, as ``--json`` shows it."""

    form: str
    to: str
    pages: int
    files: int
    missing: int = 0  # mirror: links to URLs that are no part of it


class Chosen:
    """The pages of a crawl that an export is about: those that were tried, and for which each filter is true."""

    def __init__(self, crawl: StoredCrawl, choice: Choice, progress: Progress) -> None:
        self.crawl = crawl
        self.choice = choice
        self.progress = progress
        self.newest = crawl.newest_visit()

    @property
    def is_everything(self) -> bool:
        """Whether no filter leaves anything out."""
        return not self.choice.where

    def pages(self, doing: str) -> Iterator[Page]:
        """The pages, in the order in which they were found."""
        total = self.crawl.scalar("SELECT count(*) FROM page WHERE visit IS NOT NULL")
        rows = rows_where(pages_of(self.crawl, False, self.newest), Page, self.choice.where)
        for number, page in enumerate(rows):
            if number % _TELL_EVERY == 0:
                self.progress(doing, number, total)
            yield page

    def answered(self, doing: str) -> Iterator[Page]:
        """The pages that were answered with a status of 2xx."""
        return (page for page in self.pages(doing) if page.status is not None and 200 <= page.status < 300)


def form_named(form: str) -> str:
    """The form, if there is such a one; else ``SpecError`` with those there are."""
    if form not in FORMS:
        from difflib import get_close_matches

        near = get_close_matches(form, FORMS, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise SpecError(f"--as {form}: there is no such form{meant}: there are {', '.join(FORMS)}")
    return form


def first_seed(crawl: StoredCrawl) -> str:
    """The first start address of a crawl; "" where there is none."""
    row = crawl.connection.execute(_FIRST_SEED).fetchone()
    return "" if row is None else str(row[0])


def stem_of(target: Path, endings: tuple[str, ...]) -> str:
    """The name of a file without the first of these endings that it has."""
    for ending in endings:
        if target.name.lower().endswith(ending) and len(target.name) > len(ending):
            return target.name[: -len(ending)]
    return target.name


_FIRST_SEED = "SELECT u.text FROM seed s JOIN url u ON u.id = s.page ORDER BY s.id LIMIT 1"
