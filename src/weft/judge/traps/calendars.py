"""Calendars: what is walked from date to date and leads to nothing else (CALENDAR)."""

from __future__ import annotations

from collections.abc import Sequence

from weft.errors import Reason
from weft.judge.traps.ledger import Ledger
from weft.judge.traps.urls import Date, Problem, date_of, split_url

OLDEST_YEAR = 1990  # a calendar that is walked page by page goes no farther back
YEARS_AHEAD = 2
WALKING = 3  # steps from date to date after which no calendar may leave the years of the living
WALKED = 24  # steps from date to date that make a calendar of what could be an archive
NAMED_SITES = 500
NAMES = 500  # of links on the calendar pages of a site, remembered to know what is new on the next one
TARGETS = 2_000
_COUNT = (1 << 20) - 1


class Calendars:
    """See the module. ``ledger`` has three counts for each site; sites with a barren calendar become ``suspects``."""

    def __init__(self, limit: int, now_year: int, suspects: set[int]) -> None:
        self._limit = limit
        self._latest_year = now_year + YEARS_AHEAD
        self._suspects = suspects
        self.ledger = Ledger("l", 10_000)
        self._names: dict[int, set[str]] = {}  # last segments seen on the calendar pages of a site

    def step(self, site_id: int, path: str, query: str, came_from: Date) -> Problem | None:
        """Judges what one calendar page links to: into itself (a month to its days) freely, beside itself not."""
        limit = self._limit
        if not limit:
            return None
        date = date_of(path, query)
        if date is None or not date.month:
            return None
        steps = self.counts(site_id)[0]
        beside = not came_from.holds(date)
        if steps >= WALKING and (date.year > self._latest_year or (date.year < OLDEST_YEAR and beside)):
            return Reason.CALENDAR, f"a calendar walked to the year {date.year} ({OLDEST_YEAR} to {self._latest_year})"
        if self.is_barren(site_id):
            return self.barren()
        if beside or steps >= WALKED:
            if steps >= limit:
                return Reason.CALENDAR, f"{limit} steps from date to date (--trap-calendar-pages {limit})"
            self._count(site_id, steps=1)
        return None

    def is_barren(self, site_id: int) -> bool:
        """Whether the site has shown enough dates that lead to nothing but dates."""
        limit = self._limit
        if not limit or not len(self.ledger):
            return False
        _, barren, productive = self.counts(site_id)
        return barren >= limit and productive * 10 < barren

    def barren(self) -> Problem:
        """What is said against the dates of such a site."""
        limit = self._limit
        return Reason.CALENDAR, f"{limit} dates that led to nothing but dates (--trap-calendar-pages {limit})"

    def counts(self, site_id: int) -> tuple[int, int, int]:
        """Steps from date to date, pages that led to nothing but dates, pages that led to something."""
        packed = self.ledger.number(str(site_id))
        return packed & _COUNT, packed >> 20 & _COUNT, packed >> 40 & _COUNT

    def _count(self, site_id: int, steps: int = 0, barren: int = 0, productive: int = 0) -> None:
        old = self.counts(site_id)
        new = [min(_COUNT, a + b) for a, b in zip(old, (steps, barren, productive), strict=True)]
        self.ledger.put(str(site_id), new[0] | new[1] << 20 | new[2] << 40)
        if barren and self.is_barren(site_id):
            self._suspects.add(site_id)

    def learn(self, own: Date, site_id: int, new: Sequence[str], known: Sequence[str]) -> None:
        """Counts a calendar page that led to nothing but dates, or to something that no page before it had."""
        names = self._names.get(site_id)
        if names is None:
            names = self._names[site_id] = set()
            if len(self._names) > NAMED_SITES:
                del self._names[next(iter(self._names))]
        productive = False
        deeper = False
        for targets in (known, new):
            for target in targets[:TARGETS]:
                _, target_path, target_query = split_url(target)
                date = date_of(target_path, target_query)
                if date is not None and date.month:
                    deeper = deeper or (targets is new and date != own and own.holds(date))
                    continue
                name = target[target.rfind("/", 0, len(target) - 1) + 1 :]
                if name not in names:
                    productive = True
                    if len(names) < NAMES:
                        names.add(name)
        if productive:
            self._count(site_id, productive=1)
        elif not deeper:
            self._count(site_id, barren=1)

    def take_up(self) -> None:
        """After the ledger was loaded: what is known of before may refuse what waits."""
        self._suspects.update(map(int, self.ledger))
