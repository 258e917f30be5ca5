"""weft simulate: forms of graphs, shares against a plain count, traces, goals, and what it refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import igraph
import networkx
import numpy as np
import pytest

from weft.cli.main import main
from weft.derive.rank.power import hits, pagerank
from weft.derive.simulate.run import Simulation
from weft.derive.simulate.sources import graph_from
from weft.frontier.order.table import NAMES, Settings, order_of

LINKS = [("s", "a"), ("s", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "s"), ("d", "e"), ("e", "c")]


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in LINKS))
    return path


def simulated(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["simulate", *words, "--json"]) == 0
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


def names(path: Path, order: str) -> list[str]:
    graph = graph_from(str(path))
    simulation = Simulation(graph, order_of(order, Settings()), graph.seeds)
    return [simulation.name_of(page) for page in simulation.steps()]


def test_orders_fetch_as_their_names_say(edges: Path) -> None:
    assert names(edges, "bfs") == ["s", "a", "b", "c", "d", "e"]
    assert names(edges, "dfs") == ["s", "a", "c", "b", "d", "e"]
    assert names(edges, "in-links") == ["s", "a", "b", "c", "d", "e"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "score:NAME"])
def test_every_order_fetches_every_page_once(edges: Path, name: str) -> None:
    assert sorted(names(edges, name)) == ["a", "b", "c", "d", "e", "s"]


@pytest.mark.parametrize("form", ["tsv.gz", "csv", "graphml", "gexf", "net", "parquet"])
def test_the_same_graph_in_every_form(edges: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"graph.{form}"
    web = networkx.DiGraph(LINKS)
    if form == "tsv.gz":
        path.write_bytes(gzip.compress(edges.read_bytes()))
    elif form == "csv":
        path.write_text("Source,Target\n" + "".join(f'"{source}",{target}\n' for source, target in LINKS))
    elif form == "graphml":
        networkx.write_graphml(web, path)
    elif form == "gexf":
        networkx.write_gexf(web, path)
    elif form == "net":
        networkx.write_pajek(web, path)
    else:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({"source": [a for a, _ in LINKS], "target": [b for _, b in LINKS]})
        pyarrow.parquet.write_table(table, path)
    graph = graph_from(str(path))
    found = {
        (graph.names[source], graph.names[target])
        for source, target in zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)
    }
    assert found == set(LINKS)
    assert graph.link_count == len(LINKS)


def test_shares_are_of_the_reachable_pages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("s\ta\ns\tb\ns\ts\na\tb\na\tb\nalone\ts\n")
    by = tmp_path / "by.tsv"
    by.write_text("page\tvalue\ns\t1\na\t2\nb\t5\nalone\t100\n")
    answer = simulated(capsys, str(path), "--order", "bfs", "--by", str(by), "--at", "0.5,34,67,100")
    assert (answer["pages"], answer["links"], answer["reachable"]) == (4, 6, 3)
    orders, references = answer["orders"], answer["references"]
    assert isinstance(orders, dict) and isinstance(references, dict)
    assert orders["bfs"]["share"] == {"0.5": 1 / 8, "34": 1 / 8, "67": 3 / 8, "100": 1.0}
    assert orders["bfs"]["best"] == {"0.5": 0.0, "34": 0.0, "67": 0.0, "100": 1.0}
    assert references["ideal"]["share"]["0.5"] == 5 / 8
    assert references["omniscient"]["share"] == {"0.5": 1 / 8, "34": 1 / 8, "67": 6 / 8, "100": 1.0}


def test_a_trace_shows_costs_of_edges_and_paths(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, ranks, trace = tmp_path / "g.tsv", tmp_path / "ranks.tsv", tmp_path / "trace.jsonl"
    path.write_text("s\ta\na\tb\ns\tc\n")
    ranks.write_text("s\t5\na\t8\nb\t6\nc\t1\n")
    words = [str(path), "--order", "path-cost,bfs", "--ranks", str(ranks), "--trace", str(trace), "--trace-frontier"]
    simulated(capsys, *words)
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [(line["page"], line["parent"], line["edge_cost"], line["path_cost"]) for line in lines[:4]] == [
        ("s", None, None, 0), ("a", "s", 4, 4), ("b", "a", 11, 15), ("c", "s", 25, 25),
    ]  # fmt: skip
    assert lines[0]["waiting"] == [{"page": "a", "path_cost": 4}, {"page": "c", "path_cost": 25}]
    assert [line["path_cost"] for line in lines[4:]] == [0, 4, 25, 15]


def test_goals_are_tested_when_their_turn_comes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, ranks = tmp_path / "g.tsv", tmp_path / "ranks.tsv"
    path.write_text("s\ta\na\tb\ns\tc\nc\td\n")
    ranks.write_text("s\t5\na\t8\nb\t6\nc\t1\nd\t1\n")
    words = ["--order", "path-cost", "--ranks", str(ranks), "--goal", "rank <= 6 and page <> 's'", "--goals", "2"]
    goals = simulated(capsys, str(path), *words)["goals"]
    assert isinstance(goals, dict)
    found = {key: goals["path-cost"][key] for key in ("found", "best_cost", "least_step", "bound", "fetched", "pages")}
    assert found == {"found": 2, "best_cost": 15, "least_step": 4, "bound": 4, "fetched": 4, "pages": ["b", "c"]}


def test_an_order_of_ones_own(capsys: pytest.CaptureFixture[str], edges: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from weft.frontier.order.plain import BreadthFirst\n"
        "class Backwards(BreadthFirst):\n"
        "    def priorities(self, pages):\n        return -pages\n"
    )
    words = ["--order", f"{file}:Backwards", "--trace", str(tmp_path / "t.jsonl")]
    simulated(capsys, str(edges), *words)
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert [json.loads(line)["page"] for line in lines] == ["s", "b", "d", "e", "c", "a"]


@pytest.mark.parametrize("ending", [".png", ".svg", ".html"])
def test_plots(capsys: pytest.CaptureFixture[str], edges: Path, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"plot{ending}"
    simulated(capsys, str(edges), "--order", "bfs,weft", "--plot", str(file), "--csv", str(tmp_path / "x.csv"))
    assert file.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<svg", ".html": b"<!DOCTYPE html>"}[ending])
    assert (tmp_path / "x.csv").read_text().startswith("order,percent,share,best,mean,cpu_s\nbfs,1,")


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "has no links"), ("a\tb\nc\n", "line 2"), ("a\tb\n\tc\n", "line 2"), ("# only words\n", "has no links")],
)
def test_bad_graphs(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(content)
    assert main(["simulate", str(path), "--order", "bfs"]) == 2
    error = capsys.readouterr().err
    assert said in error and "bad.tsv" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--order", "best"], "large-sites-first"),
        (["--order", "bfs", "--seeds", "z"], "z is not in the graph"),
        (["--order", "bfs", "--at", "0"], "--at"),
        (["--order", "bfs", "--plot", "x.bmp"], ".svg"),
        (["--order", "bfs", "--goal", "nothing = 1"], "nothing"),
        (["--order", "path-cost", "--ranks", "{}"], "line 2"),
        (["--order", "bfs", "--by", "{}nan"], "line 1"),
        (["--order", "score:{}nan"], "line 1"),
    ],
)
def test_wrong_use(
    capsys: pytest.CaptureFixture[str], edges: Path, tmp_path: Path, words: list[str], said: str
) -> None:  # fmt: skip
    numbers = tmp_path / "numbers"
    numbers.write_text("a\t1\nb\t0\n")
    (tmp_path / "numbersnan").write_text("a\tnan\n")
    assert main(["simulate", str(edges), *(word.format(numbers) for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_pagerank_and_hits_are_those_of_igraph() -> None:
    ends = np.array(list(networkx.gnp_random_graph(60, 0.12, seed=3, directed=True).edges), np.int32)
    web = igraph.Graph(n=60, edges=ends.tolist(), directed=True)
    assert pagerank(60, ends[:, 0], ends[:, 1]) == pytest.approx(web.pagerank(), abs=1e-8)
    hubs, authorities = hits(60, ends[:, 0], ends[:, 1])
    assert hubs == pytest.approx(web.hub_score(), abs=1e-5)
    assert authorities == pytest.approx(web.authority_score(), abs=1e-5)
