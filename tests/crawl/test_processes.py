"""Several processes are the same crawl as one (E6, E7, G8, T10): results, limits, politeness, deaths.

`bench/kill.py --processes 2 --kill-workers` does the deaths with any number of runs, `bench/processes.py` measures.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import kill
import msgspec
import pytest
from command import Weft
from equal import archive_faults, differences, result_of
from web import Request, Response, Site, html_page

from weft import crawl as weft_crawl
from weft import native
from weft.clock import Clock
from weft.crawl.marks import SLOT_B, ParseMark, add_slots, make_marks, marked_page
from weft.db.connection import open_reader
from weft.db.schema import VERSION
from weft.demo.server import Served
from weft.derive.read import StoredCrawl
from weft.folder import Folder
from weft.records import Ended, Lease
from weft.spec import CrawlSpec
from weft.store.bodies import SharedBodies, share_bodies
from weft.workers.messages import Hello, Report, pair, receive_blocking, send_blocking
from weft.workers.pool import Wanted, WorkerPool
from weft.workers.rate import SharedRate
from weft.workers.worker import _main as worker_main

FAST = ["--delay", "0", "--per-host", "8", "--retries", "1"]
NEEDS_TREE = "<template></template>"
HOOK = """
import os, signal
import weft.parse.tree as tree
plain = tree.read_tree
def read_tree(page, markup, *args):
    with open({log!r}, "a") as log:
        print(os.getpid(), file=log)
    if b"takes its reader down" in markup:
        os.kill(os.getpid(), signal.SIGSEGV)
    return plain(page, markup, *args)
tree.read_tree = read_tree
"""


@pytest.mark.parametrize("options", [[], ["--max-depth", "2", "--no-archive"]], ids=["all", "max-depth"])
def test_the_same_crawl(invented: Callable[..., Served], weft: Weft, options: list[str]) -> None:
    """E6, T10: keys, links in order, states, depths and duplicates as with one process; and the same exit code."""
    served = invented(seed=6, hosts=3, pages=90)
    words = ["--resolve", served.resolve, "--delay", "0", "--per-host", "16", *options]
    for processes in ("1", "3"):
        ended = weft("crawl", *served.seeds, "-o", processes, *words, "--processes", processes)
        assert ended.code == 0, ended.stderr
    assert differences(result_of(weft.folder / "1"), result_of(weft.folder / "3")) == []
    if not options:
        assert archive_faults(weft.folder / "3") == []
        assert len(list((weft.folder / "3" / "warc").glob("*.warc.gz"))) == 3, "each process has a file of its own"
    checked = weft("check", "3")
    assert checked.code == 0, checked.stdout


def test_crawl_and_workers_killed(capsys: pytest.CaptureFixture[str]) -> None:
    """Promise 1: SIGKILL for workers and for the crawl, Ctrl-C for the whole group; the result is the same."""
    options = ["--processes", "2", "--how", "kill", "int", "--kill-workers", "--pages", "80", "--hosts", "2"]
    code = kill.main(["--runs", "1", "--kills", "6", "--seed", "11", *options])
    assert code == 0, capsys.readouterr().out


def test_a_page_that_kills_its_readers(site: Site, weft: Weft) -> None:
    """A page that takes two workers down is recorded and left alone; all others are as if it were not there."""
    names = [f"/p{number}" for number in range(30)]
    site.page("/", links=[*names[:15], "/deadly", *names[15:]])
    for name in names:
        site.page(name, links=["/"])
    site.page("/deadly", body=f"{NEEDS_TREE} takes its reader down")
    ended = weft("crawl", site.url, "-o", "out", *FAST, "--processes", "2", env=_hooked(weft))
    assert ended.code == 0, ended.stderr
    with StoredCrawl(weft.folder / "out") as stored:
        pages = {page.url: page for page in stored.pages(everything=True)}
    assert {page.state for url, page in pages.items() if not url.endswith("/deadly")} == {"C"}
    deadly = pages[site.at("/deadly")]
    assert (deadly.state, deadly.error) == ("E", "BUG")
    assert site.asked("/deadly") == 2
    said = (weft.folder / "out" / "logs" / "weft.log").read_text(encoding="utf-8")
    assert said.count("warning: a worker process died with ") == 2
    checked = weft("check", "out")
    assert checked.code == 0, checked.stdout


def _hooked(weft: Weft) -> dict[str, str]:
    """An environment in which the builder of trees tells who runs it, and dies on some pages."""
    hook = weft.folder / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(HOOK.format(log=str(weft.folder / "trees")), encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join((str(hook), weft.environment["PYTHONPATH"]))}


def test_trees_are_built_by_workers(site: Site, weft: Weft) -> None:
    """A page that the crawl's own process has asked for and that needs the tree is read by a worker, asked once."""
    names = [f"/p{number}" for number in range(60)]
    site.page("/", links=names)
    for number, name in enumerate(names):
        site.page(name, links=["/", names[number - 1]], body=NEEDS_TREE)
    crawl = weft.start("crawl", site.url, "-o", "2", *FAST, "--processes", "2", env=_hooked(weft))
    assert crawl.wait(120) == 0
    assert all(site.asked(name) == 1 for name in names)
    readers = (weft.folder / "trees").read_text(encoding="ascii").split()
    assert len(readers) >= 60 and str(crawl.pid) not in readers
    assert weft("crawl", site.url, "-o", "1", *FAST, "--processes", "1").code == 0
    assert differences(result_of(weft.folder / "1"), result_of(weft.folder / "2")) == []
    assert archive_faults(weft.folder / "2") == []


