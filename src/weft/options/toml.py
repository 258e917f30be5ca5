"""Specifications as TOML: flat keys with the names of the options.

Reading keeps the line of every key, so that an error names file and line. Writing gives every option with its
value, in groups, and withholds secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from weft.errors import SpecError
from weft.options.checks import header_name
from weft.options.option import BY_NAME, GROUPS, OPTIONS, Option, value_in
from weft.options.values import Plain, Value
from weft.spec import CrawlSpec
from weft.text.patterns import regex

MAX_FILE_B = 50_000_000
SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
"""Headers whose values are credentials: they are withheld from crawl.toml like the secrets."""

_AT = regex(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_EXTRA_KEYS = ("seeds", "secrets")
_KEY = regex(r"""[ \t]*(?:\[[ \t]*)?(?:"([^"]*)"|'([^']*)'|([\w-]+))[ \t]*(?:[=.\]]|$)""")


class Given(msgspec.Struct, frozen=True):
    """A value as somebody wrote it, and where."""

    raw: object
    where: str  # "--max-pages", "crawl.toml:7: max-pages", "WEFT_AUTH"
    folder: Path


class SpecFile(msgspec.Struct, frozen=True):
    """What a TOML file holds, not yet read into values."""

    path: Path
    given: dict[str, Given]
    seeds: tuple[str, ...]
    secrets: tuple[str, ...]


def read_toml(path: Path) -> SpecFile:
    """The keys of a TOML file with their places, or ``SpecError`` with file, line and the nearest valid name."""
    import tomllib

    text = text_of(path)
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(_syntax_message(path, text, str(error))) from None
    given, lines = {}, _key_lines(text)
    for key, raw in table.items():
        if key in _EXTRA_KEYS:
            continue
        where = f"{path}:{_line_of(text, key, lines)}"
        if key == "extract" and isinstance(raw, dict):  # [extract.NAME] beside [extract] kinds = [...]
            kinds = raw.pop("kinds", None)
            if raw:
                given["record"] = Given(raw, f"{where}: extract", path.parent)
            if kinds is not None:
                given["extract"] = Given(kinds, f"{where}: extract.kinds", path.parent)
            continue
        if key not in BY_NAME:
            if isinstance(raw, dict):
                raise SpecError(f"{where}: [{key}] is a section; the keys stand at the top level, without sections")
            from weft.options.suggest import hint

            raise SpecError(f"{where}: unknown key '{key}'{hint(key, [*BY_NAME, 'seeds'])}")
        given[key] = Given(raw, f"{where}: {key}", path.parent)
    seeds, secrets = (_texts(path, text, key, table.get(key, []), lines) for key in _EXTRA_KEYS)
    return SpecFile(path, given, seeds, secrets)


def text_of(path: Path) -> str:
    """The text of a file of options, line ends as ``\\n``; ``SpecError`` where it cannot be one."""
    try:
        if path.is_dir():
            raise SpecError(f"{path} is a folder; -c takes a file")
        if path.stat().st_size > MAX_FILE_B:
            raise SpecError(f"{path} is larger than {MAX_FILE_B // 1_000_000} MB; that is no specification")
        content = path.read_bytes()
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{path}:{line}: not UTF-8 text") from None


def _syntax_message(path: Path, text: str, message: str) -> str:
    place = _AT.search(message)
    line = int(place[1]) if place and place[1] else text.rstrip("\n").count("\n") + 1
    reason = message[: place.start()] if place else message
    return f"{path}:{line}: not valid TOML: {reason}"


def _texts(path: Path, text: str, key: str, raw: object, lines: dict[str, list[int]]) -> tuple[str, ...]:
    values = [raw] if isinstance(raw, str) else raw
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        where = f"{path}:{_line_of(text, key, lines)}"
        raise SpecError(f'{where}: {key} is not a list of texts such as ["https://example.org/"]')
    return tuple(values)


def _key_lines(text: str) -> dict[str, list[int]]:
    """The lines that look as if a key began there, by key: all at once, as nearly every command reads such a file."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        match = _KEY.match(line)
        if match:
            found.setdefault(match[1] or match[2] or match[3], []).append(number)
    return found


def _line_of(text: str, key: str, lines: dict[str, list[int]]) -> int:
    """The line on which a top-level key stands.

    A line that looks like it may lie inside a text of many lines: it is one only if all before it is whole TOML.
    """
    import tomllib

    candidates = lines.get(key, [1])[:100]
    for number in candidates if len(candidates) > 1 else ():
        try:
            tomllib.loads("\n".join(text.split("\n")[: number - 1]))
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
        return number
    return candidates[0]


def write_toml(spec: CrawlSpec) -> str:
    """The specification as TOML, every option written out; secrets are withheld, and named in ``secrets``."""
    withheld = withheld_secrets(spec)
    lines = [
        "# The whole specification of this crawl, every default written out.",
        "# Times: 100s, 5m, 2h, 7d. Sizes: 10M, 1G (powers of 1000), 1Gi (of 1024). An empty text is not set.",
        "",
        f"seeds = {_toml_list(list(spec.seeds), long=True)}",
    ]
    if withheld:
        lines += ["", "# Given, and not kept here; weft resume wants them again.", f"secrets = {_toml(list(withheld))}"]
    for group, title in GROUPS.items():
        members = [option for option in OPTIONS if option.group == group and option.in_spec and not option.secret]
        if members:
            lines += ["", f"# {group}: {title}"]
            lines += [line for option in members for line in _lines_of(option.name, written_value(spec, option))]
    return "\n".join(lines) + "\n"


def written_value(spec: CrawlSpec, option: Option) -> Plain:
    """The value of an option in the form that is written, without headers that are credentials."""
    value: Value = value_in(spec, option)
    if option.name == "header" and isinstance(value, tuple):
        value = tuple(line for line in value if isinstance(line, str) and header_name(line) not in SECRET_HEADERS)
    return option.kind.write(value)


def withheld_secrets(spec: CrawlSpec) -> tuple[str, ...]:
    """The names of the options that the crawl has a secret in, or had when it was started."""
    names = {option.name for option in OPTIONS if option.secret and value_in(spec, option)}
    if any(header_name(line) in SECRET_HEADERS for line in spec.identity.headers):
        names.add("header")
    return tuple(option.name for option in OPTIONS if option.name in names or option.name in spec.secrets)


def _lines_of(name: str, value: Plain) -> list[str]:
    """One line; of a table, one for each of its rows."""
    if isinstance(value, dict):
        return [f"{name}.{_toml_text(key)} = {_toml_row(row)}" for key, row in value.items()] or [f"{name} = {{}}"]
    return [f"{name} = {_toml(value)}"]


def _toml_row(row: Mapping[str, str | int | float]) -> str:
    return f"{{{', '.join(f'{key} = {_toml(value)}' for key, value in row.items())}}}"


def _toml(value: str | int | float | list[str]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _toml_text(value)
    return _toml_list(value, long=sum(map(len, value)) > 90)


def _toml_list(values: list[str], *, long: bool) -> str:
    if not long or len(values) < 2:
        return f"[{', '.join(map(_toml_text, values))}]"
    return "\n".join(["[", *(f"  {_toml_text(value)}," for value in values), "]"])


def _toml_text(text: str) -> str:
    """A basic string: quotes, backslashes and control characters escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'
