"""weft export: a crawl in the forms that other programs have."""

from __future__ import annotations

import argparse

from weft.cli.machine import print_json
from weft.cli.main import tell
from weft.cli.progress import ShownProgress
from weft.derive.export import Choice, export_crawl
from weft.derive.export.model import form_named
from weft.derive.read import StoredCrawl
from weft.errors import SpecError
from weft.options.values import Context, size
from weft.text.human import counted

_ONLY = {
    "warc_size": ("warc",),
    "operator": ("warc", "wacz"),
    "description": ("warc", "wacz"),
    "indexable": ("sitemap",),
    "rewrite_links": ("mirror",),
    "names": ("mirror",),
}
"""Options that only some forms have."""


def run(args: argparse.Namespace) -> int:
    form = form_named(args.form)
    if args.to_file is None:
        raise SpecError("export: say where to: --to PATH")
    for name, forms in _ONLY.items():
        if getattr(args, name) and form not in forms:
            raise SpecError(f"--{name.replace('_', '-')} is for --as {' and '.join(forms)}, not for {form}")
    choice = Choice(
        where=tuple(args.where),
        force=args.force,
        warc_file_b=_size(args.warc_size),
        operator=args.operator,
        description=args.description,
        indexable=args.indexable,
        rewrite_links=args.rewrite_links,
        names=args.names or "path",
    )
    with StoredCrawl(args.folder) as crawl, ShownProgress() as progress:
        written = export_crawl(crawl, form, args.to_file, choice, progress)
    if args.json:
        print_json(written)
    else:
        files = f" in {counted(written.files, 'file')}" if written.files > 1 else ""
        missing = f"; {counted(written.missing, 'link')} to what is not in it: missing.tsv" if written.missing else ""
        tell(f"{counted(written.pages, 'page')}{files}: {written.to}{missing}")
    return 0


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    from pathlib import Path

    try:
        value = size(1_000).read(text, Context(Path.cwd(), None, True))
    except ValueError as error:
        raise SpecError(f"--warc-size: {error}") from None
    assert isinstance(value, int)
    return value
