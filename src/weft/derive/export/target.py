"""Where an export goes: files and folders that get their names when they are whole, and replace only their like."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.derive.rows import refuse_target
from weft.errors import SpecError, WeftError
from weft.folder import Folder


@contextmanager
def workshop(target: Path, crawl: Folder) -> Iterator[Path]:
    """An empty folder beside the target, on its file system, for what is not whole yet. It is gone at the end.

    What the system says while it is written is told as one sentence.
    """
    parent = target.resolve().parent
    if not parent.is_dir():
        raise SpecError(f"{target} cannot be written: there is no folder {parent}")
    work = parent / f".{target.name[-100:]}.{os.getpid()}.part"
    try:
        shutil.rmtree(work, ignore_errors=True)  # left behind by a process of this number that was killed
        work.mkdir()
        yield work
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise WeftError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def refuse_file(target: Path, crawl: Folder, *, force: bool) -> None:
    """Raises ``SpecError`` where a file cannot be written, or is there already and may not be replaced."""
    refuse_target(target, crawl)
    if target.exists() and not target.is_file():
        raise SpecError(f"{target} is no plain file: name one")
    if target.exists() and not force:
        raise SpecError(f"{target} exists: --force replaces it")


def refuse_folder(target: Path, crawl: Folder, sign: str, *, force: bool) -> None:
    """Raises ``SpecError`` where a folder cannot become the export.

    ``sign`` is a file that every export of the form has: with ``force`` a folder that holds it is replaced. A folder
    with other things in it never is.
    """
    if target.exists() and not target.is_dir():
        raise SpecError(f"{target} is a file: name a folder")
    real, home = target.resolve(), crawl.path.resolve()
    if home.is_relative_to(real) or any(real.is_relative_to(home / name) for name in ("warc", "logs", "index")):
        raise SpecError(f"{target} belongs to the crawl itself: name another folder")
    if not target.is_dir() or not any(target.iterdir()):
        return
    if not (target / sign).is_file():
        raise SpecError(f"{target} is not empty and holds no such export (there is no {sign} in it): name another one")
    if not force:
        raise SpecError(f"{target} exists: --force replaces it")


def put_in_place(made: Path, target: Path) -> None:
    """Gives a file or folder that is whole its name; what had the name before is gone then, and not earlier."""
    real = target.resolve()
    if not made.is_dir():
        made.replace(real)
        return
    aside = made.with_name("replaced")
    if real.is_dir():
        real.rename(aside)
    try:
        made.rename(real)
    except OSError:
        if aside.is_dir():
            aside.rename(real)
        raise
