"""The wiring of a crawl, and nothing else: names of the specification to parts. The only module that sees all stages.

``make_stages`` makes the parts that know a page (the frontier, the judge, the store ...), ``open_crawl`` the program
that turns them. Each part gets the ports that it uses by name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from weft.clock import Clock
from weft.crawl.events import Observer
from weft.crawl.housekeeping import AddedSeeds, Housekeeping, MemoryWatch, SmallState, TemplateRow
from weft.crawl.learning import Learning
from weft.crawl.logs import Routine
from weft.crawl.loop import Consumers, Loop
from weft.crawl.opening import OpenCrawl, Opened, Program, RunStart, begin_run, marking, open_folder, spec_of_pass
from weft.crawl.site_requests import SiteRequests
from weft.crawl.tick import Tick
from weft.fetch.cookies import CookieJar, CookieRow
from weft.fetch.resolve import AddressPolicy, Resolver, kind_of
from weft.fetch.robots.gate import RobotsGate
from weft.folder import Folder, StopFile
from weft.frontier.given import Memory, Policies
from weft.frontier.polite import Schedule
from weft.frontier.sitemap_queue import SitemapQueue
from weft.frontier.sql import SqlFrontier
from weft.judge.admit import Admission
from weft.judge.duplicates import Skips
from weft.plugins import LoadedPlugins
from weft.ports import Answers, Workers
from weft.spec import CrawlSpec, PageOrder, Politeness, RenderMode, Sitemaps, Skip
from weft.store.copies import StoredCopies
from weft.store.origins import StoredOrigins
from weft.store.state import StoredState
from weft.store.visits import SqlStore
from weft.url import Normalizer, host_of, origin_of
from weft.workers.choice import Asking, make_fork_server, start_workers

if TYPE_CHECKING:
    from weft.crawl.rendering import Rules
    from weft.frontier.order.interface import Order
    from weft.workers.fork_server import ForkServer

PUBLIC_IP_PARALLEL = 16
PRIMED_SEEDS = 64  # a few seeds: what they open does not depend on whose name resolves first


class Stages(NamedTuple):
    """The parts of one crawl that know a page; ``build`` hands each on by name."""

    clock: Clock  # of the crawl: it never jumps
    plugins: LoadedPlugins  # functions of the user's (R4)
    normalizer: Normalizer  # which URLs are one page (R14)
    judge: Admission  # which URLs belong to the crawl
    robots: RobotsGate  # robots.txt of each origin
    sitemaps: SitemapQueue  # which sitemaps are still to be read
    policy: AddressPolicy  # which addresses may be connected to
    resolver: Resolver  # addresses of hosts
    jar: CookieJar | None  # cookies; None: none are kept
    frontier: SqlFrontier  # whose turn it is, and which page is next
    store: SqlStore  # visits, their links, and the places of their bodies
    duplicates: Skips | None  # whose links are not followed; None: all are


def make_stages(
    spec: CrawlSpec, opened: Opened, seed_urls: list[str], answers: Answers | None = None,
    ranks: Mapping[str, float] | None = None,
) -> Stages:  # fmt: skip
    """All stages of a crawl, in the order in which they need each other; with ``answers`` nothing else is a page."""
    connection, state = opened.database.connection, opened.state
    clock = Clock(state.last_tick_ms)
    plugins = LoadedPlugins(spec.plugins.parts)
    normalizer = Normalizer.of(spec.urls, state.ip_hosts)
    judge = _make_judge(spec, seed_urls, state, answers.has if answers is not None else plugins.one("analyser"))
    robots = RobotsGate(StoredOrigins(connection), spec, clock, plugins.one("robots"))
    policy = AddressPolicy(spec.network, [host_of(url) for url in seed_urls])
    resolver = Resolver(spec.network, policy, timeout_s=min(10.0, spec.limits.timeout_s), looks_up=answers is None)
    schedule = Schedule(_ip_bounds(spec.politeness), by_turns=spec.politeness.order is PageOrder.DFS)
    policies = Policies(judge, robots, normalizer, judge.paces, _make_order(spec.politeness.order, ranks))
    memory = Memory(state.hash_seed, _cache_entries(spec))
    frontier = SqlFrontier(connection, spec, policies, schedule, clock, resolver.cached, memory)
    return Stages(
        clock=clock,
        plugins=plugins,
        normalizer=normalizer,
        judge=judge,
        robots=robots,
        sitemaps=SitemapQueue(connection),
        policy=policy,
        resolver=resolver,
        jar=_make_jar(spec, state, clock),
        frontier=frontier,
        store=plugins.made("store", SqlStore(connection)),
        duplicates=Skips(spec.duplicates, StoredCopies(connection)) if spec.duplicates.skip is not Skip.NO else None,
    )


def _make_order(order: PageOrder, ranks: Mapping[str, float] | None) -> Order | None:
    """The strategy; None for those that need no more than the depth of a page and the number of its visit."""
    if order in (PageOrder.BFS, PageOrder.DFS):
        return None
    from weft.frontier.order.table import Settings, order_of

    return order_of(order, Settings(ranks=ranks))


@asynccontextmanager
async def open_crawl(
    spec: CrawlSpec, folder: Folder, start: RunStart, observers: Sequence[Observer], *,
    fork_server: ForkServer | None = None, answers: Answers | None = None, ranks: Mapping[str, float] | None = None,
) -> AsyncIterator[OpenCrawl]:  # fmt: skip
    """A crawl ready to run, its folder locked; all that it holds is freed at the end, whatever happens.

    ``answers``: these are taken in the place of the network. ``ranks``: of pages by their URLs, for the order
    path-cost.
    """
    async with AsyncExitStack() as stack:
        fork_server = fork_server or make_fork_server(spec)  # before there is a lock or a socket to be inherited
        if fork_server is not None:
            stack.callback(fork_server.close)
        opened = stack.enter_context(open_folder(folder, spec))  # the lock and the database
        spec = spec_of_pass(spec, opened.state, new_pass=start.new_pass)
        is_new = not opened.state.is_seeded
        seed_urls = [seed.url for seed in start.seeds] if is_new else []
        seed_urls = seed_urls or opened.state.seed_urls()
        one = make_stages(spec, opened, seed_urls, answers, ranks)
        stack.enter_context(marking(opened))  # the file of the pages being read
        stack.push_async_callback(one.resolver.close)
        hosts = {host_of(url) for url in seed_urls}
        await _look_seeds_up(one, hosts, is_new=is_new)
        # recovers from however the last run ended
        run = begin_run(opened, one.frontier, one.store, one.normalizer, one.clock, start)
        # robots.txt and sitemaps: what their answers mean, and which requests follow
        reads_sitemaps = spec.scope.sitemaps is not Sitemaps.NO
        site_requests = SiteRequests(one.frontier, one.robots, one.sitemaps, one.judge, reads_sitemaps=reads_sitemaps)
        rendering = _make_rendering(spec, one, opened.state, site_requests)  # the rules for what rendered pages load
        seed_origins = [origin_of(url) for url in seed_urls]
        store = one.store
        asking = Asking(
            spec, folder, run, one.clock, seed_origins, one.policy, one.jar, store.stored_body, store.share_bodies,
            answers, rendering,
        )  # fmt: skip
        workers = await stack.enter_async_context(start_workers(asking, fork_server))  # who ask, read and archive
        templates = rendering.choice.changed if rendering is not None else tuple
        program = _make_program(spec, opened, one, workers, site_requests, templates, observers)
        is_private = _are_private(one.resolver, hosts)
        yield OpenCrawl(spec, opened, one.clock, program, one.frontier, is_private=is_private)


def _make_program(
    spec: CrawlSpec, opened: Opened, one: Stages, workers: Workers, site_requests: SiteRequests,
    templates: Callable[[], Iterable[TemplateRow]], observers: Sequence[Observer],
) -> Program:  # fmt: skip
    """The program that turns the stages."""
    folder, transaction, limits = opened.folder, opened.database.transaction, spec.limits
    _go_on_with_sitemaps(spec, one, site_requests)
    # what follows from a lease that ended
    learning = Learning(limits, one.frontier, one.judge, one.store, site_requests, one.jar, one.normalizer.key)
    # the small state of the run, and the tick that stores it with all that came
    stop_file = StopFile(limits.stop_file, opened.state.obeyed_stop_file)
    state = SmallState(opened.state, one.judge, one.jar, one.clock, one.store, stop_file, templates)
    tick = Tick(transaction, one.frontier, one.store, one.judge, one.duplicates, site_requests, state)
    # what comes from outside, once a tick: memory, more seeds, the wish to stop
    memory = MemoryWatch(limits.max_memory_b, one.clock, workers.pids, one.frontier.shed)
    added = AddedSeeds(folder, transaction, one.frontier, one.judge.add_seed, one.resolver.add_seeds)
    finishers = one.plugins.all("finisher")
    housekeeping = Housekeeping(folder, stop_file, memory, added, finishers, limits.max_bugs)
    # who is told of each tick: logs and screens, plugins of the user's
    told = [*observers, *(Routine(routine) for routine in one.plugins.all("routine"))]
    # the loop, which is handed these by name
    consumers = Consumers(learning, tick, told)
    loop = Loop(spec, one.clock, one.frontier, one.resolver, workers, consumers, housekeeping)
    return Program(loop, workers, housekeeping)


def add_seeds(spec: CrawlSpec, folder: Folder, seeds: Sequence[tuple[str, str | None]]) -> int:
    """Gives a crawl that does not run more start addresses (URL, fallback), under its lock; how many were new."""
    with open_folder(folder, spec) as opened:
        one = make_stages(spec, opened, opened.state.seed_urls())
        transaction = opened.database.transaction
        return AddedSeeds(folder, transaction, one.frontier, one.judge.add_seed, one.resolver.add_seeds).take(seeds)


# ---- parts that take more than a line --------------------------------------------------------------------------------


def _make_judge(
    spec: CrawlSpec, seed_urls: list[str], state: StoredState, analyse: Callable[[str], bool] | None
) -> Admission:
    judge = Admission(spec, seed_urls, datetime.now(UTC).year, analyse)
    judge.load(state.traps())
    for name in state.scope_sites():
        judge.allow_site(name)
    return judge


def _make_jar(spec: CrawlSpec, state: StoredState, clock: Clock) -> CookieJar | None:
    if not spec.network.keep_cookies:
        return None
    jar = CookieJar()
    if spec.network.cookies is not None:
        path = Path(spec.network.cookies)
        jar.load_file(path.read_text(encoding="utf-8"), str(path))
    jar.load([CookieRow(*row) for row in state.cookies()], clock.epoch_ms() / 1000)
    return jar


def _ip_bounds(polite: Politeness) -> Callable[[str], tuple[int, float]]:
    """Parallel requests and delay of an address; private ones are bounded only where the user says so."""
    if polite.per_ip is not None or polite.ip_delay_s:
        return lambda ip: (polite.per_ip or 0, polite.ip_delay_s) if ip else (0, 0.0)
    # a site that may be asked more at once than addresses usually are is asked so
    parallel = max([PUBLIC_IP_PARALLEL, *(site.per_host or 0 for site in polite.sites)])
    return lambda ip: (parallel if ip and not kind_of(ip) else 0, 0.0)


def _make_rendering(spec: CrawlSpec, one: Stages, state: StoredState, site_requests: SiteRequests) -> Rules | None:
    """What the requests of rendered pages have to keep to; None where no page is rendered."""
    if spec.browser.render is RenderMode.NO:
        return None
    from weft.crawl.rendering import FrameGate, Rules, make_choice

    gate = FrameGate(
        one.robots, one.frontier.site_id_of, site_requests.ask_robots_for_frame, one.judge.is_askable
    )  # fmt: skip
    bounds, choice = _ip_bounds(spec.politeness), make_choice(spec, state.templates())
    return Rules(one.resolver, gate.allows, lambda ip: bounds(ip)[0], one.jar, choice)


def _cache_entries(spec: CrawlSpec) -> int:
    """Texts of URLs kept in RAM: about 250 bytes each, a quarter of the memory allowed, and no more than pays."""
    return max(10_000, min(400_000, spec.limits.max_memory_b // 4 // 250))


async def _look_seeds_up(one: Stages, hosts: set[str], *, is_new: bool) -> None:
    """Addresses of the seeds' hosts, before anything is asked."""
    if len(hosts) > PRIMED_SEEDS:
        return
    await one.resolver.prime(hosts)
    if is_new:
        one.normalizer.know(_own_addresses(one.resolver, hosts))


def _own_addresses(resolver: Resolver, hosts: Iterable[str]) -> dict[str, str]:
    """The addresses that belong to one of these hosts alone, each with its host (R14)."""
    found: dict[str, set[str]] = {}
    for host in hosts:
        answer = resolver.cached(host)
        if isinstance(answer, tuple) and not host.startswith("[") and not host[-1:].isdigit():
            for address in answer:
                found.setdefault(address, set()).add(host)
    return {address: names.pop() for address, names in found.items() if len(names) == 1}


def _are_private(resolver: Resolver, hosts: Iterable[str]) -> bool:
    """Whether the addresses of all these hosts are known, and none of them is public."""
    answers = [resolver.cached(host) for host in hosts]
    return bool(answers) and all(isinstance(answer, tuple) and all(map(kind_of, answer)) for answer in answers)


def _go_on_with_sitemaps(spec: CrawlSpec, one: Stages, site_requests: SiteRequests) -> None:
    """Sitemaps that an earlier run left to read."""
    if spec.scope.max_depth == 0 and not one.judge.paces.has_depths:
        return  # --max-depth 0 of a list of many hosts has as many sitemaps put off
    for lease in one.sitemaps.waiting():
        site_requests.ask_sitemap(lease)
