"""What a run that ended, however it ended, left of the archive: its files made to end where the database says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from weft.errors import StoreError
from weft.store.warc.writer import OUR_FILE


def recover(folder: Path, committed: Mapping[str, int]) -> list[str]:
    """The names of committed files that are missing or shorter than they must be; all others are made to fit.

    A file is cut back to its committed length; a file of ours that is not committed is removed. Files that have
    other names than we give are left alone, and nothing is cut through a link.
    """
    damaged = []
    try:
        for name, size_b in sorted(committed.items()):
            path = folder / name
            surplus_b = path.stat().st_size - size_b if Path(name).name == name and path.is_file() else -1
            if surplus_b < 0 or (surplus_b and path.is_symlink()):
                damaged.append(name)
            elif surplus_b:
                os.truncate(path, size_b)
        for path in our_files(folder):
            if path.name not in committed and not path.is_dir():
                path.unlink()
    except OSError as error:
        raise StoreError(f"cannot tidy {folder}: {error.strerror or error}") from error
    return damaged


def our_files(folder: Path) -> list[Path]:
    """The files in a folder that have names as we give them, committed or not."""
    return sorted(path for path in folder.iterdir() if OUR_FILE.fullmatch(path.name)) if folder.is_dir() else []


def keep_aside(folder: Path) -> None:
    """Gives our files names that no crawl takes for its own: `kept-` before the old one."""
    try:
        for path in our_files(folder):
            path.rename(_free_name(path.with_name(f"kept-{path.name}")))
    except OSError as error:
        raise StoreError(f"cannot tidy {folder}: {error.strerror or error}") from error


def _free_name(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        free = path.with_name(f"{number}-{path.name}")
        number += 1
    return free


def cut_files(folder: Path, prefix: str, sizes: Mapping[str, int]) -> None:
    """Makes the files of one writer that is gone end where they are known to; those that nobody knows are removed."""
    try:
        for path in folder.glob(f"weft-{prefix}-*.warc*"):
            size_b = sizes.get(path.name)
            if size_b is None:
                path.unlink()
            elif path.stat().st_size > size_b:
                os.truncate(path, size_b)
    except OSError as error:
        raise StoreError(f"cannot tidy {folder}: {error.strerror or error}") from error
