"""weft import: a crawl folder from other crawlers' WARC and WACZ files, or from tables of documents and links."""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.cli.machine import print_json
from weft.cli.main import DONE, tell, warn
from weft.cli.progress import ShownProgress
from weft.errors import SpecError
from weft.run.imports import import_files
from weft.text.human import counted

_SHOWN = 10


def run(args: argparse.Namespace) -> int:
    if args.output is None:
        raise SpecError("import: say where to: -o DIR")
    with ShownProgress("importing:") as progress:
        made = import_files([Path(name) for name in args.files], Path(args.output), progress)
    for problem in made.problems[:_SHOWN]:
        warn(problem)
    if len(made.problems) > _SHOWN:
        warn(f"{len(made.problems) - _SHOWN:,} more of that kind (--json lists them)")
    if args.json:
        print_json(made)
    else:
        tell(f"{counted(made.pages, 'page')} and {counted(made.links, 'link')} in {made.folder}")
    return DONE
