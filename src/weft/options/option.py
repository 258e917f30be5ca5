"""The options of a crawl, made from the fields of the specification: names, kinds of values, groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeVar

import msgspec
from msgspec.structs import FieldInfo

from weft.options.kinds import kind_of
from weft.options.values import Kind, Value
from weft.spec import About, CrawlSpec, Group, Order, Reader, Run

_D = TypeVar("_D", About, Group)
MANY = "; may be given many times"
_UNITS = ("_s", "_b")


class Option(msgspec.Struct, frozen=True):
    """One option: a field of the specification, or of a run, and what a reader should know of it.

    The flag is ``--NAME``, the key in TOML is ``NAME``, in Python it is ``NAME`` with underscores.
    """

    name: str
    section: str  # empty for fields of ``CrawlSpec`` itself, "run" for those of ``Run``
    field: str
    type: object
    kind: Kind
    group: str
    help: str
    example: str = ""
    usual: bool = False  # shown by `--help`
    may_change: bool = False  # on resume
    secret: bool = False
    short: str = ""

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def python_name(self) -> str:
        return self.name.replace("-", "_")

    @property
    def in_spec(self) -> bool:
        return self.section != "run"

    @property
    def default(self) -> Value:
        return value_in(CrawlSpec() if self.in_spec else Run(), self)

    @property
    def variable(self) -> str:
        """The environment variable of a secret."""
        return f"WEFT_{self.name.upper()}"


def opposite(option: Option) -> str:
    """The flag that turns a switch off again: ``--no-wait``, ``--with-archive``."""
    return f"--with-{option.name[3:]}" if option.name.startswith("no-") else f"--no-{option.name}"


def value_in(holder: CrawlSpec | Run, option: Option) -> Value:
    """What the specification (or the run) holds for an option."""
    section = getattr(holder, option.section) if option.section and option.in_spec else holder
    value: Value = getattr(section, option.field)
    if option.name == "normalize" and not value:
        return default_rules()
    return value


@cache
def default_rules() -> tuple[str, ...]:
    from weft import url

    return url.parse_rules("default")


def _described(struct: type[msgspec.Struct], by: type[_D]) -> Iterator[tuple[FieldInfo, type, _D]]:
    """The fields of a struct that have a description of this sort, each with its type."""
    for field in msgspec.structs.fields(struct):
        for described in getattr(field.type, "__metadata__", ()):
            if isinstance(described, by):
                yield field, field.type.__origin__, described


_SECTIONS = [
    (field.name, struct, group) for holder in (CrawlSpec, Order) for field, struct, group in _described(holder, Group)
]
_GROUPS = {group.name: group for _, _, group in _SECTIONS}

GROUPS: dict[str, str] = {name: group.title for name, group in _GROUPS.items()}
"""The groups of options with their titles, in the order in which they are shown."""


def _options() -> Iterator[Option]:
    """Every option, in the order of the fields."""
    for field, type_, about in _described(CrawlSpec, About):
        yield _option("", field, type_, about, _GROUPS[about.group])
    for section, struct, group in _SECTIONS:
        for field, type_, about in _described(struct, About):
            yield _option(section, field, type_, about, _GROUPS[about.group or group.name])


def _option(section: str, field: FieldInfo, type_: type, about: About, group: Group) -> Option:
    """The option of one field; what is not said of it is taken from the field and its group."""
    reader = next((one for one in field.type.__metadata__ if isinstance(one, Reader)), None)
    kind = kind_of(field.name, type_, field.default, about, reader)
    return Option(
        name=about.name or group.prefix + _without_unit(field.name).replace("_", "-"),
        section=section,
        field=field.name,
        type=type_,
        kind=kind,
        group=group.name,
        help=about.help + (MANY if kind.many else ""),
        example=about.example or ("" if kind.is_switch else str(kind.write(field.default))),
        usual=about.usual,
        may_change=group.may_change if about.may_change is None else about.may_change,
        secret=about.secret,
        short=about.short,
    )


def _without_unit(name: str) -> str:
    return name[:-2] if name.endswith(_UNITS) else name


OPTIONS: tuple[Option, ...] = tuple(sorted(_options(), key=lambda option: list(GROUPS).index(option.group)))
BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}
