"""weft simulate: which pages an order fetches first, over a graph that is known as a whole."""

from __future__ import annotations

import argparse
import csv
import runpy
from collections.abc import Callable
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from typing import Any

from weft.cli.machine import print_json
from weft.cli.main import tell
from weft.cli.progress import ShownProgress
from weft.demo.graph import INVENTED, invented_graph
from weft.derive.simulate.compare import IDEAL, OMNISCIENT, Comparison, Question
from weft.derive.simulate.graph import PageGraph
from weft.derive.simulate.model import Simulated
from weft.derive.simulate.numbers import numbers_from
from weft.derive.simulate.picture import require_form, write_plot
from weft.derive.simulate.ranks import ranks_from
from weft.derive.simulate.sources import graph_from
from weft.errors import SpecError
from weft.frontier.order.interface import Order
from weft.frontier.order.table import NAMES, SCORE
from weft.ports import Progress
from weft.text.human import counted
from weft.text.safe import shown

_BUILT_IN_BY = ("pagerank", "in-links")


def run(args: argparse.Namespace) -> int:
    if args.plot:
        require_form(args.plot)
    question = _question(args)
    with ShownProgress() as progress, ExitStack() as stack:
        graph = _graph(args.graph, progress)
        question = _with_seeds(question, args.seeds, graph)
        trace = stack.enter_context(Path(args.trace).open("w", encoding="utf-8")) if args.trace else None
        comparison = Comparison(graph, question, trace, frontier=args.trace_frontier)
        answer = comparison.answer(progress)
        if args.plot:
            write_plot(args.plot, comparison, answer)
    if args.csv:
        _write_csv(args.csv, answer)
    if args.json:
        print_json(answer)
    else:
        _print(answer)
    for note in answer.notes:
        tell(note)
    return 0


def _graph(source: str, progress: Progress) -> PageGraph:
    """The graph that a word of the command line names."""
    if source.startswith(INVENTED):
        return invented_graph(source, progress)
    return graph_from(source, progress)


def _question(args: argparse.Namespace) -> Question:
    """What the words of the command line ask for; all files but the graph are read."""
    orders = list(dict.fromkeys(word for text in args.order for word in text.split(",") if word))
    own = {name: _own_order(name) for name in orders if ".py:" in name}
    scores = {name: numbers_from(Path(name.removeprefix(SCORE))) for name in orders if name.startswith(SCORE)}
    known = {*NAMES, *own, *scores, IDEAL, OMNISCIENT}
    for name in orders:
        if name not in known:
            raise SpecError(f"there is no order {name!r}; there are {', '.join(NAMES)}, and FILE.py:NAME")
    if not orders:
        raise SpecError("--order names no order")
    if args.trace_frontier and not args.trace:
        raise SpecError("--trace-frontier goes with --trace FILE")
    if args.goals is not None and args.goal is None:
        raise SpecError("--goals goes with --goal EXPRESSION")
    return Question(
        orders=orders, by=args.by, importance=None if args.by in _BUILT_IN_BY else numbers_from(Path(args.by)),
        ranks=None if args.ranks is None else ranks_from(Path(args.ranks)), at=_percents(args.at),
        best=_percent(args.best, "--best"), goal=args.goal, goals=_whole(args.goals, "--goals", 1),
        random_seed=_whole(args.random_seed, "--random-seed", 0) or 0, repeat=_whole(args.repeat, "--repeat", 1) or 1,
        scores=scores, own=own,
    )  # fmt: skip


def _with_seeds(question: Question, words: list[str], graph: PageGraph) -> Question:
    """The start addresses: pages by name, several with commas between them, or a file with a page a line."""
    import msgspec

    known = set(graph.names) if words else set()
    seeds: list[str] = []
    for word in words:
        if word in known:
            seeds.append(word)
        elif Path(word).is_file():
            seeds += filter(None, Path(word).read_text("utf-8").splitlines())
        else:
            seeds += filter(None, word.split(","))
    for seed in seeds:
        if seed not in known:
            raise SpecError(f"{shown(seed)} is not in the graph {graph.title}")
    return msgspec.structs.replace(question, seeds=list(dict.fromkeys(seeds)))


def _own_order(word: str) -> Callable[[], Order]:
    """The maker of an order of the user's: a class, or a function without arguments, in a file of Python."""
    file, _, name = word.rpartition(":")
    if not Path(file).is_file():
        raise SpecError(f"there is no file {file} to take the order {name} from")
    try:
        made: dict[str, Any] = runpy.run_path(file)
    except Exception as error:  # the border to the user's code
        raise SpecError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from error
    maker = made.get(name)
    if not callable(maker):
        raise SpecError(f"{file} has no order {name}")
    found: Callable[[], Order] = maker
    return found


def _percents(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        _percent(word, "--at")
    if not words:
        raise SpecError("--at names no percentage")
    return list(dict.fromkeys(words))


def _percent(text: str, option: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not isfinite(number) or not 0 < number <= 100:
        raise SpecError(f"{option}: {text!r} is no percentage above 0, up to 100")
    return number


def _whole(text: str | None, option: str, least: int) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < least:
        raise SpecError(f"{option}: {text!r} is no whole number from {least} on")
    return int(text)


def _write_csv(file: str, answer: Simulated) -> None:
    with Path(file).open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["order", "percent", "share", "best", "mean", "cpu_s"])
        for name, curve in {**answer.orders, **answer.references}.items():
            rows.writerows(
                [name, at, f"{share:.6f}", f"{curve.best[at]:.6f}", f"{curve.mean:.6f}", curve.cpu_s]
                for at, share in curve.share.items()
            )


def _print(answer: Simulated) -> None:
    """A table for people."""
    curves = {**answer.orders, **answer.references}
    at = list(next(iter(curves.values())).share)
    print(
        shown(
            f"{answer.graph}: {counted(answer.pages, 'page')}, {counted(answer.links, 'link')},"
            f" {counted(answer.reachable, 'page')} within reach"
        )
    )
    width = max(20, *(len(name) for name in curves))
    for title, column in (
        (f"share of {answer.by} in the first", "share"), ("share of the best pages in the first", "best")
    ):  # fmt: skip
        print(f"\n{shown(title)}")
        print(
            f"{'':<{width}}"
            + "".join(f"{text + ' %':>9}" for text in at)
            + ("     mean    cpu s" if column == "share" else "")
        )
        for name, curve in curves.items():
            values = curve.share if column == "share" else curve.best
            end = f"{curve.mean:9.4f}{curve.cpu_s:9.2f}" if column == "share" else ""
            print(f"{shown(name):<{width}}" + "".join(f"{value:9.3f}" for value in values.values()) + end)
    if answer.spread:
        print()
        for name, spread in answer.spread.items():
            print(f"{name}: mean from {spread.least:.4f} to {spread.greatest:.4f} in {counted(spread.runs, 'run')}")
    if answer.goals:
        print()
        for name, goals in answer.goals.items():
            print(
                f"{name}: {counted(goals.found, 'goal')} in {counted(goals.fetched, 'page')}; cost of the best (Z)"
                f" {_said(goals.best_cost)}, least step (l) {_said(goals.least_step)}, bound {_said(goals.bound)}"
            )


def _said(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
