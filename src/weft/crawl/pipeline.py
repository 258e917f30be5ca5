"""One answer to all that is stored of it: what it means, its links and facts, its record in the archive.

The same function in every process. It knows nothing of the crawl: what depends on that is settled afterwards.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import assert_never

import msgspec

from weft import __version__
from weft.crawl.conclude import Concluded, Fields, conclude_answer, conclude_failure
from weft.crawl.marks import ParseMark
from weft.crawl.rendered import as_rendered
from weft.errors import Cause
from weft.fetch.http import user_agent_of
from weft.fetch.robots import agents_of
from weft.parse.content import declared_type, field_that_counts, media_type
from weft.parse.html import Headers, NeedsTree, Reading, parse_page, reads_quickly
from weft.plugins import LoadedPlugins
from weft.records import PAGE, Failure, Fetched, Lease, Links, Parsed, Rendering
from weft.spec import CrawlSpec, Limits
from weft.store.warc.archive import Archive, FindBody, NoArchive
from weft.store.warc.writer import Form, WarcWriter

GROUP = 16  # answers finished together,
GROUP_B = 1 << 18  # and about how much of them: large ones alone, or the network would wait for them

ERROR_PAGE_B = 1 << 16  # up to which one is kept to know it again
_READ_HEADERS = frozenset({"content-type", "x-robots-tag", "link", "refresh", "content-language"})

Sketch = Callable[[str], bytes]
Learn = Callable[[str, Fetched, Rendering | None], None]
"""(URL, answer, what rendering it brought): is told of every page that was to be rendered."""
HandOver = Callable[[Lease, Fetched], None]
ParserPlugin = Callable[[bytes, str, str | None, Parsed], Parsed]
"""(body, url, content type, what weft read) -> what is read."""


class Pipeline:
    """Concludes answers. The page is marked while it is read."""

    def __init__(self, spec: CrawlSpec, mark: ParseMark, archive: Archive | NoArchive) -> None:
        self._plugins: list[ParserPlugin] = LoadedPlugins(spec.plugins.parts).all("parser")  # R4
        self._limits = spec.limits
        self._agents = agents_of(spec.identity.user_agent)
        self._html_only = spec.scope.html_only
        self._mark = mark
        self._sketch = sketch_of(spec)
        self._text = ""  # of the page read last
        self._rendering: Rendering | None = None  # of the page read last
        self.learn: Learn | None = None  # whoever chooses the pages that are rendered
        self.hand_over: HandOver | None = None  # whoever reads the pages that need the tree; None: we do
        self._error_page: tuple[tuple[bytes, list[tuple[str, str]]], Parsed] | None = (
            None  # the last one, and what it says
        )
        self.archive = archive

    def finish(self, answers: deque[tuple[Lease, Fetched | Failure]]) -> list[Concluded]:
        """What became of the leases that ended first, a few at once; they are taken from the others.

        All are read, then all sketched, then all archived: so what a station needs stays in the processor's cache,
        which has a third fewer misses than where each answer walks through all of them.
        """
        group: list[tuple[Lease, Fetched | Failure]] = []
        size_b = 0
        while answers and len(group) < GROUP and size_b < GROUP_B:
            lease, answer = answers.popleft()
            group.append((lease, answer))
            size_b += len(answer.body) if isinstance(answer, Fetched) else 0
        finished: list[Concluded] = []
        texts: list[str] = []
        read: list[Fetched | Failure] = []
        for lease, answer in group:
            self._text, self._rendering = "", None
            done = self._conclude(lease, answer)
            if done is None:
                continue
            finished.append(done)
            texts.append(self._text)
            read.append(answer)
        if self._sketch is not None:
            for done, text in zip(finished, texts, strict=True):
                if text and done.stored_2xx:
                    _add_sketch(done, text, self._sketch)
        self.archive.keep(list(zip(finished, read, strict=True)))
        return finished

    def _conclude(self, lease: Lease, answer: Fetched | Failure) -> Concluded | None:
        """What an answer means; None: it is handed over. A bug met on one hostile page is a record, not the end."""
        try:
            match answer:
                case Failure():
                    done = conclude_failure(lease, answer, self._limits)
                case Fetched():
                    page = lease.purpose is PAGE
                    done = conclude_answer(lease, answer, self._parse if page else _not_parsed)
                case _:
                    assert_never(answer)
        except NeedsTree:
            assert self.hand_over is not None and isinstance(answer, Fetched)
            self.hand_over(lease, answer)
            return None
        except Exception:  # the border to the parser: whatever a page does to it must not end the crawl
            done = conclude_bug(lease, self._limits)
        done.rendering = self._rendering
        if self.learn is not None and isinstance(answer, Fetched) and answer.rendered is not None:
            self.learn(lease.url, answer, self._rendering)
        return done

    def _parse(self, answer: Fetched, url: str, fields: Fields) -> Parsed:
        if answer.status < 400 or self._plugins or len(answer.body) > ERROR_PAGE_B:
            return self._read(answer, url, fields)
        # A server's error pages are mostly one and the same: it is read once, not for every broken link.
        said = answer.body, [pair for pair in answer.headers if pair[0] in _READ_HEADERS]
        if self._error_page is None or said != self._error_page[0]:
            parsed = self._read(answer, url, fields)
            if parsed.canonical is not None:  # it may be another one for another page
                return parsed
            self._error_page = said, parsed
        return self._error_page[1]

    def _read(self, answer: Fetched, url: str, fields: Fields) -> Parsed:
        content_type = fields.get("content-type")
        if len(fields) < len(answer.headers):  # one of them, maybe this, is there more than once
            content_type = field_that_counts(answer.header_values("content-type"))
        if self._html_only and declared_type(content_type) != "text/html":  # R8: no page at all
            return Parsed(type=media_type(content_type, answer.body))
        with self._mark.of(url):
            headers = Headers(
                answer.header_values("x-robots-tag") if "x-robots-tag" in fields else (),
                answer.header_values("link") if "link" in fields else (),
                fields.get("refresh"),
                fields.get("content-language"),
            )
            with_text = self._sketch is not None or answer.rendered is not None
            reading = Reading(self._agents, self._limits.max_links_per_page, with_text, self.hand_over is None)
            parsed = parse_page(answer.body, url, content_type, headers, reading)
            if answer.rendered is not None:
                read = partial(_read_rendered, url, headers, reading)
                parsed, self._rendering = as_rendered(
                    parsed, answer.rendered, url, read, self._limits.max_links_per_page
                )
            self._text = parsed.text
            for parse in self._plugins:
                parsed = parse(answer.body, url, content_type, parsed)
                if not isinstance(parsed.links, Links):  # any links will do
                    parsed = msgspec.structs.replace(parsed, links=Links.of(parsed.links))
            return parsed


def _read_rendered(page_url: str, headers: Headers, reading: Reading, html: str, url: str) -> Parsed:
    """What a part of a rendered page says; what its headers say holds for the page itself."""
    said = headers if url == page_url else Headers()
    return parse_page(html.encode("utf-8", "replace"), url, "text/html; charset=utf-8", said, reading)


def needs_trees(spec: CrawlSpec) -> bool:
    """Whether every page is read by way of its tree: the compiled reader is not there, or gives no text."""
    return not reads_quickly() or spec.duplicates.near is not None


def sketch_of(spec: CrawlSpec) -> Sketch | None:
    """What makes sketches of texts, where the crawl looks for near-duplicates; numpy is loaded only then."""
    if spec.duplicates.near is None:
        return None
    from weft.judge.sketch import sketcher

    return sketcher(spec.duplicates.sketch, with_text=not spec.keep.archive)


def _add_sketch(done: Concluded, text: str, sketch: Sketch) -> None:
    try:
        done.sketch = sketch(text)
    except Exception:  # whatever a text does to it: the page is stored all the same
        done.bug = traceback.format_exc()


def conclude_bug(lease: Lease, limits: Limits) -> Concluded:
    """The exception being handled, as the end of a lease."""
    done = conclude_failure(lease, Failure(Cause.BUG, traceback.format_exc(limit=-1)[-500:]), limits)
    done.bug = traceback.format_exc()
    return done


def _not_parsed(_answer: Fetched, _url: str, fields: Fields) -> Parsed:
    """robots.txt and sitemaps are read by their own parsers."""
    return Parsed(type=declared_type(fields.get("content-type")))


def make_archive(
    spec: CrawlSpec, folder: Path, prefix: str, find_body: FindBody, request_head: Callable[[Lease], bytes]
) -> Archive | NoArchive:
    """The archive of one process, in files of its own."""
    if not spec.keep.archive:
        return NoArchive()
    info = {
        "robots": "ignore" if spec.politeness.ignore_robots else "obey",
        "http-header-user-agent": user_agent_of(spec.identity),
    }
    writer = WarcWriter(
        folder,
        prefix=prefix,
        form=Form(spec.keep.warc_file_b, block_digests=spec.keep.block_digest),
        software=f"weft/{__version__}",
        info=info,
        now=lambda: datetime.now(UTC),
    )
    return Archive(writer, find_body, request_head)
