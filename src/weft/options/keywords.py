"""The options as keyword arguments with types: the text of ``crawl_options.py``, which type checkers read."""

from __future__ import annotations

from enum import StrEnum
from types import UnionType
from typing import get_args

from weft.options.option import OPTIONS, Option

_HEAD = '''"""The options of a crawl as keyword arguments, each with its type. Made by tools/write_options.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict


class CrawlOptions(TypedDict, total=False):
    """The options of ``weft crawl`` (docs/options.md) with underscores. Texts are read as on the command line."""

'''


def keywords_module() -> str:
    """The module, as it has to stand in the source tree."""
    return _HEAD + "".join(f"    {option.python_name}: {_type(option)}\n" for option in OPTIONS if option.in_spec)


def _type(option: Option) -> str:
    """The types of the values that an option may have from Python."""
    bare, *none = get_args(option.type) if isinstance(option.type, UnionType) else (option.type,)
    return f"{_required_type(option, bare)} | None" if none else _required_type(option, bare)


def _required_type(option: Option, bare: object) -> str:
    if isinstance(bare, type) and issubclass(bare, StrEnum):
        words = ", ".join(f'"{word}"' for word in bare)
        return f"Literal[{words}]" + (" | bool" if "yes" in set(bare) else "")
    if option.name == "site":
        return "str | Sequence[str] | Mapping[str, Mapping[str, str | float]]"
    if option.name == "record":
        return "str | Sequence[str] | Mapping[str, Mapping[str, str | Mapping[str, str | bool]]]"
    if option.kind.many:
        return "str | Sequence[str]"
    if bare is str:
        return "str | PathLike[str]" if option.kind.names_file else "str"
    return {bool: "bool", int: "int | str", float: "float | str"}[bare] if isinstance(bare, type) else "object"
