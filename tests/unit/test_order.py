"""The orders as pure functions of what was fetched: worked numbers, ties, batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError
from weft.frontier.order.interface import SEED, Order, batch_after, by_score
from weft.frontier.order.links import InLinks, Opic
from weft.frontier.order.path_cost import PathCost, PathCostByLinks, edge_cost
from weft.frontier.order.plain import BreadthFirst, DepthFirst, RandomOrder
from weft.frontier.order.ranks import PageRank
from weft.frontier.order.scores import ByScore, from_table
from weft.frontier.order.sites import LargeSitesFirst
from weft.frontier.order.table import NAMES, Settings, order_of


def page(order: Order, *numbers: int) -> list[int]:
    """The priorities of some pages."""
    return list(order.priorities(np.array(numbers)).tolist())


def seeded(order: Order, *urls: str) -> None:
    order.found(0, urls or ("seed",), 0, SEED)


def test_an_edge_costs_as_in_the_worked_example() -> None:
    """P1: from rank 8 to rank 6 costs 11, and with 25 so far the path costs 36."""
    assert edge_cost(8, 6) == 11
    assert 25 + edge_cost(8, 6) == 36
    assert edge_cost(10**9, 3) == -(-(10**18) // 3)
    assert edge_cost(2.5, 2.0) == 4


def test_a_path_is_the_sum_of_its_edges_and_a_cheaper_one_takes_its_place() -> None:
    order = PathCost({"seed": 5, "a": 8, "b": 6, "c": 5})
    seeded(order)
    order.found(1, ["a", "c"], 1, 0)
    order.fetched(0, np.array([1, 2]))
    assert order.costs[:3].tolist() == [0, 4, 5]
    order.found(3, ["b"], 2, 1)
    order.fetched(1, np.array([3]))
    assert order.costs[3] == 4 + 11
    list(order.moved())
    order.fetched(2, np.array([3]))
    assert order.costs[3] == 5 + 5
    assert list(order.moved()) == [3]
    assert order.parents[3] == 2


def test_a_page_without_a_rank_has_the_least_one() -> None:
    order = PathCost({"seed": 4})
    seeded(order)
    order.found(1, ["a"], 1, 0)
    order.fetched(0, np.array([1]))
    assert order.rank_of(1) == 1
    assert order.costs[1] == 16


def test_ranks_from_links_price_waiting_pages_anew_and_freeze_those_of_fetched_pages() -> None:
    order = PathCostByLinks()
    seeded(order)
    order.found(1, ["a", "b", "c"], 1, 0)
    order.fetched(0, np.array([1, 2, 3]))
    order.begin_batch()
    assert [order.rank_of(number) for number in (1, 2, 3)] == [10, 10, 10]
    order.fetched(1, np.array([2]))
    order.begin_batch()
    assert order.rank_of(2) == 10
    assert order.rank_of(3) == 1 + int(9 * np.log(2) / np.log(12))
    assert order.rank_of(1) == 10  # fetched: frozen
    assert order.costs[3] == 1  # from rank 1 to any rank
    assert order.costs[2] == 1


def test_in_links_are_counted_and_ties_go_to_the_least_depth() -> None:
    order = InLinks()
    seeded(order)
    order.found(1, ["a", "b"], 1, 0)
    order.fetched(0, np.array([1, 2]))
    order.found(3, ["c"], 2, 1)
    order.fetched(1, np.array([2, 3]))
    one, two, three = page(order, 1, 2, 3)
    assert two < one < three


def test_cash_is_shared_among_links() -> None:
    order = Opic()
    seeded(order)
    order.found(1, ["a", "b"], 1, 0)
    order.fetched(0, np.array([1, 2]))
    order.found(3, ["c"], 2, 1)
    order.fetched(1, np.array([3]))
    assert order.scores[:4].tolist() == [np.inf, 0.5, 0.5, 0.5]


def test_the_links_of_the_page_read_last_come_first() -> None:
    order = DepthFirst()
    seeded(order)
    order.fetched(0, np.array([1, 2]))
    order.found(1, ["a", "b"], 1, 0)
    order.fetched(1, np.array([3]))
    order.found(3, ["c"], 2, 1)
    first, second, third = page(order, 1, 2, 3)
    assert third < first == second


def test_lots_are_those_of_the_number() -> None:
    one, same, other = RandomOrder(1), RandomOrder(1), RandomOrder(2)
    for order in (one, same, other):
        order.found(0, ["a", "b"], 0, SEED)
    assert page(one, 0, 1) == page(same, 0, 1) != page(other, 0, 1)


def test_the_largest_site_comes_first() -> None:
    order = LargeSitesFirst()
    seeded(order, "http://a.test/")
    order.found(1, ["http://b.test/1", "http://b.test/2", "http://a.test/3"], 1, 0)
    order.begin_batch()
    first, second, third = page(order, 1, 2, 3)
    assert first == second
    order.fetched(0, np.array([1, 2, 3]))
    order.begin_batch()
    first, _, third = page(order, 1, 2, 3)
    assert first < third


def test_pagerank_is_that_of_igraph() -> None:
    import igraph

    links = [(0, 1), (0, 2), (1, 2), (2, 0), (2, 3)]
    order = PageRank()
    seeded(order)
    order.found(1, ["a", "b", "c"], 1, 0)
    for source in (0, 1, 2):
        order.fetched(source, np.array([target for start, target in links if start == source]))
    for _ in range(20):
        order.begin_batch()
    expected = igraph.Graph(edges=links, directed=True).pagerank()
    assert order.scores[1:4] == pytest.approx(expected[1:], abs=1e-6)


def test_scores_of_any_sign_and_a_function_that_fails() -> None:
    order = ByScore(from_table({"a": -1.0, "b": 2.0}))
    seeded(order)
    order.found(1, ["a", "b", "c"], 1, 0)
    a, b, c = page(order, 1, 2, 3)
    assert b < c < a
    failing = ByScore(lambda page, link: 1 / 0 if link == "x" else float("nan"))
    failing.found(0, ["x", "y"], 1, SEED)
    assert failing.failures == 2
    assert failing.failed == [("x", "ZeroDivisionError: division by zero"), ("y", "the score is nan")]


def test_breadth_is_depth() -> None:
    order = BreadthFirst()
    seeded(order)
    order.found(1, ["a"], 3, 0)
    assert page(order, 0, 1) == [0, 3]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "score:NAME"])
def test_every_order_has_its_name_and_states_its_memory(name: str) -> None:
    order = order_of(name, Settings())
    assert order.page_b > 0
    assert order.link_b >= 0


def test_an_unknown_order_is_told_those_there_are() -> None:
    with pytest.raises(SpecError, match="large-sites-first"):
        order_of("best", Settings())


@given(st.lists(st.floats(0, 1e300), min_size=2, max_size=20, unique=True))
def test_higher_scores_never_come_later(scores: list[float]) -> None:
    depths = np.zeros(len(scores), np.int64)
    priorities = by_score(np.array(sorted(scores)), depths)
    assert all(later <= earlier for earlier, later in pairwise(priorities.tolist()))
    assert priorities.min() >= 0
    assert priorities.max() < 1 << 60


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_a_batch_is_one_page_at_least_and_its_share_at_most(fetched: int, every: int) -> None:
    size = batch_after(fetched, every) - fetched
    assert 1 <= size <= max(1, fetched / every)
