"""Things that are made when they are first used: a crawl starts sooner, and pays only for what its pages need."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, AnyStr, cast

try:
    import _datetime  # type: ignore[import-not-found] # datetime says it all in Python, and takes it from here then
except ImportError:
    _datetime = ModuleType("_datetime")

LATER, LATER_LOGGER = object(), object()
"""Say of something in a module that it may be a stand-in as well, which loads the module when it is used."""

HARDLY_USED: dict[str, dict[str, object]] = {
    # libcurl connects, and does TLS
    "ssl": {}, "asyncio.sslproto": {}, "asyncio.staggered": {}, "asyncio.trsock": {},
    "pycurl.async_multi": {"AsyncCurlMulti": LATER},
    # threads and programs are started by few
    "concurrent": {},
    "concurrent.futures": {name: name for name in ("FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED")},
    "subprocess": {"PIPE": -1, "STDOUT": -2, "DEVNULL": -3},
    # schemas, and forms that are not used; uuid, whose type msgspec knows, asks for the name of the system
    "msgspec.inspect": {}, "msgspec.toml": {}, "msgspec.yaml": {},
    "msgspec._json_schema": {"schema": LATER, "schema_components": LATER},
    "textwrap": {}, "platform": {"system": lambda: os.uname().sysname},
    # for errors
    "logging": {"DEBUG": 10}, "asyncio.log": {"logger": LATER_LOGGER}, "traceback": {"extract_stack": LATER},
    "inspect": {}, "linecache": {}, "tokenize": {},
    # for patterns of names of files; and what is all there in C
    "fnmatch": {},
    "datetime": {name: value for name, value in vars(_datetime).items() if not name.startswith("__")},
}  # fmt: skip
"""What the modules of a crawl load for cases that hardly any crawl meets: a fifth of all that is loaded.

With each module stands what others take from it already while they are loaded.
"""

_PACKAGES = ("concurrent", "concurrent.futures", "logging")


@contextmanager
def loading() -> Iterator[None]:
    """To load a program in: without what it will hardly use, and without the garbage collector.

    What is loaded stays: looking through it again and again takes a tenth of the time. Compiled libraries are joined
    function by function as these are called, not with all the thousands that libcurl and what it needs have.
    """
    gc.disable()
    flags = sys.getdlopenflags() if hasattr(sys, "getdlopenflags") else None
    if flags is not None:
        sys.setdlopenflags(flags & ~os.RTLD_NOW | os.RTLD_LAZY)
    try:
        with put_off(HARDLY_USED):
            yield
    finally:
        if flags is not None:
            sys.setdlopenflags(flags)
        gc.freeze()  # else the first look, at all that was loaded, would come at once
        gc.enable()


@contextmanager
def put_off(modules: Mapping[str, Mapping[str, object]]) -> Iterator[None]:
    """What is loaded meanwhile gets stand-ins of the modules named, and they themselves are loaded when they are used.

    What is told of a module is had from its stand-in without that. Whoever loads one of them later gets the module
    itself.
    """
    later = [_Later(name, known) for name, known in modules.items() if name not in sys.modules]
    sys.modules.update((module.__name__, module) for module in later)
    for module in later:
        module.join_package()
    try:
        yield
    finally:
        for module in later:
            module.leave()


class _Later(ModuleType):
    """Stands for a module that is loaded when something of it is asked for that is not known."""

    def __init__(self, name: str, known: Mapping[str, object]) -> None:
        super().__init__(name)
        for part, value in known.items():
            if value is LATER:
                value = _LaterPart(self, part)
            elif value is LATER_LOGGER:
                value = _LaterLogger(self, part)
            setattr(self, part, value)

    def __getattr__(self, name: str) -> object:
        if name == "__path__" and self.__name__ not in _PACKAGES:  # asked by every import of something out of it
            raise AttributeError(name)
        return getattr(self.loaded(), name)

    def loaded(self) -> ModuleType:
        """The module itself."""
        self.leave()
        return import_module(self.__name__)

    def leave(self) -> None:
        """Makes room for the module itself, which others are to find from now on."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
            self.join_package()

    def join_package(self) -> None:
        """Stands where the module would stand as an attribute."""
        package, _, name = self.__name__.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], name, self)


class _LaterPart:
    """Stands for a function or an object of a module that is put off."""

    def __init__(self, module: _Later, name: str) -> None:
        self._module = module
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._module.loaded(), self._name), name)

    def __call__(self, *values: object, **named: object) -> Any:
        return getattr(self._module.loaded(), self._name)(*values, **named)


class _LaterLogger(_LaterPart):
    """Stands for a logger. Before anybody has loaded ``logging``, nobody has asked it for more than warnings."""

    def debug(self, *words: object) -> None:
        if "logging" in sys.modules:
            self.log(sys.modules["logging"].DEBUG, *words)


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
