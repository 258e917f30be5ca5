"""A frontier with its store in a database, and its clock set by hand."""

from __future__ import annotations

from weft.clock import Clock
from weft.db.connection import Database
from weft.errors import Reason
from weft.frontier.given import Memory, Policies
from weft.frontier.leases import AddressOf
from weft.frontier.polite import Schedule
from weft.frontier.sql import SqlFrontier
from weft.ports import Gate, Parent, Pass
from weft.records import ADMITTED, LinkKind, Verdict
from weft.spec import CrawlSpec, Limits, Paces, PageOrder, Politeness, Scope
from weft.url import DEFAULT_RULES, Normalizer

DELAY_S = 2.0
MAX_DEPTH = 4
FOLLOWED = frozenset({LinkKind.A.value, LinkKind.REDIRECT.value})


class FakeTime:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class PlainJudge:
    """Everything but one host belongs to the crawl, and files are not asked for."""

    shows_files = False
    checks_links = False

    def judge_url(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        return ADMITTED if belongs(url) else Verdict(Reason.OUT_OF_SCOPE)

    def judge_link(
        self, kind: int, rel: str, nofollow: bool, depth: int, hops: int, target: str, source: str
    ) -> Verdict:
        if kind not in FOLLOWED:
            return Verdict(Reason.KIND_NOT_FOLLOWED)
        if "nofollow" in rel:
            return Verdict(Reason.NOFOLLOW)
        return ADMITTED if depth <= MAX_DEPTH else Verdict(Reason.TOO_DEEP)

    def shows(self, kind: int, rel: str, target: str) -> bool:
        return False

    def is_file(self, url: str) -> bool:
        return False

    def judge_shown(self, url: str) -> Verdict:
        return ADMITTED

    def is_suspect(self, site_id: int) -> bool:
        return False

    def judge_waiting(self, url: str, site_id: int) -> Verdict:
        return ADMITTED

    def chain_of(self, url: str, parent: Parent | None) -> int:
        return 0


class OpenGate:
    def check(self, url: str, site_id: int) -> Pass:
        return Pass(0.0)


def belongs(url: str) -> bool:
    return "out.test" not in url


def loopback(_host: str) -> tuple[str, ...]:
    return ("127.0.0.1",)


def make_sql(
    database: Database, time: FakeTime, order: str, per_host: int, cache: int, sites: int = 1000, run: int = 1000,
    address_of: AddressOf = loopback, gate: Gate | None = None, delay_s: float = DELAY_S, limits: Limits | None = None,
) -> SqlFrontier:  # fmt: skip
    spec = CrawlSpec(
        scope=Scope(follow=("a", "redirect"), max_depth=MAX_DEPTH),
        politeness=Politeness(delay_s=delay_s, per_host=per_host, order=PageOrder(order)),
        limits=limits or Limits(),
    )
    schedule = Schedule(lambda ip: (0, 0.0), by_turns=order == "dfs")
    return SqlFrontier(
        database.connection, spec,
        Policies(PlainJudge(), gate or OpenGate(), Normalizer(DEFAULT_RULES), Paces(spec)), schedule,
        Clock(now=time, mono=time), address_of, Memory(7, cache, sites, run),
    )  # fmt: skip
