"""weft rank: scores in the table ``rank``, against igraph and a plain search for the cheapest paths (E10, P1)."""

from __future__ import annotations

import heapq
import json
import sqlite3
from pathlib import Path

import igraph
import pytest
from made_crawl import make

from weft.cli.main import main
from weft.derive.graph import Choice, page_graph
from weft.derive.read import StoredCrawl
from weft.frontier.order.path_cost import edge_cost


def rows(folder: Path) -> dict[int, tuple[float, int, int, int | None]]:
    database = sqlite3.connect(folder / "crawl.db")
    found = {
        page: (pagerank, in_links, rank, cost)
        for page, pagerank, in_links, rank, cost in database.execute(
            "SELECT page, pagerank, in_links, rank, path_cost FROM rank"
        )
    }
    database.close()
    return found


def test_scores_are_those_of_the_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(tmp_path / "made", 400, sites=2, links=4)
    assert main(["rank", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    with StoredCrawl(folder) as crawl:
        graph = page_graph(crawl, Choice())
        links = {source: targets for source, targets in graph.pairs() if targets}
        pages, starts = graph.page_ids(), graph.starts()
    web = igraph.Graph(len(pages), [(source, one) for source, found in links.items() for one in found], directed=True)
    kept = rows(folder)
    assert [kept[page][0] for page in pages] == pytest.approx(web.pagerank(), abs=1e-8)
    assert [kept[page][1] for page in pages] == web.indegree()
    ranks = [kept[page][2] for page in pages]
    assert min(ranks) >= 1
    assert max(ranks) == 10
    assert [kept[page][3] for page in pages] == cheapest(links, starts, ranks)
    assert told["pages"] == len(pages)
    assert told["best"][0][1]["pagerank"] == max(row[0] for row in kept.values())


def cheapest(links: dict[int, list[int]], starts: list[int], ranks: list[int]) -> list[int | None]:
    """The cost of the cheapest path to each page, by Dijkstra's algorithm."""
    costs: list[int | None] = [None] * len(ranks)
    queue = [(0, start) for start in starts]
    while queue:
        cost, page = heapq.heappop(queue)
        if costs[page] is None:
            costs[page] = cost
            for target in links.get(page, []):
                heapq.heappush(queue, (cost + edge_cost(ranks[page], ranks[target]), target))
    return costs


def test_ranks_that_were_kept_are_where_the_next_time_begins(tmp_path: Path) -> None:
    folder = make(tmp_path / "made", 200, links=4)
    assert main(["rank", str(folder)]) == 0
    before = rows(folder)
    assert main(["rank", str(folder)]) == 0
    after = rows(folder)
    assert [row[0] for row in after.values()] == pytest.approx([row[0] for row in before.values()], abs=1e-8)
    assert [row[1:] for row in after.values()] == [row[1:] for row in before.values()]
