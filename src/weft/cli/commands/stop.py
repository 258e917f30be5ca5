"""weft stop: stop a running crawl cleanly."""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.cli.main import tell
from weft.folder import Folder


def run(args: argparse.Namespace) -> int:
    folder = Folder(Path(args.folder))
    folder.require()
    if not folder.is_running():
        tell(f"no crawl is running in {folder.path}")
        return 0
    folder.stop.touch()
    tell(f"the crawl in {folder.path} stops as soon as its pages under way are stored")
    return 0
