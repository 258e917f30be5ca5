"""The pipeline of one process, made of the specification: the same for the crawl's own process and for a worker."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from weft.crawl.items import ItemReader
from weft.crawl.marks import ParseMark
from weft.crawl.pipeline import Pipeline, Sketch
from weft.crawl.reading import PageReader
from weft.crawl.texts import TextReader
from weft.fetch.http import user_agent_of
from weft.plugins import LoadedPlugins
from weft.ports import Archive
from weft.records import Lease
from weft.spec import CrawlSpec
from weft.store.warc.archive import FindBody, NoArchive, WarcArchive
from weft.store.warc.writer import Form, WarcWriter
from weft.text.version import __version__

if TYPE_CHECKING:
    from weft.crawl.file_reading import FileReader

RequestHead = Callable[[Lease], bytes]
"""The head of the request that was sent for a lease."""


def make_pipeline(
    spec: CrawlSpec, folder: Path, prefix: str, mark: ParseMark, find_body: FindBody, request_head: RequestHead
) -> Pipeline:
    """The pipeline of a process. ``prefix`` begins the names of its WARC files in the folder."""
    reader = PageReader(spec, mark, LoadedPlugins(spec.plugins.parts).all("parser"))
    archive = _make_archive(spec, folder, prefix, find_body, request_head)
    texts = TextReader(spec.extract.keywords, mark) if spec.extract.wants_text else None
    items = ItemReader(spec.harvest, mark) if spec.harvest.is_wanted else None
    return Pipeline(spec.limits, reader, archive, _make_sketch(spec), texts, items, _make_files(spec, mark))


def file_types_of(spec: CrawlSpec) -> Callable[[str], bool] | None:
    """Whether an answer of a media type is kept as a file; None for crawls that keep none."""
    if not spec.files.has_any:
        return None
    from weft.judge.files import WantedFiles

    return WantedFiles(spec.files).has_type


def _make_files(spec: CrawlSpec, mark: ParseMark) -> FileReader | None:
    if not spec.files.has_any:
        return None
    from weft.crawl.file_reading import FileReader  # only for crawls that ask for files
    from weft.judge.files import WantedFiles

    return FileReader(WantedFiles(spec.files), mark, spec.limits.max_links_per_page)


def _make_archive(
    spec: CrawlSpec, folder: Path, prefix: str, find_body: FindBody, request_head: RequestHead
) -> Archive:
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
    return WarcArchive(writer, find_body, request_head)


def _make_sketch(spec: CrawlSpec) -> Sketch | None:
    """The function that makes sketches of texts. None where the crawl does not look for near-duplicates."""
    if spec.duplicates.near is None:
        return None
    from weft.judge.sketch import sketcher  # loads numpy

    return sketcher(spec.duplicates.sketch, with_text=not spec.keep.archive)