def test_a_place_that_was_never_told_of_comes_back_with_its_lease(site: Site, tmp_path: Path) -> None:
    """A worker dies while the crawl has not yet read who got the place of whom: for the crawl, that never was."""
    site.page("/first")
    site.page("/next", delay_s=600.0)
    plain = CrawlSpec()
    spec = msgspec.structs.replace(
        plain,
        politeness=msgspec.structs.replace(plain.politeness, delay_s=0.0),
        keep=msgspec.structs.replace(plain.keep, archive=False),
    )
    first, after = (Lease(page=page, url=site.at(path), site=1) for page, path in ((1, "/first"), (2, "/next")))

    async def death() -> tuple[list[tuple[Lease, bool]], list[Ended]]:
        folder = Folder(tmp_path)
        make_marks(folder.parsing)
        async with WorkerPool(spec, Wanted(1), folder, "run", [], Clock(), None) as pool:
            await _until(lambda: pool.is_open)
            pool.start(first, ["127.0.0.1"], 0.0)
            pool.start_ahead(0, after, ["127.0.0.1"])
            await _until(lambda: pool.has_finished and site.asked("/next") > 0 and len(pool.pids()) == 2)
            os.kill(pool.pids()[-1], signal.SIGKILL)
            back: list[tuple[Lease, bool]] = []
            await _until(lambda: bool(back.extend(pool.brought_back()) or back))
            return back, [*pool.next(), *pool.next()]

    back, (ended,) = asyncio.run(death())
    assert back == [(after, False)]
    assert (ended.processed.done.lease, ended.successor) == (first, None)


def test_a_worker_that_ran_dry_goes_on_before_its_answer_is_taken(site: Site, tmp_path: Path) -> None:
    """While the crawl writes a tick, a lease taken ahead has the place of a request that ended; never a second one."""
    for path in ("/first", "/next", "/third"):
        site.page(path)
    plain = CrawlSpec()
    spec = msgspec.structs.replace(
        plain,
        politeness=msgspec.structs.replace(plain.politeness, delay_s=0.0),
        keep=msgspec.structs.replace(plain.keep, archive=False),
    )
    first, after, third = (
        Lease(page=page, url=site.at(path), site=1) for page, path in ((1, "/first"), (2, "/next"), (3, "/third"))
    )

    async def dry() -> tuple[list[Ended], list[Ended], list[tuple[Lease, bool]], int]:
        folder = Folder(tmp_path)
        make_marks(folder.parsing)
        async with WorkerPool(spec, Wanted(1), folder, "run", [], Clock(), None) as pool:
            await _until(lambda: pool.is_open)
            pool.start(first, ["127.0.0.1"], 0.0)
            await _until(lambda: pool.has_finished)
            taken_ahead = [(place, site_id) for place, site_id, _ in pool.room_ahead(1_000)]
            assert taken_ahead == [(0, 1)], "the site has a place there, though nothing is under way"
            pool.start_ahead(0, after, ["127.0.0.1"])
            await _until(lambda: site.asked("/next") == 1)
            one = pool.next()
            await _until(lambda: pool.has_finished)
            two = pool.next()
            pool.start_ahead(0, third, ["127.0.0.1"])
            pool.recall()
            back: list[tuple[Lease, bool]] = []
            await _until(lambda: bool(back.extend(pool.brought_back()) or back))
            return one, two, back, site.asked("/third")

    [one], [two], back, third_asked = asyncio.run(dry())
    assert (one.processed.done.lease, one.successor) == (first, after)
    assert (two.processed.done.lease, two.successor) == (after, None)
    assert (back, third_asked) == ([(third, False)], 0), "its place was the crawl's own again: it waited for another"


