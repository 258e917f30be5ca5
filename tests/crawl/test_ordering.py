"""Orders at work: a crawl with one worker fetches as its simulation does, also where it is killed and resumed (P1)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from command import Weft
from until import wait_until

from weft.demo.graph import graph_of_web
from weft.demo.server import Served
from weft.derive.simulate.run import Simulation
from weft.frontier.order.table import Settings, order_of
from weft.spec import PageOrder


def first_fetches(folder: Path) -> list[str]:
    """The URLs of the pages that were asked, each once, in the order of their first visits."""
    database = sqlite3.connect(folder / "crawl.db")
    rows = database.execute("SELECT u.text FROM visit v JOIN url u ON u.id = v.url WHERE v.purpose = 0 ORDER BY v.id")
    found = list(dict.fromkeys(url for (url,) in rows))
    database.close()
    return found


def simulated(served: Served, name: str) -> list[str]:
    graph = graph_of_web(served.web, "web")
    simulation = Simulation(graph, order_of(name, Settings()), graph.seeds)
    return [simulation.name_of(page) for page in simulation.steps()]


def words(served: Served, name: str) -> list[str]:
    return [
        "crawl", *served.seeds, "-o", "out", "--resolve", served.resolve, "--delay", "0", "--workers", "1",
        "--processes", "1", "--sitemaps", "no", "--order", name, "--quiet",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [order.value for order in PageOrder])
def test_a_crawl_fetches_as_its_simulation_does(weft: Weft, invented: Callable[..., Served], name: str) -> None:
    served = invented(seed=5, hosts=1 if name == "dfs" else 3, pages=240)  # depth first gives sites turns
    ended = weft(*words(served, name))
    assert ended.code == 0, ended.stderr
    assert first_fetches(weft.folder / "out") == simulated(served, name)


@pytest.mark.parametrize("name", ["weft", "path-cost", "in-links"])
def test_a_crawl_that_was_killed_goes_on_in_its_order(
    weft: Weft, invented: Callable[..., Served], name: str
) -> None:  # fmt: skip
    served = invented(seed=6, hosts=2, pages=240)
    process = weft.start(*words(served, name))
    for wanted in (60, 160):
        wait_until(partial(_has_visits, weft.folder / "out", wanted), f"visit number {wanted}")
        weft.kill(process)
        process = weft.start("resume", "out", "--quiet")
    assert process.wait(300) == 0
    assert first_fetches(weft.folder / "out") == simulated(served, name)


def _has_visits(folder: Path, wanted: int) -> bool:
    try:
        database = sqlite3.connect(f"file:{folder / 'crawl.db'}?mode=ro", uri=True)
        count = int(database.execute("SELECT count(*) FROM visit").fetchone()[0])
        database.close()
    except sqlite3.Error:
        return False
    return count >= wanted


@pytest.mark.parametrize("name", ["weft", "opic"])
def test_several_workers_fetch_the_same_pages(weft: Weft, invented: Callable[..., Served], name: str) -> None:
    served = invented(seed=7, hosts=3, pages=240)
    ended = weft(
        "crawl", *served.seeds, "-o", "out", "--resolve", served.resolve, "--delay", "0", "--per-host", "4",
        "--processes", "2", "--order", name, "--quiet",
    )  # fmt: skip
    assert ended.code == 0, ended.stderr
    assert set(first_fetches(weft.folder / "out")) == set(served.web.expected())


def test_goals_end_a_crawl(weft: Weft, invented: Callable[..., Served]) -> None:
    """P5: tested when a page was fetched; the crawl stops with the goal that was asked for, and a resume goes on."""
    served = invented(seed=8, hosts=1, pages=240)
    goal = ["--goal", "url like '%/print/%'", "--goals"]
    ended = weft(*words(served, "bfs"), *goal, "2")
    assert ended.code == 0, ended.stderr
    fetched = first_fetches(weft.folder / "out")
    assert sum("/print/" in url for url in fetched) == 2
    assert "/print/" in fetched[-1]
    assert json.loads(weft("status", "out", "--json").stdout)["stop_reason"] == "goals"
    assert weft("resume", "out", "--goals", "3", "--quiet").code == 0
    assert sum("/print/" in url for url in first_fetches(weft.folder / "out")) == 3
    assert weft(*words(served, "bfs")[:-1], "--goal", "nothing = 1").code == 2
