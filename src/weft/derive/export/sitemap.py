"""Sitemaps by the protocol of sitemaps.org: packed files of at most 50,000 URLs of one site, and an index of them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from weft.derive.export.model import Chosen
from weft.derive.export.scratch import scratch
from weft.derive.graph.write import file_name
from weft.derive.read import Page
from weft.derive.rows import batches
from weft.errors import SpecError
from weft.parse.content import is_html
from weft.text.safe import in_xml
from weft.url import origin_of

MOST_URLS = 50_000
MOST_B = 50_000_000
INDEX = "sitemap.xml"
_HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<%s xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'


def write_sitemaps(chosen: Chosen, folder: Path) -> int:
    """Writes the maps and their index; how many URLs they name."""
    with scratch() as sorter:
        sorter.execute("CREATE TABLE entry(origin TEXT, id INTEGER PRIMARY KEY, url TEXT, modified TEXT)")
        for batch in batches(_listed(chosen), 1_000):
            rows = [(origin_of(page.url), page.url, page.last_modified) for page in batch]
            sorter.executemany("INSERT INTO entry(origin, url, modified) VALUES(?, ?, ?)", rows)
        entries = sorter.execute("SELECT origin, url, modified FROM entry ORDER BY origin, id")
        count = 0
        with (folder / INDEX).open("wb") as index:
            index.write(_HEAD % b"sitemapindex")
            maps = 0
            for origin, rows_of_origin in groupby(entries, lambda row: row[0]):
                for name, size in _write_maps(origin, rows_of_origin, folder):
                    maps, count = maps + 1, count + size
                    index.write(f"<sitemap><loc>{in_xml(f'{origin}/{name}')}</loc></sitemap>\n".encode())
            index.write(b"</sitemapindex>\n")
    if maps > MOST_URLS:
        raise SpecError(f"{maps:,} maps are more than one index may name ({MOST_URLS:,}): choose pages with --where")
    return count


def _listed(chosen: Chosen) -> Iterator[Page]:
    """HTML pages that answered 200; with ``indexable`` only those that a search engine is to keep."""
    for page in chosen.pages("writing the sitemap"):
        is_page = page.status == 200 and page.type is not None and is_html(page.type)
        if is_page and (not chosen.choice.indexable or _is_indexable(chosen, page)):
            yield page


def _is_indexable(chosen: Chosen, page: Page) -> bool:
    if page.noindex or page.duplicate_of is not None:
        return False
    normal = chosen.crawl.normalizer
    return page.canonical is None or normal.key(page.canonical) == page.key


def _write_maps(origin: str, rows: Iterator[tuple[str, str, str | None]], folder: Path) -> Iterator[tuple[str, int]]:
    """The maps of one site: name, and number of URLs."""
    number, row = 0, next(rows, None)
    while row is not None:
        number += 1
        name = f"sitemap-{file_name(origin.replace('://', '-').replace(':', '-'))}-{number:05d}.xml.gz"
        size = size_b = 0
        with gzip.GzipFile(folder / name, "wb", compresslevel=6, mtime=0) as packed:
            packed.write(_HEAD % b"urlset")
            while row is not None and size < MOST_URLS and size_b < MOST_B - 20_000:
                _, url, modified = row
                changed = f"<lastmod>{modified}</lastmod>" if modified else ""
                line = f"<url><loc>{in_xml(url)}</loc>{changed}</url>\n".encode()
                packed.write(line)
                size, size_b = size + 1, size_b + len(line)
                row = next(rows, None)
            packed.write(b"</urlset>\n")
        yield name, size