def test_a_worker_that_dies_at_the_end_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl that has found all there is does not fail because of workers that have nothing left to do."""
    monkeypatch.setattr("weft.workers.pool.CANCEL_S", 600.0)
    monkeypatch.setattr("weft.workers.pool.END_S", 600.0)
    plain = CrawlSpec()
    spec = msgspec.structs.replace(plain, keep=msgspec.structs.replace(plain.keep, archive=False))

    async def end() -> tuple[list[tuple[Lease, bool]], int]:
        folder = Folder(tmp_path)
        make_marks(folder.parsing)
        async with WorkerPool(spec, Wanted(2), folder, "run", [], Clock(), None) as pool:
            await _until(lambda: pool.is_open)
            pool.recall()
            for pid in pool.pids()[1:]:
                os.kill(pid, signal.SIGKILL)
            await _until(lambda: len(pool.pids()) == 1)
            async with asyncio.timeout(60):  # nobody is waited for who is dead
                left = await pool.cancel_all()
                await pool.close()
            assert pool.next() == []
            return left, len(pool.pids())

    assert asyncio.run(end()) == ([], 1)


async def _until(reached: Callable[[], bool]) -> None:
    for _ in range(12_000):
        if reached():
            return
        await asyncio.sleep(0.01)
    pytest.fail("what was waited for did not come")


def _await(reached: Callable[[], bool], most_s: float = 120.0) -> bool:
    deadline = time.monotonic() + most_s
    while time.monotonic() < deadline:
        if reached():
            return True
        time.sleep(0.02)
    return reached()


def _is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_killing_the_crawl_ends_its_workers(site: Site, weft: Weft) -> None:
    """Nobody outlives the crawl, and the folder is free at once: a worker holds neither its lock nor its sockets."""
    site.page("/", links=[f"/slow{number}" for number in range(40)])
    for number in range(40):
        site.page(f"/slow{number}", delay_s=600.0)
    crawl = weft.start("crawl", site.url, "-o", "out", *FAST, "--processes", "3")
    workers = 2 if native.is_compiled else 3  # and the crawl's own process
    assert _await(lambda: site.asked("/slow0") > 0 and len(kill.workers_of(crawl.pid)) == workers)
    family = [*kill.children_of(crawl.pid), *kill.workers_of(crawl.pid)]
    assert len(family) == 1 + workers
    os.kill(crawl.pid, signal.SIGKILL)
    crawl.wait(60)
    assert _await(lambda: not any(map(_is_alive, family)))
    ended = weft("resume", "out", "--max-pages", "1")
    assert ended.code == 0, ended.stderr


def test_limits_hold_across_processes(site: Site, weft: Weft) -> None:
    """G8, promise 2: never more pages than --max-pages, never more requests at once than --per-host."""
    names = [f"/p{number}" for number in range(60)]
    site.page("/", links=names)
    for name in names:
        site.page(name, links=["/"], delay_s=0.02)
    words = ["--delay", "0", "--per-host", "3", "--processes", "3", "--max-pages", "40"]
    ended = weft("crawl", site.url, "-o", "out", *words)
    assert ended.code == 0, ended.stderr
    assert site.parallel_max() <= 3
    with StoredCrawl(weft.folder / "out") as stored:
        status = stored.status()
    assert (status.pages, status.stop_reason) == (40, "max-pages")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_pages_of_each_site_are_bounded(site: Site, weft: Weft, processes: str) -> None:
    """Promise 6: --max-pages-per-site is never passed, however fast the answers come; failures do not count."""
    hosts = ("one.test", "two.test")
    for host in hosts:
        site.page("/", links=[path for number in range(40) for path in (f"/lost{number}", f"/p{number}")], host=host)
    for number in range(40):
        site.page(f"/p{number}", links=[f"/more{number}"])
    words = ["--resolve", "*.test=127.0.0.1", "--delay", "0", "--per-host", "4", "--processes", processes]
    words += ["--sitemaps", "no", "--quiet"]
    seeds = [site.at("/", host) for host in hosts]
    assert weft("crawl", *seeds, "-o", "out", *words, "--max-pages-per-site", "7").code == 0
    for most in (7, 9):
        with StoredCrawl(weft.folder / "out") as stored:
            answered = [page.url for page in stored.pages() if page.status == 200]
            refused = {page.reason for page in stored.pages(everything=True) if page.state is None}
        assert [len([url for url in answered if host in url]) for host in hosts] == [most, most]
        assert refused == {"SITE_PAGES"}
        assert weft("resume", "out", "--max-pages-per-site", "9", "--quiet").code == 0


def test_a_delay_holds_across_processes(site: Site, weft: Weft) -> None:
    """Promise 2: start to start, also where several requests of a site may run at once."""
    names = [f"/p{number}" for number in range(8)]
    site.page("/", links=names)
    for name in names:
        site.page(name, delay_s=0.8)
    words = ["--delay", "0.5", "--per-host", "4", "--processes", "2", "--sitemaps", "no"]
    assert weft("crawl", site.url, "-o", "out", *words).code == 0
    assert site.hurry_s(0.5) < 0.25
    assert len(site.paths()) == 10


def test_a_cookie_set_for_one_worker_is_sent_by_all(site: Site, weft: Weft) -> None:
    """Promise 8: the jar is the crawl's."""
    names = [f"/p{number}" for number in range(20)]
    without: list[str] = []

    def answer(request: Request) -> Response:
        if "key=1" not in (request.header("cookie") or ""):
            without.append(request.path)
        return Response(body=html_page("page"))

    site.respond("/", Response(body=html_page("home", links=names), headers={"Set-Cookie": "key=1; Path=/"}))
    for name in names:
        site.serve(name, answer)
    assert weft("crawl", site.url, "-o", "out", *FAST, "--processes", "2").code == 0
    assert sorted(set(site.paths())) == sorted(["/", "/robots.txt", "/sitemap.xml", *names])
    assert without == []


