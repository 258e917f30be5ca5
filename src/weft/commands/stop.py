"""weft stop: stop a running crawl cleanly."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from weft.folder import Folder


def run(args: argparse.Namespace) -> int:
    folder = Folder(Path(args.folder))
    folder.require()
    if not folder.is_running():
        print(f"weft: no crawl is running in {folder.path}", file=sys.stderr)
        return 0
    folder.stop.touch()
    print(f"weft: the crawl in {folder.path} stops as soon as its pages under way are stored", file=sys.stderr)
    return 0
