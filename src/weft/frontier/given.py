"""Records of what the parts of the frontier are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from weft.frontier.runs import RUN_ENTRIES
from weft.frontier.sites import IN_RAM

if TYPE_CHECKING:
    from weft.frontier.budgets import Budgets, FileBudget
    from weft.frontier.heads import Heads
    from weft.frontier.order.interface import Order
    from weft.frontier.sites import Sites
    from weft.ports import Gate, Judge
    from weft.spec import Paces
    from weft.url import Normalizer


class Policies(NamedTuple):
    """The rules for URLs and sites."""

    judge: Judge  # which URLs belong to the crawl
    gate: Gate  # robots.txt
    normalizer: Normalizer  # which URLs are one page
    paces: Paces  # what single sites have of their own
    order: Order | None = None  # which page is next; None: depth and the number of the visit say it


class Memory(NamedTuple):
    """How much is kept in RAM, and the seed of the fingerprints of URLs."""

    hash_seed: int
    cache_entries: int = 300_000
    sites_in_ram: int = IN_RAM
    run_entries: int = RUN_ENTRIES


class Queues(NamedTuple):
    """The sites, the heads of their queues, and how much of each site may still be asked."""

    sites: Sites
    heads: Heads
    budgets: Budgets
    files: FileBudget
