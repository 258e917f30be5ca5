"""What an option is: a name, a field of the specification, and a way to read and write its value."""

from __future__ import annotations

from functools import cache

import msgspec

from weft.options.values import Kind, Value
from weft.spec import CrawlSpec


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one run of ``weft crawl`` and is no part of the crawl itself."""

    output: str | None = None
    fresh: bool = False
    quiet: bool = False
    watch: bool = False
    log: str = "files"


class Option(msgspec.Struct, frozen=True):
    """One option: its name, where its value goes, how it is read, and what a reader should know."""

    name: str
    path: str
    kind: Kind
    group: str
    help: str
    example: str = ""
    may_change: bool = False  # on resume
    secret: bool = False
    short: str = ""

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def section(self) -> str:
        """The struct that holds the field; empty for fields of ``CrawlSpec`` itself."""
        return self.path.rpartition(".")[0]

    @property
    def field(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def in_spec(self) -> bool:
        return self.section != "run"

    @property
    def default(self) -> Value:
        return value_in(Run() if not self.in_spec else CrawlSpec(), self)

    @property
    def variable(self) -> str:
        """The environment variable of a secret."""
        return f"WEFT_{self.name.upper()}"


class Section(msgspec.Struct, frozen=True):
    """Options of one group whose values go to one section of the specification."""

    group: str
    name: str

    def changeable(
        self, name: str, field: str, kind: Kind, help: str, example: str = "", *, secret: bool = False
    ) -> Option:
        """An option that may change on resume."""
        return Option(name, f"{self.name}.{field}", kind, self.group, help, example, may_change=True, secret=secret)


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
