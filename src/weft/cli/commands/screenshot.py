"""weft screenshot: pictures of stored pages, made from the archive alone."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from weft.derive.body import answer_of
from weft.derive.nearest import nearest_urls
from weft.derive.read import StoredCrawl
from weft.derive.screenshots import LIST, Picture, pages_of, take
from weft.errors import SpecError, WeftError
from weft.fetch.browser.launch import check_browser, pool_of, settings_of
from weft.spec import CrawlSpec, YesNo
from weft.text.human import counted
from weft.text.safe import shown


def run(args: argparse.Namespace) -> int:
    if bool(args.all) == (args.url is not None):
        raise SpecError("name a page, or say --all: weft screenshot DIR URL --to FOLDER")
    with StoredCrawl(args.folder) as crawl:
        spec = _spec(crawl.spec, args)
        check_browser(spec)
        urls = pages_of(crawl) if args.all else [_page_of(crawl, args.url)]
        Path(args.to).mkdir(parents=True, exist_ok=True)
        taken = asyncio.run(_take(crawl, spec, urls, Path(args.to), args.format))
    missing = sum(not picture.file for picture in taken)
    print(f"{counted(len(taken) - missing, 'picture')} in {args.to}, listed in {LIST}", file=sys.stderr)
    return 1 if missing == len(taken) else 0


def _spec(spec: CrawlSpec, args: argparse.Namespace) -> CrawlSpec:
    """The crawl's own settings, and what is said on the command line."""
    browser = spec.browser
    if args.browser:
        browser = msgspec.structs.replace(browser, program=args.browser)
    if args.browser_sandbox:
        browser = msgspec.structs.replace(browser, sandbox=YesNo(args.browser_sandbox))
    return msgspec.structs.replace(spec, browser=msgspec.structs.replace(browser, block=()))


def _page_of(crawl: StoredCrawl, text: str) -> str:
    url = crawl.whole_url(text)
    page = crawl.page_id(url)
    answer = answer_of(crawl, page) if page is not None else None
    if answer is None or answer.status is None:
        near = nearest_urls(crawl, url)
        like = f"; like it are: {', '.join(near)}" if near else ""
        raise WeftError(f"{url} is no page of the crawl in {crawl.folder.path} that was answered{like}")
    return answer.url


async def _take(crawl: StoredCrawl, spec: CrawlSpec, urls: Sequence[str], folder: Path, form: str) -> list[Picture]:
    taken = []
    async with pool_of(spec, msgspec.structs.replace(settings_of(spec), shot=form)) as pool:
        async for picture in take(crawl, urls, pool, folder, form):
            taken.append(picture)
            told = f"{picture.file}  {picture.url}" if picture.file else f"none: {picture.url}: {picture.note}"
            print(shown(told))
    return taken
