"""weft resume: go on with a stopped crawl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.arguments import options_given
from weft.cli.main import warn
from weft.cli.running import run_passes
from weft.errors import HOW_TO_BEGIN, FolderError
from weft.folder import Folder
from weft.options import resume_order
from weft.run.session import plan_resume

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    folder = Folder(Path(args.folder))
    if not folder.spec.is_file():
        folder.require()
        raise FolderError(f"{folder.path} holds no crawl (there is no {folder.spec.name} in it): {HOW_TO_BEGIN}")
    order = resume_order(folder.path, options_given(args), warn=warn)
    plan = plan_resume(order.spec, folder, warn)
    return run_passes(plan, order.run)
