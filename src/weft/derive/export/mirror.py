"""A copy of each page as a file under `host/path` (T6), as received, or with links that lead to the other files.

``files.tsv`` tells which URL each file is. With ``--rewrite-links`` pages and styles can be browsed from disk;
``missing.tsv`` lists the links to what is no part of the mirror: they stay links to the web.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from weft.derive.export.index import write_index
from weft.derive.export.model import Chosen
from weft.derive.export.names import Names, md5_path, path_for
from weft.derive.export.rewrite import Rewriter
from weft.derive.export.scratch import scratch
from weft.derive.read import Page
from weft.errors import SpecError, WeftError
from weft.parse.content import is_html

FILES, MISSING, INDEX = "files.tsv", "missing.tsv", "index.txt"
_ENDINGS = {"text/css": ".css", "image/svg+xml": ".svg", "text/javascript": ".js", "application/javascript": ".js"}
"""What a browser goes by where a page comes from disk, beside `.html`."""


def write_mirror(chosen: Chosen, folder: Path) -> tuple[int, int, int]:
    """Writes the copies, ``files.tsv`` and ``index.txt``: how many pages, files, and links to what is missing."""
    if not chosen.crawl.spec.keep.archive:
        raise SpecError(f"the crawl in {chosen.crawl.folder.path} keeps no bodies (--no-archive): there is no copy")
    with scratch() as database:
        names = Names(database)
        for page in chosen.pages("choosing names"):
            _name(chosen, names, page)
        names.settle()
        files, missing = _write_files(chosen, names, folder)
    pages = write_index(chosen, folder / INDEX)
    return pages, files, missing


def _name(chosen: Chosen, names: Names, page: Page) -> None:
    number, _ = page.ids
    if page.status is not None and 200 <= page.status < 300:
        ending = _ending(page) if chosen.choice.rewrite_links else ""
        path = md5_path(page.url) if chosen.choice.names == "md5" else path_for(page.url, ending)
        names.add(number, page.url, path)
    elif page.redirect_to is not None:
        names.add_redirect(number, page.redirect_to)


def _ending(page: Page) -> str:
    media = page.type or ""
    return ".html" if is_html(media) else _ENDINGS.get(media, "")


def _write_files(chosen: Chosen, names: Names, folder: Path) -> tuple[int, int]:
    """How many files were written, and how many links lead to what is not there."""
    crawl = chosen.crawl
    count = missing = 0
    with _text_file(folder / FILES) as listed, _text_file(folder / MISSING) as lost:
        listed.write("url\tpath\n")
        lost.write("page\turl\n")
        rewriter = Rewriter(crawl, names) if chosen.choice.rewrite_links else None
        for page, path in _files(chosen, names):
            body = _body(page)
            if body is None:
                continue
            if rewriter is not None:
                body, away = rewriter.rewritten(page, path, body)
                lost.writelines(f"{page.url}\t{url}\n" for url in away)
                missing += len(away)
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as stream:
                stream.write(body)
            listed.write(f"{page.url}\t{path}\n")
            count += 1
    if rewriter is None:
        (folder / MISSING).unlink()
    return count, missing


def _text_file(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", errors="replace", newline="\n")


def _files(chosen: Chosen, names: Names) -> Iterator[tuple[Page, str]]:
    for page in chosen.answered("writing files"):
        path = names.path_of(page.ids[0])
        if path is not None:
            yield page, path


def _body(page: Page) -> bytes | None:
    """The body; None where it is not in the archive any more."""
    try:
        return page.body
    except WeftError:
        return None
