"""Traps: sites that never end, and one page under many spellings (E20). The rules are told in ``docs/traps.md``."""

from __future__ import annotations

from weft.judge.traps.book import TrapBook

__all__ = ["TrapBook"]
