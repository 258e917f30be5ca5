"""R19: statistics across sites. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import median

from weft.derive.stats.model import Across, SiteGroup

GROUPS = (("I", "few", "few"), ("II", "few", "many"), ("III", "many", "few"), ("IV", "many", "many"))
"""R19's four groups: their number, and whether their sites have few or many pages and links."""

_NAMED = 1_000


def across_sites(sites: Sequence[tuple[str, int, int]]) -> Across:
    """What R19 asks of (site, pages, internal links): sites without pages are left out."""
    rows = [row for row in sites if row[1]]
    pages, links = [row[1] for row in rows], [row[2] for row in rows]
    pages_median, links_median = (median(pages), median(links)) if rows else (None, None)
    return Across(
        sites=len(rows),
        pages=sum(pages),
        internal_links=sum(links),
        mean_links=sum(links) / sum(pages) if rows else None,
        rank_correlation=rank_correlation(pages, links),
        pages_median=pages_median,
        links_median=links_median,
        groups=_groups(rows, pages_median or 0, links_median or 0),
    )


def _groups(rows: Sequence[tuple[str, int, int]], pages_median: float, links_median: float) -> list[SiteGroup]:
    """Many is more than the median of all sites."""
    members: dict[tuple[str, str], list[str]] = {(pages, links): [] for _, pages, links in GROUPS}
    for site, pages, links in rows:
        members["many" if pages > pages_median else "few", "many" if links > links_median else "few"].append(site)
    return [
        SiteGroup(name, pages, links, sorted(members[pages, links])[:_NAMED], len(members[pages, links]))
        for name, pages, links in GROUPS
    ]


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's coefficient, equal values sharing the mean of their ranks; None where it says nothing."""
    if len(first) < 3:
        return None
    one, two = _ranks(first), _ranks(second)
    middle = (len(first) + 1) / 2
    covariance = sum((a - middle) * (b - middle) for a, b in zip(one, two, strict=True))
    spread = sqrt(sum((a - middle) ** 2 for a in one) * sum((b - middle) ** 2 for b in two))
    return covariance / spread if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda number: values[number])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end + 1) / 2
        start = end
    return ranks
