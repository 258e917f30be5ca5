"""The durable frontier against its model (E1, E7, E9, T3; promises 1, 2): a state machine, then its corners."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from frontiers import DELAY_S, FOLLOWED, MAX_DEPTH, FakeTime, belongs, make_sql
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from memory_frontier import MemoryFrontier

from weft.db.connection import open_writer
from weft.db.schema import MIGRATIONS
from weft.frontier.links import PageSite
from weft.frontier.polite import AGAIN, END, Schedule, Site, Waiting
from weft.ports import Pass
from weft.records import Facts, Lease, Link, LinkKind, Links, Purpose, Settled, State, Visit
from weft.spec import Limits
from weft.store.visits import SqlStore
from weft.url import DEFAULT_RULES, Normalizer, site_of

HOSTS = ("a.test", "b.test", "out.test")


URLS = st.builds(
    lambda host, path: f"http://{host}/{path}",
    st.sampled_from(HOSTS),
    st.sampled_from(["", "a", "%61", "b", "c", "d", "e", "%7Ef", "~f"]),
)
LINKS = st.lists(
    st.builds(
        Link,
        URLS,
        st.sampled_from(
            [LinkKind.A.value, LinkKind.A.value, LinkKind.A.value, LinkKind.REDIRECT.value, LinkKind.IMAGE.value]
        ),
        st.just("anchor"),
        st.sampled_from(["", "", "", "nofollow"]),
    ),
    max_size=6,
)


class FrontierMachine(RuleBasedStateMachine):
    """Random crawls, with ticks, kills and any order: the two frontiers must agree at every tick."""

    @initialize(
        order=st.sampled_from(["bfs", "dfs"]),
        per_host=st.integers(1, 2),
        cache=st.sampled_from([2, 1000]),
        sites=st.sampled_from([1, 2, 1000]),
        run=st.sampled_from([1, 2, 1000]),
        seeds=st.lists(URLS, min_size=1, max_size=3),
    )
    def begin(self, order: str, per_host: int, cache: int, sites: int, run: int, seeds: list[str]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.time = FakeTime()
        self.settings = (order, per_host, cache, sites, run)
        self.per_host = per_host
        self.database = open_writer(Path(self.folder.name, "crawl.db"), MIGRATIONS)
        self.sql = make_sql(self.database, self.time, *self.settings)
        self.key = Normalizer(DEFAULT_RULES).key
        self.model = MemoryFrontier(site_of, self.key, belongs, FOLLOWED, DELAY_S, per_host, MAX_DEPTH)
        self.held: dict[str, Lease] = {}
        self.concluded: list[tuple[str, Lease, str, list[Link]]] = []
        with self.database.transaction():
            for seed in seeds:
                self.sql.discovery.seed(seed, "test")
                self.model.seed(seed)
            self.sql.flush()
        self.sql.committed()

    @rule(most=st.integers(1, 4))
    def take(self, most: int) -> None:
        may = self.model.may_take(self.time.now)
        leases = self.sql.take(most).leases
        assert len(leases) <= most
        for lease in leases:
            key = self.key(lease.url)
            assert key in may, "taken twice, too early, or not waiting"
            self.model.take(key, self.time.now)
            may = self.model.may_take(self.time.now)
            self.held[key] = lease
        if len(leases) < most:
            assert not may, f"starved: {may}"

    @precondition(lambda self: self.held)
    @rule(data=st.data(), links=LINKS, state=st.sampled_from(["C", "C", "C", "E"]))
    def answer(self, data: st.DataObject, links: list[Link], state: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        lease = self.held.pop(key)
        self.sql.freed(lease)
        clock = self.model._clock(site_of(lease.url))
        clock.running -= 1
        clock.next_at = max(clock.next_at, self.time.now + DELAY_S)
        self.concluded.append((key, lease, state, links if state == "C" else []))

    @rule()
    def tick(self) -> None:
        store = SqlStore(self.database.connection)
        with self.database.transaction():
            visits = {lease.page: store.next_visit() for _, lease, _, _ in self.concluded}
            self.sql.settle(
                Settled(lease=lease, state=state, visit=visits[lease.page]) for _, lease, state, _ in self.concluded
            )
            self.sql.known.prefetch(link.target for _, _, _, links in self.concluded for link in links)
            packs, rows = [], []
            for _, lease, _, links in self.concluded:
                packed, _ = self.sql.discovery.offer(
                    self.sql.in_flight[lease.page], visits[lease.page], Links.of(links), False
                )
                packs.append((visits[lease.page], packed))
                rows.append(Visit(id=visits[lease.page], lease=lease, url=lease.page, facts=Facts(started_ms=0)))
            store.write(rows, packs, {})
            self.sql.discovery.offer_again()
            self.sql.flush()
        self.sql.committed()
        for key, lease, state, links in self.concluded:
            self.model._clock(site_of(lease.url)).running += 1
            self.model.settle(key, state, links)
        self.concluded = []
        self.compare()

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0]))
    def wait(self, seconds: float) -> None:
        self.time.now += seconds

    @rule()
    def kill_and_resume(self) -> None:
        """What was concluded and not ticked is lost; what was held waits again."""
        for key, *_ in self.concluded:
            self.model.pages[key].state = "R"
        self.concluded, self.held = [], {}
        self.database.close()
        self.database = open_writer(Path(self.folder.name, "crawl.db"), MIGRATIONS)
        self.sql = make_sql(self.database, self.time, *self.settings)
        with self.database.transaction():
            self.sql.load(killed=True, limits_changed=False)
            self.sql.flush()
        self.sql.committed()
        for clock in self.model.clocks.values():
            clock.running = 0
        self.model.killed(self.time.now)
        self.time.now += DELAY_S
        self.compare()

    def compare(self) -> None:
        rows = self.database.connection.execute(
            "SELECT coalesce(p.key, u.text), p.state, p.depth FROM page p JOIN url u ON u.id = p.id"
        ).fetchall()
        found = {key: (state, depth if state else None) for key, state, depth in rows}
        wanted = {key: (page.state, page.depth if page.admitted else None) for key, page in self.model.pages.items()}
        assert found == wanted
        counts = {name: sum(1 for state, _ in found.values() if state == name) for name in (*State, None)}
        assert self.sql.counts["waiting"] == counts["W"]
        assert self.sql.counts["running"] == counts["R"]
        assert self.sql.counts["refused"] == counts[None]
        assert self.sql.counts["known"] == len(found)

    @invariant()
    def polite(self) -> None:
        for site in self.sql.schedule.sites.values() if hasattr(self, "sql") else ():
            assert 0 <= site.running <= self.per_host

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.database.close()
            self.folder.cleanup()


FrontierMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestFrontier = FrontierMachine.TestCase


def test_an_overgrown_head_keeps_what_is_tried_again() -> None:
    """What is tried again comes last in the head, and is not in the queue on disk: it must not be left to that."""
    site = Site(1, "a.test", "a.test", 0.0, 1)
    site.cursor = (5, 5)
    for page in range(1, 11):
        site.push(Waiting(page, 2 + AGAIN if page == 1 else 3, page, "http://a.test/", 2, 0, 0, int(page == 1)))
    site.trim(4)
    assert site.cursor == (3, 5)
    taken = [entry.page for entry in iter(site.pop, None)]
    assert taken == [2, 3, 4, 5, 1]


def test_the_delay_of_an_address_counts_from_when_its_server_has_read() -> None:
    """Promise 2: a request that reached its server late moves the next one to the same address, whatever the name."""
    schedule = Schedule(lambda ip: (1, 0.1))
    first, second = (Site(number, f"n{number}.test", f"n{number}.test", 0.0, 1) for number in (1, 2))
    first.ip = second.ip = "192.0.2.1"
    assert schedule.enter(first, 0.0)
    schedule.leave(first.ip, 0.06, read_at=0.06)
    assert not schedule.enter(second, 0.1)
    assert schedule.next_at() == pytest.approx(0.16)
    assert schedule.enter(second, 0.17)


def test_what_comes_later_is_taken_last_and_never_left_to_the_disk() -> None:
    """Where the head of a queue is cut, only what a range of the queue on disk finds again may go."""
    site = Site(1, "h.test", "h.test", 0.0, 1)
    for page in range(30):
        site.push(Waiting(page, 1 + (AGAIN if page % 5 == 0 else 0), page, f"http://h.test/{page}", 1, 0, 0, 1))
    site.cursor = END
    site.trim(4)
    assert site.cursor == (1, 4)
    assert [entry.page for entry in iter(site.pop, None)] == [1, 2, 3, 4, 0, 5, 10, 15, 20, 25]


@pytest.mark.parametrize("home", ["http://a.test/", "https://a.test/", "http://me@a.test/"])
def test_links_to_other_sites_are_told_by_their_site(home: str) -> None:
    """Whatever the scheme and the credentials: R12's external links."""
    same = ["http://a.test/x", "https://a.test/", "http://me:pass@a.test/y", "https://you@a.test/"]
    other = ["http://a.test:8080/", "http://sub.a.test/", "https://b.test/@a.test/", "http://a.test@b.test/"]
    assert PageSite(home).external_links([*same, *other, "mailto:me@a.test", "data:,x"]) == len(other)


