"""The verbs between the stations, as small Protocols. Each has at least two implementations or callers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from weft.errors import Cause
from weft.records import Failure, FilePosition, Lease, Verdict

if TYPE_CHECKING:
    from weft.crawl.conclude import Concluded


class Parent(msgspec.Struct, frozen=True, gc=False):
    """The page on which a candidate was found, as far as judging needs it."""

    url: str
    depth: int
    chain: int  # hops from page to page of the same shape (traps)


class Judge(Protocol):
    """Decides which URLs belong to the crawl. Pure but for trap budgets, which it keeps itself."""

    def judge_url(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        """For a URL that is new: asked once for each."""

    def judge_link(
        self, kind: int, rel: str, nofollow: bool, depth: int, hops: int, target: str, source: str
    ) -> Verdict:
        """For one link on the page ``source`` ("": in a sitemap): may it bring its target in?"""

    def is_suspect(self, site_id: int) -> bool:
        """Whether ``judge_waiting`` may refuse pages of this site. Cheap: asked at every lease."""

    def judge_waiting(self, url: str, site_id: int) -> Verdict:
        """For a page that was admitted and still waits: whether what was learnt since refuses it."""

    def chain_of(self, url: str, parent: Parent | None) -> int:
        """How many hops of the same shape lead to this URL."""


class Pass(msgspec.Struct, frozen=True):
    """The page may be asked; ``delay_s`` is what robots.txt wants between requests."""

    delay_s: float


class Ask(msgspec.Struct, frozen=True):
    """robots.txt of the origin must be asked first, with this lease."""

    lease: Lease


class Hold(msgspec.Struct, frozen=True):
    """robots.txt is being asked already."""


class Refuse(msgspec.Struct, frozen=True):
    cause: Cause
    detail: str = ""


class Gate(Protocol):
    """robots.txt: stands between the queue and the lease, so that nobody can forget it."""

    def check(self, url: str, site_id: int) -> Pass | Ask | Hold | Refuse: ...


class RoomAhead(NamedTuple):
    """Where leases taken ahead are wanted."""

    place: int  # whose they will be
    site: int
    most: int


class Returned(NamedTuple):
    """A lease that no answer will end."""

    lease: Lease
    was_asked: bool


class Workers(Protocol):
    """Those who ask, read and archive, in this process or in others. Each lease started comes back exactly once."""

    def on_finished(self, wake: Callable[[], None]) -> None:
        """``wake`` is called when ``next`` has something to give."""

    @property
    def running(self) -> int:
        """How many leases are under way."""

    @property
    def has_finished(self) -> bool:
        """Whether ``next`` has something to give."""

    def free(self, workers: int) -> int:
        """How many more leases may be started, were so many allowed at once."""

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        """Begins one request, at addresses that may be connected to, of a site whose requests are so far apart."""

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
        """Where leases taken ahead are wanted, while so many pages wait."""

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        """Begins a request as soon as one of the same site ends there, whose ``successor`` it then is."""

    def feed(self, take_ahead: Callable[[], None]) -> None:
        """In the midst of a tick: hears those who ask elsewhere, has leases taken ahead for them, and sends these."""

    def fail(self, lease: Lease, failure: Failure) -> None:
        """Ends a lease that could not even be started; it comes back like the others."""

    def next(self) -> list[Concluded]:
        """A few leases that ended and belong together: no tick may come between them. Empty: none has."""

    def brought_back(self) -> list[Returned]:
        """The leases of those who are gone."""

    def recall(self) -> None:
        """Has all leases brought back that were taken ahead."""

    async def cancel_all(self) -> list[Returned]:
        """Ends everything at once; these leases will not come back. What had ended before is still to be taken."""

    def flush(self) -> Mapping[str, FilePosition]:
        """The WARC files as they are on disk, with at least all that came back."""

    def pids(self) -> list[int]:
        """The processes beside this one."""

    async def close(self) -> Mapping[str, FilePosition]:
        """Closes the archive; its files, as ``flush`` gives them."""


Progress = Callable[[str, int, int], None]
"""Is told what is being done, how far it is, and of how much (0: nobody knows)."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody sees."""