def test_too_many_requests_stops_all_workers(site: Site, weft: Weft) -> None:
    """Promise 4: 429 slows a site down; what was given to workers ahead is brought back, and asked later."""
    names = [f"/p{number}" for number in range(100)]
    asked: list[float] = []

    rested = False

    def answer(request: Request) -> Response:
        nonlocal rested
        rested = rested or (bool(asked) and request.time_monotonic - asked[-1] >= 0.8)
        asked.append(request.time_monotonic)
        if not rested:
            return Response(status=429, headers={"Retry-After": "1"})
        return Response(body=html_page("page"))

    site.page("/", links=names)
    for name in names:
        site.serve(name, answer)
    ended = weft("crawl", site.url, "-o", "out", *FAST, "--retries", "4", "--processes", "2")
    assert ended.code == 0, ended.stderr
    with StoredCrawl(weft.folder / "out") as stored:
        assert stored.status().pages == 101
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    first = next(number for number, pause_s in enumerate(pauses) if pause_s >= 0.8)
    assert first < 40, "all workers have stopped soon after the first 429"


def test_a_page_that_fails_holds_nothing_up(site: Site, weft: Weft) -> None:
    """What was given out ahead comes back where a request fails, and is asked at once, not a tick later each time."""
    good, bad = [f"/good/{number}" for number in range(80)], [f"/bad/{number}" for number in range(16)]
    for path in good:
        site.page(path)
    for path in bad:
        site.misbehave(path, "garbage_status_line")
    mixed = [path for number, path in enumerate(bad) for path in (*good[5 * number : 5 * number + 5], path)]
    site.page("/", mixed)
    began = time.monotonic()
    weft("crawl", site.url, "-o", "a", "--delay", "0", "--processes", "2", "--sitemaps", "no", "--quiet")
    assert time.monotonic() - began < 12  # a second and three more until the last retry; else a second for each
    assert all(site.asked(path) == 1 for path in good) and all(site.asked(path) == 3 for path in bad)


def test_auto_starts_alone(site: Site, weft: Weft) -> None:
    """The default is one process where one is enough: a small crawl pays for no other."""
    site.page("/", links=["/a"])
    site.page("/a")
    crawl = weft.start("crawl", site.url, "-o", "out", "--delay", "0.5")
    seen: set[int] = set()
    while crawl.poll() is None:
        seen.update(kill.children_of(crawl.pid))
        time.sleep(0.02)
    assert crawl.returncode == 0 and not seen


