"""Parts of the user's own (R4): functions that a crawl calls in places of its flow, named by ``ROLE=MODULE:NAME``.

Each role is a function; ``NAME`` is one, or a class whose instances can be called. What they get and give is in
``ROLES`` and docs/parts.md. A part that fails stops the crawl, by its name; a parser that fails is a bug of its page.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from weft.errors import PartError, SpecError

Function = Callable[..., Any]  # the border to foreign code: who calls a part says what it gets and gives

ROLES = {
    "manager": "(lines: list[str]) -> list[str]: the lines of hosts.txt that are crawled",
    "analyser": "(url: str) -> bool: whether a URL that the crawl admits is asked",
    "downloader": "(fetcher) -> fetcher: the part that asks, made from weft's own",
    "parser": "(body: bytes, url: str, content_type: str | None, parsed: Parsed) -> Parsed: what is read in a page",
    "robots": "(url: str, robots_txt: str, allowed: bool) -> bool: whether robots.txt lets a URL be asked",
    "store": "(store) -> store: the part that writes visits and links, made from weft's own",
    "routine": "(rows: list[CommonRow]) -> None: told of every visit once it is stored, at least once a second",
    "finisher": "(progress: weft.records.Progress) -> bool: whether the run ends now, asked at least once a second",
    "unloader": "(crawl: StoredCrawl, folder: Path) -> None: writes results whenever a run ends",
}
"""What a part of each role is called with, and what it gives."""


def split_part(text: str) -> tuple[str, str, str]:
    """Role, module (or file) and name of ``ROLE=MODULE:NAME``; ValueError says what is wrong."""
    role, equals, place = text.partition("=")
    module, colon, name = place.rpartition(":")
    if not equals or not colon or not module or not name.isidentifier():
        raise ValueError(f"{text!r} is not of the form ROLE=MODULE:NAME or ROLE=FILE.py:NAME")
    if role not in ROLES:
        raise ValueError(f"{role!r} is no role of a part: there are {', '.join(ROLES)}")
    return role, module, name


def located(text: str, folder: Path) -> str:
    """``ROLE=MODULE:NAME`` with an absolute file in place of one that lies in the folder; ValueError as above."""
    role, module, name = split_part(text)
    if module.endswith(".py"):
        module = os.path.abspath(folder / Path(module).expanduser())
    elif module.isidentifier() and (folder / f"{module}.py").is_file():
        module = os.path.abspath(folder / f"{module}.py")
    return f"{role}={module}:{name}"


def check_parts(texts: Sequence[str], crawl: Path) -> None:
    """Raises ``SpecError`` for a part that is not there, for one in the crawl's own folder, and for Python's own.

    A folder may come from somebody else: going on with its crawl must not run what lies in it, nor lead its URLs into
    a function such as ``os.system``.
    """
    for text in texts:
        _, module, name = split_part(text)
        if module.partition(".")[0] in sys.stdlib_module_names:
            raise SpecError(f"the part {text} is none of your own: {module} belongs to Python")
        if any(place.resolve().is_relative_to(crawl.resolve()) for place in _places(module)):
            raise SpecError(f"the part {text} lies in the crawl's own folder: parts are taken from elsewhere only")
        _found(text, module, name)


def _places(module: str) -> list[Path]:
    """Where the code of a module, or its package, would be loaded from. Nothing is loaded to find it."""
    if module.endswith(".py"):
        return [Path(module)]
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):  # whoever loads it says what is wrong
        return []
    if spec is None:
        return []
    return [Path(place) for place in (spec.origin, *(spec.submodule_search_locations or ())) if place is not None]


class LoadedPlugins:
    """The user's parts of one crawl, loaded; ``SpecError`` where one cannot be."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._functions: dict[str, list[Function]] = {}
        for text in texts:
            role, module, name = split_part(text)
            self._functions.setdefault(role, []).append(load(text, module, name))

    def all(self, role: str) -> list[Function]:
        """Every part of a role, in the order in which they were named."""
        return self._functions.get(role, [])

    def one(self, role: str) -> Function | None:
        """The part of a role; where several were named, the last."""
        return self.all(role)[-1] if self.all(role) else None

    def made(self, role: str, built_in: Any) -> Any:
        """The built-in part, or what the user's parts of this role make of it."""
        for make in self.all(role):
            built_in = make(built_in)
        return built_in


def load(part: str, module: str, name: str) -> Function:
    """The function that is named; it raises ``PartError`` where the user's code fails."""
    found = _found(part, module, name)
    try:
        function = found() if isinstance(found, type) else found
    except Exception as error:  # the border to the user's code
        raise SpecError(f"the part {part} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise SpecError(f"the part {part} cannot be called: {name} has no method __call__")

    def called(*values: Any) -> Any:
        try:
            return function(*values)
        except PartError:
            raise
        except Exception as error:  # the border to the user's code
            raise PartError(f"the part {part} failed: {type(error).__name__}: {error}") from error

    return called


def is_in_use() -> bool:
    """Whether any code of the user's was loaded."""
    return _module.cache_info().currsize > 0


def _found(part: str, module: str, name: str) -> object:
    try:
        loaded = _module(module)
    except SpecError:
        raise
    except Exception as error:  # the border to the user's code
        raise SpecError(f"the part {part} cannot be loaded: {type(error).__name__}: {error}") from error
    if not hasattr(loaded, name):
        raise SpecError(f"the part {part}: there is no {name} in {module}")
    found: object = getattr(loaded, name)
    if not callable(found):
        raise SpecError(f"the part {part} cannot be called: {name} is of type {type(found).__name__}")
    return found


@cache
def _module(name: str) -> ModuleType:
    """A module by its name, or a file by its path. Parts of one file share one module."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name)
    if not path.is_file():
        raise SpecError(f"there is no file {path} to take a part from")
    spec = importlib.util.spec_from_file_location(f"weft_own_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
