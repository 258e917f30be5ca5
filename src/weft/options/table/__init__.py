"""The option table: one row per option of a crawl, from which everything that knows options is made.

The flag is ``--NAME``, the key in TOML is ``NAME``, and ``path`` is the field of ``CrawlSpec`` (or of ``Run``, for
what belongs to one run and not to the crawl). The command line, the TOML reader and writer, the reference page and
the comparison on resume all come from here, so they cannot disagree.
"""

from __future__ import annotations

from weft.options.option import Option
from weft.options.table.groups import GROUPS
from weft.options.table.keep import parts_options, run_options, store_options
from weft.options.table.limits import limits_options, traps_options
from weft.options.table.network import network_options
from weft.options.table.pace import identity_options, pace_options
from weft.options.table.pages import duplicates_options, urls_options
from weft.options.table.presets import PRESETS
from weft.options.table.scope import scope_options

__all__ = ["BY_NAME", "GROUPS", "OPTIONS", "PRESETS"]

OPTIONS: tuple[Option, ...] = (
    *scope_options(),
    *limits_options(),
    *pace_options(),
    *identity_options(),
    *network_options(),
    *urls_options(),
    *duplicates_options(),
    *traps_options(),
    *store_options(),
    *parts_options(),
    *run_options(),
)
BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}
