"""Options of a crawl: all that is made from the fields of ``weft.spec``.

``crawl_order`` and ``resume_order`` turn a command line into a ``CrawlSpec``; ``read_spec`` and ``write_spec`` keep it
in crawl.toml; ``differences`` tells what may not change on resume; ``reference_markdown`` is the manual's page.
"""

from __future__ import annotations

from weft.options.build import (
    Difference,
    crawl_order,
    differences,
    harvest_order,
    read_spec,
    resume_order,
    seeds_differ,
    spec_of,
    write_spec,
)
from weft.options.keywords import keywords_module
from weft.options.option import BY_NAME, GROUPS, OPTIONS, Option, opposite, value_in
from weft.options.presets import PRESETS
from weft.options.reference import reference_markdown
from weft.options.toml import read_toml, write_toml

__all__ = [
    "BY_NAME",
    "GROUPS",
    "OPTIONS",
    "PRESETS",
    "Difference",
    "Option",
    "crawl_order",
    "differences",
    "harvest_order",
    "keywords_module",
    "opposite",
    "read_spec",
    "read_toml",
    "reference_markdown",
    "resume_order",
    "seeds_differ",
    "spec_of",
    "value_in",
    "write_spec",
    "write_toml",
]
