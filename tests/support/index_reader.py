"""A reader of Tarantula's index file, written from its description alone: it shares no code with the program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path

PAGE = re.compile(
    r'(?P<md5>[0-9a-f]{32}) (?P<key>\S+) (?P<url>\S+) (?P<title>-|"(?:[^"\\]|\\.)*") (?P<encoding>\S+) (?P<type>\S+)'
    r" (?P<modified>-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (?P<date>-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
)
LINK = re.compile(r'\t @(?P<key>\S+) (?P<anchor>"(?:[^"\\]|\\.)*")')


@dataclass
class Entry:
    """One page of the index file; what is missing is None."""

    key: str
    url: str
    title: str | None
    encoding: str | None
    type: str | None
    modified: str | None
    date: str | None
    links: list[tuple[str, str]] = field(default_factory=list)


def read_index(path: Path) -> list[Entry]:
    """Every page with its links; fails at the first line that is not of the form."""
    text = path.read_bytes().decode("utf-8")
    assert not text or text.endswith("\n")
    entries: list[Entry] = []
    for line in text.split("\n")[:-1]:
        if line.startswith("\t"):
            link = LINK.fullmatch(line)
            assert link is not None, line
            entries[-1].links.append((link["key"], unquoted(link["anchor"])))
            continue
        page = PAGE.fullmatch(line)
        assert page is not None, line
        assert page["md5"] == md5(page["key"].encode()).hexdigest()
        said = {name: None if page[name] == "-" else page[name] for name in ("encoding", "type", "modified", "date")}
        title = None if page["title"] == "-" else unquoted(page["title"])
        entries.append(Entry(page["key"], page["url"], title, **said))
    return entries


def unquoted(text: str) -> str:
    """The text in quotes, its escapes undone."""
    return re.sub(
        r"\\(?:u([0-9a-f]{4})|(.))", lambda found: chr(int(found[1], 16)) if found[1] else found[2], text[1:-1]
    )
