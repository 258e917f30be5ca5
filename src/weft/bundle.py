"""The compiled modules of a command in one file, instead of one for each: a tenth of the start of a crawl.

For each of two hundred modules Python looks through folders, and opens, reads and closes a file. A bundle is one file
beside the compiled modules, made of them by the first run that finds none. As with them, a source that has another time
or size than it had then makes it void, and so does another search path, or a file that was added where modules are
looked for: it is made anew, and nobody has to think of it.
"""
# ruff: noqa: PTH105, PTH108, PTH116, PTH119, PTH120, PTH123 - pathlib is one of the modules that come from the bundle

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import CodeType, ModuleType

    Stamp = tuple[str, int, int]
    """A file or folder, when it was changed last, and its size."""
    Entry = tuple[str, str, bool, int, int]
    """Of a module: its source, where it is compiled to, whether it is a package, place and size in the bundle.

    Of one that is a library: its file, and nothing else.
    """

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
        self._missed = _Missed()
        self._before: set[str] = set()
        if sys.flags.no_site and __cached__ is not None:
            self._path = f"{os.path.dirname(__cached__)}/{name}.{sys.implementation.cache_tag}.bundle"

    def find(self) -> None:
        """Opens the bundle."""
        self._found = _opened(self._path) if self._path else None
        if self._found is not None:
            sys.meta_path.insert(0, self._found)
        elif self._path:
            sys.meta_path.append(self._missed)
        self._before = set(sys.modules)

    def leave(self) -> None:
        """Closes it; where there was none, one is made of all that was loaded meanwhile."""
        if self._found is not None:
            sys.meta_path.remove(self._found)
            self._found.close()
        elif self._path:
            sys.meta_path.remove(self._missed)
            if not sys.dont_write_bytecode:
                _write(self._path, self._before, self._missed.names)


class _Missed:
    """Stands behind all that finds modules, and sees what none of them finds: others try, and do without."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None) -> None:
        self.names.append(name)


class _Modules:
    """Finds modules in a bundle that is open."""

    def __init__(self, codes: memoryview, entries: dict[str, Entry], missing: list[str]) -> None:
        self._codes: memoryview | None = codes
        self._entries = entries
        self._missing = missing

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        entry = self._entries.get(name)
        if entry is None:
            if name in self._missing:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return None
        source, compiled, is_package, _, _ = entry
        if not compiled:
            spec = ModuleSpec(name, ExtensionFileLoader(name, source), origin=source)
            spec.has_location = True
            return spec
        spec = ModuleSpec(name, _Loader(name, source, self), origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = compiled
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def code_of(self, name: str) -> CodeType | None:
        """The code of a module; None once the bundle was closed, and where it is damaged."""
        if self._codes is None:
            return None
        _, _, _, place, size_b = self._entries[name]
        try:
            code: CodeType = marshal.loads(self._codes[place : place + size_b])
        except (EOFError, ValueError, TypeError):
            return None
        return code

    def close(self) -> None:
        self._codes = None


class _Loader(SourceFileLoader):
    """Loads a module as ever, but for where its code comes from."""

    def __init__(self, name: str, source: str, bundle: _Modules) -> None:
        super().__init__(name, source)
        self._bundle = bundle

    def get_code(self, fullname: str) -> CodeType | None:
        return self._bundle.code_of(fullname) or super().get_code(fullname)


def _opened(path: str) -> _Modules | None:
    """The bundle of a path; None where there is none, or none that holds."""
    from mmap import ACCESS_READ, mmap  # nothing is copied: the system has the file in memory already

    try:
        with open(path, "rb", buffering=0) as file:
            whole = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        end = _LENGTH_B + int.from_bytes(whole[:_LENGTH_B], "little")
        made_for, stamps, entries, missing = marshal.loads(whole[_LENGTH_B:end])
        if made_for == _surroundings() and all(_stamp(stamp[0]) == stamp for stamp in stamps):
            return _Modules(whole[end:], entries, missing)
    except (OSError, EOFError, ValueError, TypeError):
        pass
    return None


def _write(path: str, before: Collection[str], missing: list[str]) -> None:
    """Makes a bundle of all modules but those that are loaded before it; one that cannot be written is done without."""
    from contextlib import suppress

    stamps: list[Stamp] = []
    entries: dict[str, Entry] = {}
    codes: list[bytes] = []
    place = 0
    beside = f"{path}.{os.getpid()}"
    try:
        for folder in _folders():
            stamps.append(_stamp(folder))
        for module in tuple(sys.modules.values()):
            spec: ModuleSpec | None = getattr(module, "__spec__", None)  # not all that stands there is a module
            loader = spec.loader if spec is not None else None
            if spec is None or spec.origin is None or type(loader) not in (SourceFileLoader, ExtensionFileLoader):
                continue
            stamps.append(_stamp(spec.origin))  # before it is read: what changes from now on makes the bundle void
            if spec.name in before:
                continue
            if isinstance(loader, SourceFileLoader) and spec.cached:
                code = marshal.dumps(loader.get_code(spec.name))
                is_package = spec.submodule_search_locations is not None
                entries[spec.name] = (spec.origin, spec.cached, is_package, place, len(code))
                codes.append(code)
                place += len(code)
            elif isinstance(loader, ExtensionFileLoader):
                entries[spec.name] = (spec.origin, "", False, 0, 0)
        contents = marshal.dumps((_surroundings(), stamps, entries, missing))
        with open(beside, "wb") as stream:
            stream.write(len(contents).to_bytes(_LENGTH_B, "little") + contents + b"".join(codes))
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            os.unlink(beside)


def _surroundings() -> tuple[str, int, tuple[str, ...]]:
    """What else says which modules are found, and what their code is."""
    return sys.version, sys.flags.optimize, tuple(sys.path)


def _folders() -> list[str]:
    """Where a new file could take the place of one in the bundle, or of one that was missed."""
    own = [folder for folder, _, _ in os.walk(os.path.dirname(__file__)) if os.path.basename(folder) != "__pycache__"]
    return [*filter(os.path.isdir, sys.path), *own]


def _stamp(path: str) -> Stamp:
    status = os.stat(path)
    return path, status.st_mtime_ns, status.st_size
