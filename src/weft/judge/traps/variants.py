"""One page in many variants: odd slashes, session ids, mixed filters (SLASH_ALIASES, SESSION_IDS, QUERY_VARIANTS)."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from weft.errors import Reason
from weft.judge.traps.ledger import SAMPLED, Ledger, is_sampled, mark_of
from weft.judge.traps.urls import Problem, is_alias, mixture_of, without_alias, without_session
from weft.spec import Traps

VALUES_B = 512  # bitmap of the values seen in the queries of one path
VARIANTS_PER_VALUE = 8
PAIRS_PER_VALUE = 20  # a list for each category: pages of ?category=7&page=9 are as many as both together have
SITE_VARIANTS_PER_VALUE = 16
PAIR_FACTOR = 4  # queries of two parameters have this multiple of the budget of those with more
SITE_FACTOR = 5  # and all mixtures of a site, whatever their path, this one: a shop has its filters in each category


class Variants:
    """See the module."""

    def __init__(self, traps: Traps) -> None:
        self._traps = traps
        self._crowded: set[int] = set()  # the sites that have used up what all their mixtures may be
        self.aliases = Ledger("a", 20_000)
        self.mixtures = Ledger("q", 4_000)
        self.sessions = Ledger("s", 50_000)

    def problem(self, url: str, path: str, query: str, site_id: int) -> Problem | None:
        """What is said against a URL that may be one spelling of many; counts it where nothing is."""
        traps = self._traps
        if traps.slash_aliases and is_alias(path):
            limit = traps.slash_aliases
            page = f"{site_id} {mark_of(without_alias(path))}"
            if self.aliases.number(page):  # not the first odd spelling of that page: sites exist that know no other
                if self.aliases.number(str(site_id)) >= limit:
                    return Reason.SLASH_ALIASES, f"{limit} odd spellings on this site (--trap-slash-aliases {limit})"
                self.aliases.add(str(site_id))
            else:
                self.aliases.put(page, 1)
        if traps.session_ids and (query or ";" in path or "(" in path):
            bare = without_session(url)
            if bare is not url:
                key = mark_of(bare)
                limit = traps.session_ids
                if self.sessions.number(key) >= limit:
                    return Reason.SESSION_IDS, f"{limit} session ids of {bare[:200]} (--trap-session-ids {limit})"
                self.sessions.add(key)
        if traps.query_variants and (mixture := mixture_of(path, query)) is not None:
            place, parts = mixture
            budget = traps.query_variants
            if len(parts) == 2:
                found = self._mixture(f"{site_id} 2{mark_of(place)}", parts, PAIR_FACTOR * budget, PAIRS_PER_VALUE)
            else:
                found = self._mixture(f"{site_id} {mark_of(place)}", parts, budget, VARIANTS_PER_VALUE)
            if found is None and (site_id in self._crowded or is_sampled(url)):
                limit, per_value = SITE_FACTOR * budget // SAMPLED, SITE_VARIANTS_PER_VALUE // SAMPLED
                found = self._mixture(f"{site_id}", (*parts, place), limit, per_value)
                if found is not None:
                    self._crowded.add(site_id)
            return found
        return None

    def _mixture(self, key: str, parts: Sequence[str], limit: int, per_value: int) -> Problem | None:
        """Judges filters that combine: few values, many mixtures. What names things brings new values."""
        row = self.mixtures.blob(key)
        count, bits = int.from_bytes(row[:4], "big"), int.from_bytes(row[4:], "big")
        values = bits.bit_count()
        if values < VALUES_B * 6:  # a fuller map says that there are more values than one could combine
            if count >= limit + per_value * values:
                budget = self._traps.query_variants
                return Reason.QUERY_VARIANTS, f"{count} mixtures of {values} values (--trap-query-variants {budget})"
            for part in parts:
                bits |= 1 << crc32(part.encode()) % (VALUES_B * 8)
            self.mixtures.put(key, (count + 1).to_bytes(4, "big") + bits.to_bytes(VALUES_B, "big"))
        return None
