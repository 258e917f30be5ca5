"""What a check finds: problems by their kinds, and notes; the fields of ``weft check --json``."""

from __future__ import annotations

import msgspec

MOST_TOLD = 20  # problems of one kind that are told; the others are counted


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong: its kind, in a word that does not change, and what it is about."""

    kind: str
    about: str


class Report(msgspec.Struct, kw_only=True):
    """What ``weft check --json`` prints. ``counts`` has every kind of problem with how often it was met."""

    folder: str
    consistent: bool = True
    pages: int = 0
    visits: int = 0
    links: int = 0
    items: int = 0
    urls: int = 0
    warc_files: int = 0
    warc_records: int = 0
    warc_bytes: int = 0
    index_lines: int = 0
    counts: dict[str, int] = {}
    problems: list[Problem] = []
    notes: list[str] = []

    def problem(self, kind: str, about: str) -> None:
        self.consistent = False
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= MOST_TOLD:
            self.problems.append(Problem(kind, about))
