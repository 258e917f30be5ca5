"""The page of the report: its parts in order, its style and script inside it, and the file it goes to."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from itertools import islice
from pathlib import Path

from weft.derive.report import sections
from weft.derive.report.markup import Html, json_block, tag, text
from weft.derive.report.sitemap import MapData, map_of
from weft.derive.stats import Statistics
from weft.derive.stats.model import Numbers
from weft.ports import Progress

_SITES = 500


def write_report(statistics: Statistics, file: str | Path, *, force: bool, progress: Progress) -> None:
    """Writes the report, whole or not at all; ``SpecError`` where it cannot be, or where the file is there."""
    from weft.derive.graph.write import whole_files

    path = Path(file)
    refuse(statistics, path, force=force)
    with whole_files((path,)) as (stream,):
        for piece in pieces_of(statistics, progress):
            stream.write(piece.encode("utf-8", "replace"))


def refuse(statistics: Statistics, path: Path, *, force: bool) -> None:
    """Raises ``SpecError`` for a file that cannot be written, or that is there already and may not be replaced."""
    from weft.derive.graph.write import refuse_targets

    refuse_targets((path,), statistics.crawl.folder, force)


def pieces_of(statistics: Statistics, progress: Progress) -> Iterator[str]:
    """The whole document, piece by piece."""
    style, script = _part("report.css"), _part("report.js")
    title = sections.title_of(statistics)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{text(title)}</title><style>{style}</style></head><body>"
    )
    progress("the report", 0, 3)
    sites: list[Numbers] = list(islice(statistics.sites(), _SITES))
    drawn = map_of(statistics)
    progress("the report", 2, 3)
    yield from _body(statistics, sites, drawn)
    yield json_block("map-data", drawn)
    yield f"<script>{script}</script></body></html>\n"


def _body(statistics: Statistics, sites: list[Numbers], drawn: MapData) -> Iterator[Html]:
    parts = [part for part in sections.SECTIONS if part.wanted(statistics)]
    yield tag("a", "to the content", class_="skip", href="#content")
    yield sections.header(statistics)
    yield tag(
        "nav", tag("ul", [tag("li", tag("a", part.title, href=f"#{part.name}")) for part in parts]), aria_label="parts"
    )
    yield Html('<main id="content">')
    for part in parts:
        heading = tag("h2", part.title, id=f"{part.name}-heading")
        yield tag(
            "section",
            heading,
            part.write(statistics, sites, drawn),
            id=part.name,
            class_="part",
            aria_labelledby=f"{part.name}-heading",
        )
    yield Html("</main>")
    yield sections.footer(statistics)


def policy(style: str, script: str) -> str:
    """Nothing from anywhere; only this style and this script, known by their hashes."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _part(name: str) -> str:
    return (files("weft.derive.report") / name).read_text(encoding="utf-8")