class SlowOrigin:
    """robots.txt of http asks for ten seconds, that of https for nothing: one site, two origins."""

    def check(self, url: str, site_id: int) -> Pass:
        return Pass(10.0 if url.startswith("http:") else 0.0)


def test_a_sitemap_is_followed_by_the_delay_of_its_own_origin(tmp_path: Path) -> None:
    """Promise 2: whichever page of the site was asked before."""
    now = FakeTime()
    database = open_writer(tmp_path / "crawl.db", MIGRATIONS)
    frontier = make_sql(database, now, "bfs", 1, 1000, gate=SlowOrigin())
    with database.transaction():
        for url in ("https://a.test/", "http://a.test/"):
            frontier.discovery.seed(url, "test")
        frontier.flush()
    frontier.committed()
    (page,) = frontier.take(1).leases
    assert page.url == "https://a.test/"
    frontier.started(page)
    frontier.freed(page)
    sitemap = Lease(page=1, url="http://a.test/s.xml", site=page.site, purpose=Purpose.SITEMAP)
    frontier.schedule.sites[page.site].owes_page = False
    frontier.site_request(sitemap)
    now.now += DELAY_S
    assert frontier.take(1).leases == [sitemap]
    frontier.started(sitemap)
    frontier.freed(sitemap)
    now.now += 9.9
    assert frontier.take(1).leases == []
    now.now += 0.1
    assert [lease.url for lease in frontier.take(1).leases] == ["http://a.test/"]
    database.close()


