"""weft keywords: the words that one stored page is about."""

from __future__ import annotations

import argparse

from weft.derive.body import answer_of
from weft.derive.nearest import nearest_urls
from weft.derive.read import StoredCrawl
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.derive.texts import main_text_of
from weft.errors import SpecError, WeftError
from weft.extract.keywords import Keyword

COLUMNS = (
    Column("word", ("word",)),
    Column("weight", ("weight",), 9, right=True),
    Column("count", ("count",), 7, right=True),
)
_MAX_NUMBER = 100_000


def run(args: argparse.Namespace) -> int:
    number = _number(args.number)
    with StoredCrawl(args.folder) as crawl:
        url = crawl.whole_url(args.url)
        page = crawl.page_id(url)
        answer = answer_of(crawl, page) if page is not None else None
        if answer is None:
            near = nearest_urls(crawl, url)
            like = f"; like it are: {', '.join(near)}" if near else ""
            raise WeftError(f"{url} is no page of the crawl in {crawl.folder.path} that was asked{like}")
        found = main_text_of(crawl, answer.visit, number)
        if found is None:
            raise WeftError(f"{answer.url} brought no text")
        write_rows(found.keywords or (), Keyword, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= _MAX_NUMBER:
        raise SpecError(f"--number takes a whole number from 1 to {_MAX_NUMBER:,}, and was given {text!r}")
    return int(text)
