"""The index file of T7: for each page its digest, URLs, title, encoding, type and dates, then its accepted links.

    UrlMD5checksum normalizedURL originalURL "Title" encoding type lastModifiedDate serverDate
    <tab> @<normalised URL of a link> "<anchor text>"

A page is a line, a link too. Fields are apart by one blank; `-` stands for what is missing. In texts, quotes and
backslashes have a backslash before them, and runs of white space are one blank. The dates are ISO 8601 in UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from pathlib import Path

from weft.derive.export.model import Chosen
from weft.derive.read import Page
from weft.derive.read.links import LinkRows
from weft.text.safe import shown

MISSING = "-"
TYPES = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "txt",
    "text/css": "css",
    "text/csv": "csv",
    "text/xml": "xml",
    "application/xml": "xml",
    "application/rss+xml": "rss",
    "application/atom+xml": "atom",
    "text/javascript": "js",
    "application/javascript": "js",
    "application/json": "json",
    "application/pdf": "pdf",
    "application/rtf": "rtf",
    "application/postscript": "ps",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/epub+zip": "epub",
    "application/zip": "zip",
    "application/gzip": "gz",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "image/vnd.microsoft.icon": "ico",
}
"""The name of a type in the index file, whatever the ending of the URL is."""


def write_index(chosen: Chosen, path: Path) -> int:
    """Writes the index file; how many pages it has."""
    links = LinkRows(chosen.crawl, chosen.newest)
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="\n", buffering=1 << 20) as stream:
        for page in chosen.answered("writing the index"):
            stream.writelines(_entry(page, links))
            count += 1
    return count


def _entry(page: Page, links: LinkRows) -> Iterator[str]:
    digest = md5(page.key.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    fields = (
        digest, page.key, page.url, MISSING if page.title is None else quoted(page.title), page.encoding or MISSING,
        type_name(page.type), page.last_modified or MISSING, page.server_date or MISSING,
    )  # fmt: skip
    yield f"{' '.join(fields)}\n"
    _, visit = page.ids
    if visit is None:
        return
    for link in links.of_visit(page.url, visit):
        if link.followed:
            yield f"\t @{link.target_key} {quoted(link.anchor)}\n"


def quoted(text: str) -> str:
    """A text on one line in quotes; a reader finds its end at the first quote without a backslash before it."""
    plain = shown(" ".join(text.replace("\\", "\\\\").replace('"', '\\"').split()))
    return f'"{plain}"'


def type_name(media: str | None) -> str:
    """The short name of a media type; of one that has none, its subtype."""
    if not media:
        return MISSING
    return TYPES.get(media) or "".join(media.rpartition("/")[2].split()) or MISSING