def test_a_page_taken_ahead_waits_until_it_is_asked(tmp_path: Path) -> None:
    """E7: the database says R of what is asked; what a site's budget sets aside is none of what was taken."""
    now = FakeTime()
    database = open_writer(tmp_path / "crawl.db", MIGRATIONS)
    limits = Limits(max_pages_per_site=2)
    frontier = make_sql(database, now, "bfs", 1, 1000, delay_s=0.0, limits=limits)
    urls = [f"http://a.test/{number}" for number in range(4)]

    def tick(*settled: Settled) -> list[str | None]:
        with database.transaction():
            frontier.settle(settled)
            frontier.flush()
        frontier.committed()
        counts = frontier.counts
        states = [state for (state,) in database.connection.execute("SELECT state FROM page ORDER BY id")]
        assert (counts["waiting"], counts["running"], counts["refused"]) == (
            states.count("W"), states.count("R"), states.count(None)
        )  # fmt: skip
        return states

    with database.transaction():
        for url in urls:
            frontier.discovery.seed(url, "test")
        frontier.flush()
    frontier.committed()
    (asked,) = frontier.take(1).leases
    (ahead,) = frontier.take_ahead(asked.site, 1)
    assert [asked.url, ahead.url] == urls[:2]
    assert tick() == ["R", "W", "W", "W"]
    assert frontier.untaken == 2
    frontier.promoted(ahead)
    frontier.ended(asked, 0.1, 200)
    assert tick(Settled(lease=asked, state="C", stored_2xx=True)) == ["C", "R", "W", "W"]
    frontier.ended(ahead, 0.1, 200)
    assert frontier.take(1).leases == []
    assert tick(Settled(lease=ahead, state="C", stored_2xx=True)) == ["C", "C", None, None]
    database.close()


def test_a_page_taken_ahead_is_not_set_aside_with_its_site(tmp_path: Path) -> None:
    """The time of its site may be over before it is asked: it is in flight, and comes back from there."""
    now = FakeTime()
    database = open_writer(tmp_path / "crawl.db", MIGRATIONS)
    frontier = make_sql(database, now, "bfs", 2, 1000, delay_s=0.0, limits=Limits(max_time_per_site_s=5.0))
    with database.transaction():
        for number in range(4):
            frontier.discovery.seed(f"http://a.test/{number}", "test")
        frontier.flush()
    frontier.committed()
    (asked,) = frontier.take(1).leases
    (ahead,) = frontier.take_ahead(asked.site, 1)
    now.now += 6.0
    assert frontier.take(1).leases == []
    with database.transaction():
        frontier.flush()
    frontier.committed()
    states = [state for (state,) in database.connection.execute("SELECT state FROM page ORDER BY id")]
    assert states == ["R", "R", None, None]
    assert frontier.in_flight.keys() == {asked.page, ahead.page}
    database.close()