def test_auto_grows_when_it_is_busy(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has no time left is joined by workers in the middle of its crawl, and loses nothing by it."""
    early, late = [f"/a{number}" for number in range(10)], [f"/b{number}" for number in range(30)]
    last = 0  # of a chain of pages that goes on until workers have been at work for a while

    def archives(name: str) -> int:
        return len(list((tmp_path / name / "warc").glob("*.warc.gz")))

    def chain(request: Request) -> Response:
        nonlocal last
        number = int(request.path.removeprefix("/chain/"))
        if not last and archives("grown") > 1:
            last = number + 20
        leaves = [f"/leaf/{number}/{leaf}" for leaf in "abc"]  # something to do for others
        onward = late if number == last else [f"/chain/{number + 1}"]
        return Response(body=html_page(request.path, links=[*leaves, *onward]))

    site.page("/", links=[*early, "/chain/1"])
    for name in (*early, *late):
        site.page(name, links=["/"])
    site.serve("/chain/*", chain)
    site.serve("/leaf/*", lambda request: Response(body=html_page(request.path)))
    options: dict[str, object] = {"delay": 0, "per_host": 4}
    monkeypatch.setattr(import_module("weft.workers.choice"), "usable_cores", lambda: 2)
    monkeypatch.setattr("weft.workers.combined.WATCHED_S", 0.0)
    for name, busy in (("grown", 0.0), ("alone", 2.0)):
        monkeypatch.setattr("weft.workers.combined.BUSY_SHARE", busy)
        assert asyncio.run(_crawled([site.url], tmp_path / name, options)) == 41 + 4 * last
    assert archives("alone") == 1 and archives("grown") > 1
    assert differences(result_of(tmp_path / "alone"), result_of(tmp_path / "grown")) == []
    assert archive_faults(tmp_path / "grown") == []


async def _crawled(seeds: list[str], folder: Path, options: dict[str, object]) -> int:
    return len([page async for page in weft_crawl(*seeds, folder=folder, **options)])


def test_marks(tmp_path: Path) -> None:
    """Each process has a slot of its own; the first outlives those that join later."""
    path = tmp_path / "parsing"
    make_marks(path)
    first = ParseMark(path)
    with first.of("http://a.test/" + "x" * 2 * SLOT_B):
        add_slots(path, 3)
        second = ParseMark(path, 2)
        with second.of("http://a.test/2"):
            assert (marked_page(path, 0) or "").startswith("http://a.test/xxx")
            assert (marked_page(path, 1), marked_page(path, 2)) == (None, "http://a.test/2")
    assert [marked_page(path, slot) for slot in range(4)] == [None] * 4
    first.close()
    second.close()


def test_one_rate_for_all(tmp_path: Path) -> None:
    """`--max-rate` is a bound for all processes together."""
    path = tmp_path / "parsing"
    make_marks(path)
    add_slots(path, 2)
    one, other = SharedRate(1_000, path), SharedRate(1_000, path)
    assert one.spend(90, 10.0) and not other.spend(90, 10.0)
    assert not one.refill(10.05) and one.refill(10.1)
    assert not other.spend(200, 10.1) and not one.refill(10.2)
    one.close()
    other.close()


def test_bodies_met_are_known_to_all() -> None:
    """Nobody overlooks a body; where not all are told of, each may be known."""
    writer = share_bodies()
    if writer is None:
        pytest.skip("this system has no such memory")
    reader = SharedBodies(os.dup(writer.descriptor))
    chance = random.Random(7)
    before, later, never = ([chance.getrandbits(64) - (1 << 63) for _ in range(500)] for _ in range(3))
    assert all(map(reader.may_hold, never)), "an older crawl goes on: nothing is known of its bodies"
    writer.begin(before)
    for body_hash in later:
        writer.add(body_hash)
    assert all(map(reader.may_hold, before + later))
    assert not any(map(reader.may_hold, never))
    writer.close()
    reader.close()


@pytest.mark.parametrize("processes", ["1", "2"])
def test_copies_become_revisits_whoever_asks(site: Site, weft: Weft, processes: str) -> None:
    """A page with the body of one that is committed, also by another process; and after a resume."""
    names = [f"/copy{number}" for number in range(4)]
    site.page("/", links=names[:1])
    for name in names:
        site.page(name, title="a copy", links=names, body="the same " * 100)
    words = [site.url, *FAST, "--processes", processes]
    assert weft("crawl", *words, "-o", "at-once").code == 0
    assert weft("crawl", *words, "-o", "resumed", "--max-depth", "1").code == 0
    assert weft("resume", "resumed", "--max-depth", "9").code == 0
    for folder in ("at-once", "resumed"):
        with contextlib.closing(open_reader(weft.folder / folder / "crawl.db", VERSION)) as database:
            found = database.execute("SELECT u.text, v.revisit FROM visit v JOIN url u ON u.id = v.url").fetchall()
        revisits = {url: bool(revisit) for url, revisit in found if "copy" in url}
        assert revisits == {site.at(name): name != "/copy0" for name in names}
        checked = weft("check", folder)
        assert checked.code == 0, checked.stdout


def test_a_worker_has_no_thread_and_nothing_of_the_crawl(weft: Weft) -> None:
    """What workers are forked from loads without a thread, and without frontier, judge and resolver."""
    program = (
        "import sys, threading\nimport weft.workers.worker\n"
        "assert threading.active_count() == 1\n"
        "print(*[name for name in sys.modules if name.startswith(('weft.frontier', 'weft.judge', 'pycares', 'rich'))])"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, env=weft.environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.split() == [], done.stdout + done.stderr


def test_a_worker_that_is_frozen_is_replaced(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 4, 2: a worker that says nothing for ever keeps nobody waiting: it is ended, and its leases come back."""
    monkeypatch.setattr("weft.workers.pool.LOOK_S", 0.05)
    monkeypatch.setattr("weft.workers.pool.SILENCE_S", 0.5)
    site.page("/slow", delay_s=600.0)
    site.page("/quick")
    plain = CrawlSpec()
    spec = msgspec.structs.replace(
        plain,
        limits=msgspec.structs.replace(plain.limits, timeout_s=0.5),
        keep=msgspec.structs.replace(plain.keep, archive=False),
    )
    slow, quick = (Lease(page=page, url=site.at(path), site=page) for page, path in ((1, "/slow"), (2, "/quick")))

    async def frozen() -> tuple[list[tuple[Lease, bool]], list[Ended]]:
        folder = Folder(tmp_path)
        make_marks(folder.parsing)
        async with WorkerPool(spec, Wanted(1), folder, "run", [], Clock(), None) as pool:
            await _until(lambda: pool.is_open and len(pool.pids()) == 2)
            os.kill(pool.pids()[-1], signal.SIGSTOP)
            pool.start(slow, ["127.0.0.1"], 0.0)
            back: list[tuple[Lease, bool]] = []
            await _until(lambda: bool(back.extend(pool.brought_back()) or back))
            pool.start(quick, ["127.0.0.1"], 0.0)
            await _until(lambda: pool.has_finished)
            return back, pool.next()

    back, [ended] = asyncio.run(frozen())
    assert back == [(slow, True)]
    assert (ended.processed.done.lease, ended.processed.done.facts.status) == (quick, 200)


def test_a_worker_that_waits_is_left_alone(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has nothing to report, because its servers are slow, says so when it is asked."""
    monkeypatch.setattr("weft.workers.pool.LOOK_S", 0.1)
    monkeypatch.setattr("weft.workers.pool.SILENCE_S", 2.5 - CrawlSpec().limits.timeout_s)
    site.page("/slow", delay_s=3.5)
    lease = Lease(page=1, url=site.at("/slow"), site=1)
    plain = CrawlSpec()
    spec = msgspec.structs.replace(plain, keep=msgspec.structs.replace(plain.keep, archive=False))

    async def patient() -> tuple[list[int], list[int], list[Ended]]:
        folder = Folder(tmp_path)
        make_marks(folder.parsing)
        async with WorkerPool(spec, Wanted(1), folder, "run", [], Clock(), None) as pool:
            await _until(lambda: pool.is_open and len(pool.pids()) == 2)
            before = pool.pids()
            pool.start(lease, ["127.0.0.1"], 0.0)
            await _until(lambda: pool.has_finished)
            return before, pool.pids(), pool.next()

    before, after, [ended] = asyncio.run(patient())
    assert before == after and ended.processed.done.facts.status == 200


def test_a_worker_whose_folder_is_gone_says_so(tmp_path: Path) -> None:
    """Promise 10: a folder that was moved while workers began is told in a sentence, with no word of our code."""
    plain = CrawlSpec()
    ours, theirs = pair()
    with ours, theirs:
        send_blocking(ours, Hello(plain, str(tmp_path / "gone"), "run-1", 1, [], 0.0, 0))
        asyncio.run(worker_main(receive_blocking(theirs, Hello), theirs, None))
        report = receive_blocking(ours, Report)
    assert report is not None and "gone" in report.failure
    assert "is gone: somebody has removed or moved it" in report.failure
