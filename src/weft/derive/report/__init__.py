"""The report of ``weft stats --html``: one file that needs no network, and in which nothing the web sent is markup."""

from __future__ import annotations

from weft.derive.report.page import write_report

__all__ = ["write_report"]
