"""What a run that ended, however it ended, left of the archive: its files made to end where the database says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from weft.errors import StoreError
from weft.store.warc import OUR_FILE


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
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.name not in committed and OUR_FILE.fullmatch(path.name) and not path.is_dir():
                path.unlink()
    except OSError as error:
        raise StoreError(f"cannot tidy {folder}: {error.strerror or error}") from error
    return damaged
