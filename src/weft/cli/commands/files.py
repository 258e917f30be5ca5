"""weft files: the stored files of a crawl, each once, under safe names; and which pages show or link them."""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.cli.progress import ShownProgress
from weft.derive.files import write_files
from weft.derive.read import StoredCrawl
from weft.text.human import counted


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl, ShownProgress() as progress:
        written = write_files(crawl, Path(args.to), progress)
    print(f"{counted(written.files, 'file')} in {args.to}, {counted(written.rows, 'row')} in files.csv")
    return 0
