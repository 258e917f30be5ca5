"""What is known of URLs, in memory that workers share: a report means what it meant when it was made (E6, E7)."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import weft
from weft.demo.server import Served
from weft.derive.read import StoredCrawl
from weft.frontier import links as frontier_links
from weft.frontier.seen import UNKNOWN, Recent
from weft.records import Link, Links
from weft.shared import GENERATIONS, SeenByAll, SeenByWorkers, share_seen

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from equal import differences, result_of

pytestmark = pytest.mark.skipif(share_seen(1) is None, reason="there are no compiled parts here, or no such memory")
BY_KIND = bytes([1] * 20)


def shared(entries: int) -> tuple[SeenByWorkers, SeenByAll]:
    writer = SeenByWorkers(entries)
    return writer, SeenByAll(os.dup(writer.descriptor))


def links_to(*targets: str) -> Links:
    return Links.of(Link(target, 1) for target in targets)


def sent(links: Links) -> Links:
    """As it comes out at the other end of a line."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(links), type=Links)


def test_only_what_is_new_travels() -> None:
    writer, worker = shared(100)
    for number, text in enumerate(("http://h.test/a", "http://h.test/é", "mailto:\ud800", "")):
        writer.put(text, number + 1)
    wanted = ["http://h.test/new", "http://h.test/a", "mailto:\ud800", "http://h.test/é", "http://h.test/new", ""]
    links = worker.placed(links_to(*wanted))
    assert links.targets == ["http://h.test/new"] * 2
    links = sent(links)
    writer.restore(links, worker.generation)
    assert links.targets == wanted and writer.still_has(links)
    _, infos, _ = frontier_links.recalled({}, links, BY_KIND, False, 0, writer.of(links))
    assert list(infos) == [UNKNOWN, 1, 3, 2, UNKNOWN, 4]


def test_where_nothing_is_known_all_travel() -> None:
    writer, worker = shared(8)
    links = links_to("http://h.test/a", "http://h.test/b")
    assert worker.placed(links) is links and worker.placed(links_to()).targets == []
    writer.restore(links, worker.generation)
    assert links.targets == ["http://h.test/a", "http://h.test/b"] and writer.of(links) is None


def test_what_a_page_says_is_left_as_it_is() -> None:
    """A parser of the user's own may give the same links for every page."""
    writer, worker = shared(8)
    writer.put("http://h.test/a", 1)
    links = links_to("http://h.test/a", "http://h.test/b")
    first, second = worker.placed(links), worker.placed(links)
    assert first.targets == second.targets == ["http://h.test/b"] and first.places == second.places
    assert links.targets == ["http://h.test/a", "http://h.test/b"] and not links.places


def test_what_is_full_takes_no_more_and_goes_on() -> None:
    writer, worker = shared(8)
    for number in range(20):
        writer.put(f"http://h.test/{number}", number + 1)
    writer.put("http://h.test/3", 99)
    links = worker.placed(links_to(*(f"http://h.test/{number}" for number in range(20))))
    assert links.targets == [f"http://h.test/{number}" for number in range(8, 20)]
    writer.restore(links, worker.generation)
    _, infos, _ = frontier_links.recalled({}, links, BY_KIND, False, 0, writer.of(links))
    assert list(infos) == [1, 2, 3, 99, 5, 6, 7, 8, *[UNKNOWN] * 12]


def test_what_the_crawl_knew_better_is_there_for_the_next_page() -> None:
    """A URL that is known, but was no more among those that are shared, is so again once a page leads there."""
    writer, worker = shared(8)
    writer.put("http://h.test/a", 1)
    links = worker.placed(links_to("http://h.test/a", "http://h.test/old"))
    writer.restore(links, worker.generation)
    frontier_links.recalled({"http://h.test/old": 7}, links, BY_KIND, False, 0, writer.of(links))
    assert worker.placed(links_to("http://h.test/old")).targets == []


def test_no_room_is_used_again_that_a_worker_may_still_mean() -> None:
    writer, worker = shared(4)
    writer.joined(1)
    writer.joined(2)
    for _ in range(10):
        writer.begin_next()
    assert writer.generation == 2, "neither was heard since: what it reports next may lie in the first one"
    writer.heard(1, worker.generation)
    writer.begin_next()
    assert writer.generation == 2, "the other was not"
    writer.left(2)
    writer.begin_next()
    assert writer.generation == 3
    writer.left(1)
    for _ in range(10):
        writer.begin_next()
    assert writer.generation == 13, "nobody looks"


