"""Pictures of stored pages: rendered anew from the archive alone. Nothing is asked of any network."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import msgspec

from weft.derive.body import Answer, answer_of, answer_of_visit, body_of
from weft.derive.read import StoredCrawl
from weft.errors import WeftError
from weft.fetch.browser.pool import Pool
from weft.fetch.browser.tab import PageLost
from weft.fetch.browser.values import PageRequest
from weft.records import Fetched, Purpose
from weft.text.safe import piped_text
from weft.url import site_of

LIST = "screenshots.csv"


class Picture(msgspec.Struct, frozen=True):
    """A picture that was written, or why there is none."""

    url: str
    file: str
    note: str


class StoredAnswers:
    """The answers of a crawl, for a browser. What is not in the archive fails, as if its server were gone."""

    def __init__(self, crawl: StoredCrawl) -> None:
        self._crawl = crawl
        self._loaded: dict[int, int] = dict(
            crawl.connection.execute(
                "SELECT url, max(id) FROM visit WHERE purpose = ? AND status IS NOT NULL GROUP BY url",
                (Purpose.RESOURCE.value,),
            ).fetchall()
        )  # visits of what pages load, by the id of the URL

    async def of(self, request: PageRequest) -> Fetched | None:
        place = self._crawl.find(request.url)
        if place is None:
            return None
        visit = self._loaded.get(place.url)
        if visit is not None:
            answer = answer_of_visit(self._crawl, visit)
        else:
            answer = answer_of(self._crawl, place.page) if place.page is not None else None
        return None if answer is None or answer.status is None else self._fetched(answer)

    def _fetched(self, answer: Answer) -> Fetched | None:
        try:
            body = body_of(self._crawl, answer)
        except WeftError:  # it is gone from the archive
            return None
        lines = (line.partition(":") for line in (answer.head or "").splitlines()[1:])
        headers = tuple((name.strip().lower(), value.strip()) for name, _, value in lines if name.strip())
        assert answer.status is not None
        return Fetched(answer.status, b"", headers, b"", body, False, 0, 0, "", "1.1")


async def take(crawl: StoredCrawl, urls: Iterable[str], pool: Pool, folder: Path, form: str) -> AsyncIterator[Picture]:
    """Writes a picture of each page into a folder that is there, and a list; gives each as it is written."""
    answers = StoredAnswers(crawl)
    with (folder / LIST).open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(Picture.__struct_fields__)
        for url in urls:
            picture = await _one(crawl, url, pool, answers, folder, form)
            rows.writerow(map(piped_text, msgspec.structs.astuple(picture)))
            yield picture


async def _one(crawl: StoredCrawl, url: str, pool: Pool, answers: StoredAnswers, folder: Path, form: str) -> Picture:
    page = crawl.page_id(url)
    try:
        rendered = await pool.render(site_of(url), url, answers.of)
    except PageLost as lost:
        return Picture(url, "", str(lost))
    if not rendered.shot:
        return Picture(url, "", rendered.note)
    name = f"{page}.{form}"
    (folder / name).write_bytes(rendered.shot)
    return Picture(url, name, rendered.note)


def pages_of(crawl: StoredCrawl) -> Sequence[str]:
    """The URLs of all pages of HTML that were answered well."""
    rows = crawl.connection.execute(_PAGES)
    return [url for (url,) in rows]


_PAGES = """
SELECT u.text FROM page p JOIN page_url u ON u.page = p.id JOIN visit v ON v.id = p.visit
WHERE v.status BETWEEN 200 AND 299 AND v.type IN ('text/html', 'application/xhtml+xml') ORDER BY p.id
"""
