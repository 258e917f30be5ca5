"""Extras: libraries that only some commands need.

Installed by pip, weft names the missing extra. In the environment that ``./weft`` made, an extra is installed at its
first use, from a lock file of its own beside pyproject.toml: ``requirements-graph.lock``. ``./weft`` names its
environment in ``WEFT_ENVIRONMENT``. The last step of an installation is a copy of the lock file into the environment:
without it, or with another content, the extra is installed anew.

``python -m weft.extras NAME...`` installs every extra, and further lock files by their names, as ``./test`` does.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from weft.errors import SpecError

ENVIRONMENT = "WEFT_ENVIRONMENT"
ROOT = Path(__file__).resolve().parents[2]


class Extra(NamedTuple):
    """An optional dependency of pyproject.toml: what it is for, and the modules that it brings."""

    purpose: str
    modules: tuple[str, ...]


EXTRAS = {
    "documents": Extra("sizes of images, texts of documents", ("imagesize", "olefile", "pypdfium2")),
    "graph": Extra("measures and pictures of a graph", ("igraph", "PIL.Image")),
    "parquet": Extra("parquet files", ("pyarrow.parquet",)),
}


def need(name: str) -> None:
    """Import the modules of an extra; ``SpecError`` where they are missing and cannot be installed."""
    if _is_own_environment() and not _is_installed(name):
        _install(name)
    try:
        for module in EXTRAS[name].modules:
            importlib.import_module(module)
    except ImportError:
        missing = f"the extra {name} ({EXTRAS[name].purpose}) is missing"
        raise SpecError(f"{missing}: pip install 'weft-crawler[{name}]'") from None


def _is_own_environment() -> bool:
    """Whether this Python is the environment that ``./weft`` made for its folder."""
    named = os.environ.get(ENVIRONMENT)
    return named is not None and Path(named).is_dir() and Path(named).samefile(sys.prefix)


def _lock_of(name: str) -> Path:
    return ROOT / f"requirements-{name}.lock"


def _copy_of(name: str) -> Path:
    """The copy of the lock file that says: installed."""
    return Path(sys.prefix, "extras", _lock_of(name).name)


def _is_installed(name: str) -> bool:
    copy = _copy_of(name)
    return copy.is_file() and copy.read_bytes() == _lock_of(name).read_bytes()


def _install(name: str) -> None:
    """Run pip with the lock file of an extra; one process at a time does it, others wait."""
    import fcntl  # not on every system; nor is ./weft

    lock, copy = _lock_of(name), _copy_of(name)
    what = f"the extra {name} ({EXTRAS[name].purpose})" if name in EXTRAS else f"the packages of {lock.name}"
    print(f"weft: installing {what}, once ...", file=sys.stderr, flush=True)
    try:
        with Path(f"{sys.prefix}.lock").open("wb") as alone:  # as ./weft does for the environment itself
            fcntl.flock(alone, fcntl.LOCK_EX)
            if _is_installed(name):
                return
            content = lock.read_bytes()
            _run_pip("--requirement", str(lock), "--constraint", str(ROOT / "requirements.lock"))
            copy.parent.mkdir(exist_ok=True)
            beside = copy.with_suffix(".new")
            beside.write_bytes(content)
            beside.replace(copy)
    except (OSError, _PipFailed) as error:
        raise SpecError(f"{what} could not be installed: {error}") from None
    finally:
        importlib.invalidate_caches()


class _PipFailed(Exception):
    """The last line that pip said."""


def _run_pip(*words: str) -> None:
    import subprocess  # takes longer to load than the rest of most commands

    done = subprocess.run(
        [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise _PipFailed([line for line in ("pip failed", *done.stderr.splitlines()) if line.strip()][-1])


def main(names: Sequence[str]) -> int:
    """Install every extra, and the lock files of further names; the exit code."""
    try:
        for name in (*EXTRAS, *names):
            if not _is_installed(name):
                _install(name)
    except SpecError as error:
        print(f"weft: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