def test_a_report_that_waited_too_long_is_looked_up_anew() -> None:
    recent = Recent(1_000)
    writer = recent.share()
    assert writer is not None
    worker = SeenByAll(os.dup(writer.descriptor))
    recent.put("http://h.test/a", 5)
    links = worker.placed(links_to("http://h.test/a", "http://h.test/b"))
    writer.restore(links, worker.generation)
    assert list(recent.others_of(links)) == ["http://h.test/b"]
    for _ in range(GENERATIONS - 2):
        writer.begin_next()
    assert list(recent.others_of(links)) == ["http://h.test/b"] and recent.shared_of(links)
    writer.begin_next()
    assert list(recent.others_of(links)) == ["http://h.test/a", "http://h.test/b"] and not recent.shared_of(links)
    _, infos, _ = frontier_links.recalled(recent.young, links, BY_KIND, False, 0, recent.shared_of(links))
    assert list(infos) == [5, UNKNOWN]


@pytest.mark.parametrize("seed", range(20))
def test_every_report_means_what_it_meant(seed: int) -> None:
    """Two workers look and report late, the crawl stores later still, what is known changes: nothing is mistaken."""
    chance = random.Random(seed)
    recent = Recent(400)
    for number in range(chance.randrange(50)):
        recent.put(f"http://h.test/{number}", number + 1)
    writer = recent.share()
    assert writer is not None
    entries = 1 << (recent._half // 2).bit_length() - 1
    assert entries < 300, "small enough for many generations"
    workers = {number: SeenByAll(os.dup(writer.descriptor)) for number in (1, 2)}
    for number in workers:
        writer.joined(number)
    known = recent.young.copy()
    ways: dict[int, deque[tuple[list[str], Links, int]]] = {number: deque() for number in workers}
    waiting: deque[tuple[list[str], Links]] = deque()
    newest, placed = len(known), 0
    for _ in range(4_000):
        act = chance.randrange(5)
        number = chance.choice([*workers])
        if act == 0:  # a worker reads a page
            low = max(0, newest - chance.choice((20, 200, 2_000)))
            targets = [f"http://h.test/{chance.randint(low, newest + 2)}" for _ in range(chance.randrange(8))]
            generation = workers[number].generation
            links = workers[number].placed(links_to(*targets))
            placed += bool(links.places)
            ways[number].append((targets, sent(links), generation))
        elif act == 1 and ways[number]:  # its report is heard
            targets, links, generation = ways[number].popleft()
            writer.restore(links, generation)
            writer.heard(number, generation)
            assert links.targets == targets
            waiting.append((targets, links))
        elif act == 2 and waiting:  # and stored
            targets, links = waiting.popleft()
            others = set(recent.others_of(links))
            assert all(text in others for text in targets if text not in known)
            young = {text: known[text] for text in others if text in known}  # what the database tells of those
            _, infos, _ = frontier_links.recalled(young, links, BY_KIND, False, 0, recent.shared_of(links))
            assert list(infos) == [known.get(text, UNKNOWN) for text in targets]
        elif act == 3:  # something new is met, or what is known changes
            newest += chance.random() < 0.7
            text = f"http://h.test/{chance.randint(max(0, newest - 300), newest)}"
            known[text] = chance.randrange(1, 1 << 50)
            recent.put(text, known[text])
        elif act == 4:
            recent.age()
    assert writer.generation > 2 and placed > 100


def test_a_crawl_whose_memory_is_used_again_and_again(
    invented: Callable[..., Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same keys, links in order, states and depths as with one process, also where it holds few URLs at a time."""
    monkeypatch.setattr("weft.shared.ENTRIES_MAX", 16)
    begun: list[int] = []
    plain = SeenByWorkers.begin_next
    monkeypatch.setattr(SeenByWorkers, "begin_next", lambda self: plain(self) or begun.append(self.generation))
    served = invented(seed=12, hosts=3, pages=120)

    async def crawl(name: str, processes: int) -> None:
        async for _ in weft.crawl(
            *served.seeds, folder=tmp_path / name, delay=0, per_host=8, processes=processes, resolve=[served.resolve]
        ):
            pass

    for name, processes in (("one", 1), ("three", 3)):
        asyncio.run(crawl(name, processes))
    assert max(begun) > 1
    assert differences(result_of(tmp_path / "one"), result_of(tmp_path / "three")) == []
    with StoredCrawl(tmp_path / "three") as stored:
        assert stored.status().pages > 100
