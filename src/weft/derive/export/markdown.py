"""The main text of each page as Markdown, a file a page, with front matter that says where it is from (E14)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from weft.derive.export.model import Chosen
from weft.derive.export.names import Names, path_for
from weft.derive.export.scratch import scratch
from weft.derive.read import Page
from weft.errors import SpecError, WeftError
from weft.parse.content import is_html

FILES = "files.tsv"


def write_markdown(chosen: Chosen, folder: Path) -> tuple[int, int]:
    """Writes the files and ``files.tsv``: how many pages, and how many files."""
    if not chosen.crawl.spec.keep.archive:
        raise SpecError(f"the crawl in {chosen.crawl.folder.path} keeps no bodies (--no-archive): there is no text")
    count = 0
    with scratch() as database, (folder / FILES).open("w", encoding="utf-8", newline="\n") as listed:
        names = Names(database)
        for page in chosen.answered("choosing names"):
            if page.type is not None and is_html(page.type):
                names.add(page.ids[0], page.url, path_for(page.url, ".md"))
        names.settle()
        listed.write("url\tpath\n")
        for page in chosen.answered("writing Markdown"):
            path = names.path_of(page.ids[0])
            text = "" if path is None else _document(page)
            if path is None or not text:
                continue
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", errors="replace", newline="\n")
            listed.write(f"{page.url}\t{path}\n")
            count += 1
    return count, count


def _document(page: Page) -> str:
    """Front matter and text; "" of a page without a main text, or whose body is gone."""
    try:
        main = page.main_text
    except WeftError:
        return ""
    if not main.markdown.strip():
        return ""
    facts = {
        "url": page.url,
        "title": main.metadata.title or page.title,
        "author": main.metadata.author,
        "published": main.metadata.published,
        "language": page.language,
        "fetched_at": page.fetched_at,
    }
    lines = [f"{name}: {_scalar(value)}" for name, value in facts.items() if value]
    return "\n".join(["---", *lines, "---", "", main.markdown.strip(), ""])


def _scalar(text: str) -> str:
    """A text as YAML has it in quotes, which is as JSON has it."""
    return msgspec.json.encode(text).decode()
