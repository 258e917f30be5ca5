"""Places of a site that answer with bodies already known, again and again (DUPLICATES_ONLY)."""

from __future__ import annotations

from math import log

from weft.errors import Reason
from weft.judge.traps.ledger import Ledger
from weft.judge.traps.urls import Problem, split_url

ROOT_HALVES = 5  # duplicates in a row that speak for a whole site, in halves of those for a folder
REPEATS_PER_BODY = 8  # below one place, of each body: a folder of copies has each once, what has no end goes on and on
BODIES_B = 512  # bitmap of the bodies that came again below one place
DROP_FACTOR = 2  # duplicates in a row after which even what waits is refused, as a multiple
PREFIXES = 8  # folders of a path that are watched for duplicates
REMEMBERED_SITES = 100_000
CLEAR_FOLDERS = 1_000
_COUNT = (1 << 20) - 1


class Repeats:
    """See the module. ``sites`` are those that have a row in the ``ledger``; those found out become ``suspects``."""

    def __init__(self, limit: int, suspects: set[int]) -> None:
        self._limit = limit
        self._suspects = suspects
        self.ledger = Ledger("d", 20_000)
        self.bodies = Ledger("b", 50_000)  # by site: how many different ones it had
        self.sites: set[int] = set()
        self._clear: set[str] = set()  # folders that have no row, and none above them, since the last known body

    def problem(self, path: str, query: str, site_id: int, waiting: bool) -> Problem | None:
        """What is said against a URL of one of the ``sites``; against one that waits only where it is certain."""
        factor = DROP_FACTOR if waiting else 1
        for prefix in _prefixes(path, query):
            if self._left(f"{site_id} {prefix}", factor) <= 0:
                return (
                    Reason.DUPLICATES_ONLY,
                    f"only known bodies below {prefix[:80]} (--trap-duplicates-only {self._limit})",
                )
        return None

    def fetched(self, url: str, site_id: int, known_body: int | None) -> None:
        """Takes in an answer: the hash of its body if that was met before, None for a new body."""
        if not self._limit:
            return
        if known_body is None:
            self.bodies.add(str(site_id))
            if site_id not in self.sites:
                return
            folder = url[: url.rfind("/") + 1]
            if folder in self._clear and "?" not in url and ";" not in url:
                return
        _, path, query = split_url(url)
        keys = [f"{site_id} {prefix}" for prefix in _prefixes(path, query)]
        if known_body is None:
            for key in keys:
                self.ledger.drop(key)
            if len(self._clear) >= CLEAR_FOLDERS:
                self._clear.clear()
            self._clear.add(folder)
            return
        self._clear.clear()
        self._remember(site_id)
        for key in reversed(keys):
            if self._left(key) <= 0:  # a folder above has been found out: it alone counts on
                self._count(key, known_body)
                return
        for index, key in enumerate(keys):
            self._count(key, known_body)
            if self._left(key) <= 0:
                self._suspects.add(site_id)
                explained = self._repeats(key)[0] - 1
                for above in keys[index + 1 :]:  # explained by this folder: those above it do not answer for it
                    count, bodies = self._repeats(above)
                    self._put(above, max(0, count - explained), bodies)
                return

    def _repeats(self, key: str) -> tuple[int, int]:
        """Answers in a row with bodies already known below a place, and a bitmap of these bodies."""
        row = self.ledger.blob(key)
        return int.from_bytes(row[:4], "big"), int.from_bytes(row[4:], "big")

    def _put(self, key: str, count: int, bodies: int) -> None:
        self.ledger.put(key, min(count, _COUNT).to_bytes(4, "big") + bodies.to_bytes(BODIES_B, "big"))

    def _count(self, key: str, body: int) -> None:
        count, bodies = self._repeats(key)
        self._put(key, count + 1, bodies | 1 << body % (BODIES_B * 8))

    def _left(self, key: str, factor: int = 1) -> int:
        """How many known bodies in a row a place may still answer with.

        More, the more different ones they are; and one for each page of the site, which may link to itself in a frame
        (``/index.html?name.html`` of javadoc).
        """
        count, bodies = self._repeats(key)
        budget = self._limit * ROOT_HALVES // 2 if key.endswith(" /") else self._limit
        if factor * budget <= count:
            pages = self.bodies.number(key.partition(" ")[0])
            budget = max(budget, REPEATS_PER_BODY * _different(bodies), pages)
        return factor * budget - count

    def _remember(self, site_id: int) -> None:
        self.sites.add(site_id)
        if len(self.sites) > REMEMBERED_SITES:  # the ledger has forgotten most of them
            self.sites = {int(key.partition(" ")[0]) for key in self.ledger} | {site_id}

    def take_up(self) -> None:
        """After the ledger was loaded: what is known of before may refuse what waits."""
        self.sites.update(int(key.partition(" ")[0]) for key in self.ledger)
        self._suspects.update(self.sites)


def _different(bodies: int) -> int:
    """How many different bodies have set the bits of a map: linear counting (Whang 1990), as two may share a bit."""
    bits = BODIES_B * 8
    return round(-bits * log(max(1, bits - bodies.bit_count()) / bits))


def _prefixes(path: str, query: str) -> list[str]:
    """The places of a site that answer for a URL, the nearest first: its path before ``?`` or ``;``, its folders."""
    prefixes: list[str] = []
    at = 0
    while len(prefixes) < PREFIXES and (at := path.find("/", at) + 1):
        prefixes.append(path[:at])
    bare = path.partition(";")[0]
    if query or bare != path:
        prefixes.append(f"{bare}?")
    prefixes.reverse()
    return prefixes
