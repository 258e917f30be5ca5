"""One export: its target is checked before the work, made beside it, and named when it is whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from weft.derive.export.model import FILE_FORMS, Choice, Chosen, Written, form_named, stem_of
from weft.derive.export.target import put_in_place, refuse_file, refuse_folder, workshop
from weft.derive.read import StoredCrawl
from weft.errors import SpecError
from weft.extras import need
from weft.ports import Progress, silent

WARC_ENDINGS = (".warc.gz", ".warc")
_ENDINGS = {
    "warc": WARC_ENDINGS,
    "wacz": (".wacz",),
    "index": (),
    "sqlite": (".db", ".sqlite", ".sqlite3"),
}
_SIGNS = {
    "mirror": "files.tsv",
    "parquet": "pages.parquet",
    "sitemap": "sitemap.xml",
    "jsonl": "pages.jsonl",
    "markdown": "files.tsv",
}


def export_crawl(
    crawl: StoredCrawl, form: str, to: str | Path, choice: Choice | None = None, progress: Progress = silent
) -> Written:
    """Writes a crawl in a form, whole or not at all."""
    choice, target, form = choice or Choice(), Path(to), form_named(form)
    _refuse(crawl, form, target, choice)
    chosen = Chosen(crawl, choice, progress)
    with workshop(target, crawl.folder) as work:
        if form == "warc" and choice.warc_file_b is not None:
            return _write_several_warcs(chosen, work, target, choice)
        made = work / "made"
        pages, files, missing = _WRITERS[form](chosen, work, made, target)
        put_in_place(made, target)
    return Written(form=form, to=str(target), pages=pages, files=files, missing=missing)


def _refuse(crawl: StoredCrawl, form: str, target: Path, choice: Choice) -> None:
    if form == "parquet":
        need("parquet")
    if form not in FILE_FORMS:
        refuse_folder(target, crawl.folder, _SIGNS[form], force=choice.force)
        return
    endings = _ENDINGS[form]
    if endings and not target.name.lower().endswith(endings):
        raise SpecError(f"{target}: a file of the form {form} ends in {' or '.join(endings)}")
    refuse_file(target, crawl.folder, force=choice.force)
    if choice.warc_file_b is not None and not choice.force:
        stem = stem_of(target, WARC_ENDINGS)
        there = sorted(target.parent.glob(f"{_escaped(stem)}-[0-9][0-9][0-9][0-9][0-9].warc.gz"))
        if there:
            raise SpecError(f"{there[0]} exists: --force replaces it")


def _escaped(text: str) -> str:
    from glob import escape

    return escape(text)


def _write_several_warcs(chosen: Chosen, work: Path, target: Path, choice: Choice) -> Written:
    """NAME-00001.warc.gz and so on, as ``--warc-size`` wants; all of them get their names at the end."""
    from weft.derive.export.warc import write_warc

    stem = stem_of(target, WARC_ENDINGS)
    made = work / "made"
    made.mkdir()
    pages = write_warc(chosen, made, lambda number: f"{stem}-{number:05d}.warc.gz", max_file_b=choice.warc_file_b)
    files = sorted(made.iterdir())
    for path in files:
        path.replace(target.parent / path.name)
    return Written(form="warc", to=str(target), pages=pages, files=len(files))


_Counts = tuple[int, int, int]
"""Pages, files, and URLs that are missing."""


def _warc(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    from weft.derive.export.warc import write_warc

    folder = work / "warc"
    folder.mkdir()
    pages = write_warc(chosen, folder, lambda _: target.name)
    (folder / target.name).replace(made)
    return pages, 1, 0


def _wacz(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    from weft.derive.export.wacz import write_wacz

    return write_wacz(chosen, work, made), 1, 0


def _index(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    from weft.derive.export.index import write_index

    return write_index(chosen, made), 1, 0


def _sqlite(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    from weft.derive.export.sqlite import write_sqlite

    return write_sqlite(chosen, made), 1, 0


def _tables(chosen: Chosen, work: Path, made: Path, target: Path, form: str) -> _Counts:
    from weft.derive.export.tables import write_tables

    made.mkdir()
    pages = write_tables(chosen, made, form)
    return pages, len(list(made.iterdir())), 0


def _parquet(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    return _tables(chosen, work, made, target, "parquet")


def _jsonl(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    return _tables(chosen, work, made, target, "jsonl")


def _sitemap(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    from weft.derive.export.sitemap import write_sitemaps

    made.mkdir()
    pages = write_sitemaps(chosen, made)
    return pages, len(list(made.iterdir())), 0


def _mirror(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    from weft.derive.export.mirror import write_mirror

    made.mkdir()
    return write_mirror(chosen, made)


def _markdown(chosen: Chosen, work: Path, made: Path, target: Path) -> _Counts:
    from weft.derive.export.markdown import write_markdown

    made.mkdir()
    return *write_markdown(chosen, made), 0


_WRITERS: dict[str, Callable[[Chosen, Path, Path, Path], _Counts]] = {
    "warc": _warc,
    "wacz": _wacz,
    "index": _index,
    "sqlite": _sqlite,
    "parquet": _parquet,
    "jsonl": _jsonl,
    "sitemap": _sitemap,
    "mirror": _mirror,
    "markdown": _markdown,
}
