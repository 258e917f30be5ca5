"""Things that are made when they are first used: a crawl starts sooner, and pays only for what its pages need."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import AnyStr, cast

HARDLY_USED = (
    "ssl", "asyncio.sslproto", "asyncio.staggered", "asyncio.trsock",  # of asyncio: libcurl connects, and does TLS
    "msgspec.inspect", "msgspec.toml", "msgspec.yaml", "textwrap",  # of msgspec: schemas, and forms that are not used
    "inspect", "traceback", "tokenize",  # for errors
)  # fmt: skip
"""What the modules of a crawl load for cases that hardly any crawl meets: a tenth of all that is loaded."""


@contextmanager
def loading() -> Iterator[None]:
    """To load a program in: without what it will hardly use, and without the garbage collector.

    What is loaded stays: looking through it again and again takes a tenth of the time.
    """
    gc.disable()
    try:
        with put_off(*HARDLY_USED):
            yield
    finally:
        gc.enable()


@contextmanager
def put_off(*names: str) -> Iterator[None]:
    """What is loaded meanwhile gets stand-ins of the modules named, and they themselves are loaded when they are used.

    Whoever loads one of them later gets the module itself.
    """
    later = [_Later(name) for name in names if name not in sys.modules]
    sys.modules.update((module.__name__, module) for module in later)
    try:
        yield
    finally:
        for module in later:
            module.leave()


class _Later(ModuleType):
    """Stands for a module that is loaded when something of it is asked for."""

    def __getattr__(self, name: str) -> object:
        self.leave()
        return getattr(import_module(self.__name__), name)

    def leave(self) -> None:
        """Makes room for the module itself, which others are to find from now on."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
            package, _, name = self.__name__.rpartition(".")
            if package in sys.modules:  # where the module would stand as an attribute
                setattr(sys.modules[package], name, self)


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled at its first use.

    Python compiles them in Python: all of weft's would be a tenth of the start of a crawl, and most meet no page that
    needs them. What nearly every page needs is compiled by ``re`` as ever.
    """
    return cast("re.Pattern[AnyStr]", _Pattern(pattern, flags))


class _Pattern:
    """Stands for a pattern; each method is kept as its own attribute once it was asked for."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags
        self._compiled: re.Pattern[str] | re.Pattern[bytes] | None = None

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # copying and pickling ask for what patterns do not have
            raise AttributeError(name)
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found
