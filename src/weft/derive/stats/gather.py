"""All statistics of a crawl, put together from the passes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from weft.derive.duplicates.verdicts import settings_of
from weft.derive.read import StoredCrawl
from weft.derive.rendering import rendering_of_crawl
from weft.derive.stats.across import across_sites
from weft.derive.stats.against import compare
from weft.derive.stats.chains import chains_of
from weft.derive.stats.known import ANSWERED, BROKEN, START
from weft.derive.stats.links import Holders, count_links
from weft.derive.stats.model import Broken, DomainLink, Domains, Holder, Noted, Numbers, Totals
from weft.derive.stats.numbers import numbers_of
from weft.derive.stats.pages import count_pages, snapshot_of
from weft.derive.stats.spread import size_bars, spread_of, time_bars
from weft.derive.stats.tally import Pairs, Tables, Tally
from weft.derive.stats.timeline import timeline_of
from weft.ports import Progress
from weft.records import LinkKind
from weft.text.version import __version__
from weft.url import domain_of, host_of_site

_BROKEN_SHOWN = 2_000
_NOTED = 20
_PAIRS_SHOWN = 5_000
_DOMAINS_DRAWN = 40  # the largest sites, and those with most links: between these all pairs are told
_SITE_TABLES = (
    "sum", "state", "status", "type", "depth", "html_depth", "language", "error", "refused", "image", "document",
    "kind",
)  # fmt: skip
_KINDS = {kind.value: kind.label for kind in LinkKind}


class Statistics:
    """The numbers of a crawl, read once, up to where it stood at that moment. Use as a context manager.

    ``totals`` is at hand; the numbers of each site are made when they are asked for, because there may be many.
    """

    def __init__(self, crawl: StoredCrawl, against: Path | None, progress: Progress) -> None:
        self.crawl = crawl
        self.tally, self.pairs = Tally(), Pairs()
        self.upto = snapshot_of(crawl)
        status = crawl.status()
        self.seen = count_pages(crawl, self.upto, self.tally, progress)
        self.known = self.seen.known
        self.holders = count_links(crawl, self.upto, self.known, self.tally, self.pairs, progress)
        self._starts = self._start_sites()
        self._site_name = lru_cache(maxsize=100_000)(self._name_of_site)
        ordered = self._ordered_sites()
        self.site_ids = [site for site, _, _ in ordered]
        visited = sum(1 for _, _, answered in ordered if answered)
        whole = self._numbers(None, False, {table: self.tally.total(table) for table in _SITE_TABLES})
        broken_pages, broken = self._broken()
        progress("domains", 0, 0)
        self.totals = Totals(
            folder=str(crawl.folder.path),
            made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            version=__version__,
            state=status.state,
            stop_reason=status.stop_reason,
            started_at=self._first_start() or status.started_at,
            ended_at=status.ended_at,
            runs=crawl.scalar("SELECT count(*) FROM run"),
            elapsed_s=status.elapsed_s,
            pages_per_s=round(whole.pages / status.elapsed_s, 2) if status.elapsed_s else 0.0,
            seconds_per_page=status.elapsed_s / whole.pages if whole.pages else None,
            sites_visited=visited,
            all=whole,
            sizes=spread_of(self.seen.sizes),
            size_bars=size_bars(self.seen.sizes),
            response_ms=spread_of(self.seen.times_ms),
            response_bars=time_bars(self.seen.times_ms),
            timeline=timeline_of(crawl, self.upto, progress),
            slowest=self._noted(self.seen.slowest()),
            largest=self._noted(self.seen.largest()),
            most_linked=self._noted(self._most_linked()),
            redirects=chains_of(self.known, self.outcome),
            broken=broken,
            broken_pages=broken_pages,
            domains=self._domains(visited),
            across=across_sites([(self._site_name(site), *self._nodes_of(site)) for site in self.site_ids]),
            against=None if against is None else compare(crawl, against, self.known, self.upto, progress),
            rendering=rendering_of_crawl(crawl),
        )

    def __enter__(self) -> Statistics:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tally.close()
        self.pairs.close()

    # ---- sites -----------------------------------------------------------------------------------------------

    def sites(self) -> Iterator[Numbers]:
        """The numbers of every site that belongs to the crawl, the one with the most pages first."""
        return map(self.site, self.site_ids)

    def site(self, site: int) -> Numbers:
        tables: Tables = self.tally.of_site(site, _SITE_TABLES)
        return self._numbers(self._site_name(site), site in self._starts, tables)

    def _numbers(self, name: str | None, start: bool, tables: Tables) -> Numbers:
        return numbers_of(name, start, tables, near=settings_of(self.crawl).near is not None)

    def start_sites(self) -> list[int]:
        """The sites with a start address, the one given first in front."""
        return sorted(self._starts)

    def site_name(self, site: int) -> str:
        return self._site_name(site)

    def _ordered_sites(self) -> list[tuple[int, int, int]]:
        """(site, pages, answers) of every site with a page that was admitted, the most pages first."""
        found = []
        for site in self.tally.sites():
            tables = self.tally.of_site(site, ("state", "sum"))
            if any(state != "refused" for state in tables["state"]):
                found.append((site, tables["sum"].get("pages", 0), tables["sum"].get("answered", 0)))
        return sorted(found, key=lambda row: (-row[1], -row[2], self._site_name(row[0])))

    def _nodes_of(self, site: int) -> tuple[int, int]:
        sums = self.tally.of_site(site, ("sum",))["sum"]
        return sums.get("nodes", 0), sums.get("node_links", 0)

    def _start_sites(self) -> frozenset[int]:
        return frozenset(self.known.site[page] for page in self.known.with_flag(START))

    def _name_of_site(self, site: int) -> str:
        row = self.crawl.connection.execute("SELECT name FROM site WHERE id = ?", (site,)).fetchone()
        return str(row[0]) if row is not None else f"site {site}"

    # ---- pages -----------------------------------------------------------------------------------------------

    def outcome(self, page: int) -> tuple[str, int | None, str | None]:
        """URL, status and cause of a page."""
        row = self.crawl.connection.execute(_OUTCOME, (page,)).fetchone()
        if row is None:
            return "", None, None
        url, state, status, cause, _ = row
        return url, status if state == "C" else None, cause if state == "E" else None

    def title(self, page: int) -> str | None:
        row = self.crawl.connection.execute(_OUTCOME, (page,)).fetchone()
        return None if row is None else row[4]

    def _noted(self, entries: list[tuple[int, int]]) -> list[Noted]:
        return [Noted(self.outcome(page)[0], value, self.title(page)) for page, value in entries]

    def _most_linked(self) -> list[tuple[int, int]]:
        known = self.known
        best = heapq.nlargest(
            _NOTED, ((known.in_links[page], -page) for page in known.with_flag(ANSWERED) if known.in_links[page])
        )
        return [(-page, links) for links, page in best]

    def _broken(self) -> tuple[int, list[Broken]]:
        """How many broken pages links lead to, and those with the most links."""
        known = self.known
        linked = [page for page in known.with_flag(BROKEN) if known.in_links[page]]
        best = heapq.nsmallest(_BROKEN_SHOWN, linked, key=lambda page: (-known.in_links[page], page))
        return len(linked), [self._one_broken(page, self.holders) for page in best]

    def _one_broken(self, page: int, holders: Holders) -> Broken:
        url, status, error = self.outcome(page)
        spellings = {page, *holders.spellings.get(page, ())}
        held = [self._holder(*entry) for spelling in sorted(spellings) for entry in holders.of.get(spelling, ())]
        return Broken(url, status, error, self.known.in_links[page], held)

    def _holder(self, page: int, visit: int, position: int) -> Holder:
        links = self.crawl.packed_links(visit)
        link = links[position] if position < len(links) else None
        anchor, kind = (link.anchor, _KINDS.get(link.kind, "")) if link is not None else ("", "")
        return Holder(self.outcome(page)[0], anchor, kind)

    # ---- domains ---------------------------------------------------------------------------------------------

    def _domains(self, visited: int) -> Domains:
        drawn = {*self.site_ids[:_DOMAINS_DRAWN], *self.pairs.strongest(_DOMAINS_DRAWN)}
        pairs = dict.fromkeys([*self.pairs.largest(_PAIRS_SHOWN), *self.pairs.among(drawn)])
        links = [
            DomainLink(self._site_name(pair.source), self._site_name(pair.target), pair.visited, pair.known)
            for pair in sorted(pairs, key=lambda pair: (-pair.known, pair.source, pair.target))
        ]
        registrable = set()
        known = 0
        for name in self._all_site_names():
            known += 1
            registrable.add(hash(domain_of(host_of_site(name))))
        return Domains(visited, known, len(registrable), len(self.pairs), links)

    def _all_site_names(self) -> Iterator[str]:
        after = 0
        query = "SELECT id, name FROM site WHERE id > ? ORDER BY id LIMIT 5000"
        while rows := self.crawl.connection.execute(query, (after,)).fetchall():
            after = rows[-1][0]
            yield from (name for _, name in rows)

    # ---- the crawl -------------------------------------------------------------------------------------------

    def _first_start(self) -> str | None:
        from weft.text.dates import iso_of_ms

        return iso_of_ms(self.crawl.connection.execute("SELECT min(started_ms) FROM run").fetchone()[0])


def gather(crawl: StoredCrawl, progress: Progress, against: Path | None = None) -> Statistics:
    """The statistics of a stored crawl, running or not; beside another crawler's list if one is given."""
    return Statistics(crawl, against, progress)


_OUTCOME = """SELECT u.text, p.state, v.status, coalesce(p.cause, v.cause), v.title FROM page p
JOIN page_url u ON u.page = p.id LEFT JOIN visit v ON v.id = p.visit WHERE p.id = ?"""
