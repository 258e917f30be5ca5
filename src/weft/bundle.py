"""The compiled modules of a command in one file, instead of one for each: a tenth of the start of a crawl.

For each of two hundred modules Python looks through folders, and opens, reads and closes a file. A bundle is one file
beside the compiled modules, made of them by the first run that finds none. As with them, a source that has another time
or size than it had then makes it void, and so does a folder of weft's own that was changed, or another search path: it
is made anew, and nobody has to think of it.
"""
# ruff: noqa: PTH105, PTH108, PTH116, PTH119, PTH120, PTH123 - pathlib is one of the modules that come from the bundle

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import CodeType, ModuleType

    Stamp = tuple[str, int, int]
    """A file or folder, when it was changed last, and its size."""
    Entry = tuple[str, str, bool, int, int]
    """Of a module: its source, where it is compiled to, whether it is a package, place and size in the bundle."""

__cached__: str | None  # where this module itself is compiled to
_LENGTH_B = 8  # of the number before the table of contents


class Bundle:
    """What is loaded between ``find`` and ``leave`` comes from the bundle of a name, if there is one that holds.

    Only where nothing else may have a say in how modules are found, that is where weft was started by its own script,
    are there bundles.
    """

    def __init__(self, name: str) -> None:
        self._path = ""
        self._found: _Modules | None = None
        self._before: set[str] = set()
        if sys.flags.no_site and __cached__ is not None:
            self._path = f"{os.path.dirname(__cached__)}/{name}.{sys.implementation.cache_tag}.bundle"

    def find(self) -> None:
        """Opens the bundle."""
        self._found = _opened(self._path) if self._path else None
        if self._found is not None:
            sys.meta_path.insert(0, self._found)
        self._before = set(sys.modules)

    def leave(self) -> None:
        """Closes it; where there was none, one is made of all that was loaded meanwhile."""
        if self._found is not None:
            sys.meta_path.remove(self._found)
            self._found.close()
        elif self._path and not sys.dont_write_bytecode:
            _write(self._path, self._before)


class _Modules:
    """Finds modules in a bundle that is open."""

    def __init__(self, file: int, start: int, entries: dict[str, Entry]) -> None:
        self._file: int | None = file
        self._start = start
        self._entries = entries

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        source, compiled, is_package, _, _ = entry
        spec = ModuleSpec(name, _Loader(name, source, self), origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = compiled
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def code_of(self, name: str) -> CodeType | None:
        """The code of a module; None once the bundle was closed, and where it is damaged."""
        if self._file is None:
            return None
        _, _, _, place, size_b = self._entries[name]
        try:
            code: CodeType = marshal.loads(os.pread(self._file, size_b, self._start + place))
        except (OSError, EOFError, ValueError, TypeError):
            return None
        return code

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class _Loader(SourceFileLoader):
    """Loads a module as ever, but for where its code comes from."""

    def __init__(self, name: str, source: str, bundle: _Modules) -> None:
        super().__init__(name, source)
        self._bundle = bundle

    def get_code(self, fullname: str) -> CodeType | None:
        return self._bundle.code_of(fullname) or super().get_code(fullname)


def _opened(path: str) -> _Modules | None:
    """The bundle of a path; None where there is none, or none that holds."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        length = int.from_bytes(os.pread(file, _LENGTH_B, 0), "little")
        made_for, stamps, entries = marshal.loads(os.pread(file, length, _LENGTH_B))
        if made_for == _surroundings() and all(_stamp(stamp[0]) == stamp for stamp in stamps):
            return _Modules(file, _LENGTH_B + length, entries)
    except (OSError, EOFError, ValueError, TypeError):
        pass
    os.close(file)
    return None


def _write(path: str, before: Collection[str]) -> None:
    """Makes a bundle of all modules but those that are loaded before it; one that cannot be written is done without."""
    from contextlib import suppress

    stamps: list[Stamp] = []
    entries: dict[str, Entry] = {}
    codes: list[bytes] = []
    place = 0
    beside = f"{path}.{os.getpid()}"
    try:
        for folder in _own_folders():
            stamps.append(_stamp(folder))
        for module in tuple(sys.modules.values()):
            spec = getattr(module, "__spec__", None)  # not all that stands there is a module
            if spec is None or type(spec.loader) is not SourceFileLoader or not spec.origin or not spec.cached:
                continue
            stamps.append(_stamp(spec.origin))  # before it is read: what changes from now on makes the bundle void
            if spec.name in before:
                continue
            code = marshal.dumps(spec.loader.get_code(spec.name))
            is_package = spec.submodule_search_locations is not None
            entries[spec.name] = (spec.origin, spec.cached, is_package, place, len(code))
            codes.append(code)
            place += len(code)
        contents = marshal.dumps((_surroundings(), stamps, entries))
        with open(beside, "wb") as stream:
            stream.write(len(contents).to_bytes(_LENGTH_B, "little") + contents + b"".join(codes))
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            os.unlink(beside)


def _surroundings() -> tuple[str, int, tuple[str, ...]]:
    """What else says which modules are found, and what their code is."""
    return sys.version, sys.flags.optimize, tuple(sys.path)


def _own_folders() -> list[str]:
    """Where a new file could take the place of one in the bundle."""
    weft = os.path.dirname(__file__)
    inside = [folder for folder, _, _ in os.walk(weft) if os.path.basename(folder) != "__pycache__"]
    return [os.path.dirname(weft), *inside]


def _stamp(path: str) -> Stamp:
    status = os.stat(path)
    return path, status.st_mtime_ns, status.st_size
