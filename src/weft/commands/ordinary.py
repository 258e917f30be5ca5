"""Ordinary command lines of ``weft crawl`` and ``weft resume``, read without argparse.

To load it and to tell it of a hundred options takes as long as all else of a start that is weft's own Python. What is
read here is what argparse would make of it; whatever is not quite ordinary is left to it (weft.commands.arguments).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence


def parse(command: str, words: Sequence[str]) -> argparse.Namespace | None:
    """The arguments of a command, or None where help was asked for and printed; ``SpecError`` for wrong use."""
    args = _READERS[command](words) if command in _READERS else None
    if args is None:
        from weft.commands import arguments

        return arguments.parse(command, words)
    return args


def options_given(args: argparse.Namespace) -> dict[str, object]:
    """The crawl options that stand on the command line, by name, as they were written."""
    from weft.options import BY_NAME

    return {name: value for name, value in vars(args).items() if name in BY_NAME}


def _crawl(words: Sequence[str]) -> argparse.Namespace | None:
    """The arguments of ``weft crawl``; None where argparse has to say."""
    read = _read(words, {"-c": ("config", False), "--config": ("config", False)}, on_resume=False)
    if read is None:
        return None
    seeds, options = read
    return cast("argparse.Namespace", SimpleNamespace(**{"seeds": seeds, "config": None} | options))


def _resume(words: Sequence[str]) -> argparse.Namespace | None:
    """The arguments of ``weft resume``; None where argparse has to say."""
    read = _read(words, {}, on_resume=True)
    if read is None or len(read[0]) != 1:
        return None
    (folder,), options = read
    return cast("argparse.Namespace", SimpleNamespace(**{"folder": folder} | options))


_READERS: dict[str, Callable[[Sequence[str]], argparse.Namespace | None]] = {"crawl": _crawl, "resume": _resume}


def _read(
    words: Sequence[str], named: dict[str, tuple[str, bool]], *, on_resume: bool
) -> tuple[list[str], dict[str, Any]] | None:
    """The positional words and the options by name; None where a word is none of either as plainly as can be.

    ``named`` are flags beside those of the table that take a value: what they are called, whether they may be repeated.
    """
    from weft.options import OPTIONS, opposite

    switches: dict[str, tuple[str, bool]] = {}
    for option in OPTIONS:
        if on_resume and not option.may_change:
            continue
        if option.kind.is_switch:
            switches[option.flag] = (option.name, True)
            switches[opposite(option)] = (option.name, False)
        else:
            named[option.flag] = (option.name, option.kind.many)
            if option.short:
                named[option.short] = (option.name, option.kind.many)
    positionals: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            positionals.append(word)
        elif word in switches:
            name, given[name] = switches[word]
        else:
            flag, equals, value = word.partition("=")
            if flag not in named:
                return None
            if not equals:
                value = next(rest, "-")
            if value.startswith("-") or (not flag.startswith("--") and (equals or not value)):
                return None
            name, many = named[flag]
            if many:
                given.setdefault(name, []).append(value)
            else:
                given[name] = value
    return positionals, given
