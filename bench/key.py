"""Crawls an invented web, killed on the way, and compares what weft tells of it with the web's own answer key.

    python bench/key.py --pages 20000

For one process and for two: a crawl with default options is killed (SIGKILL) at five random moments and resumed until
it ends by itself. Then, against the key that the web gives without any crawl,

* `weft pages`: every URL that a crawl tries, with its status and its depth, and no other,
* `weft duplicates`: which page each exact and each near duplicate belongs to,
* `weft graph`: every node, the pages merged into it, every edge with its number of links.

Exit code 0 if all is equal, else 1 with what differs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kill import Moment, Run, Victim, Web, check_faults, invented_web
from process import command_of, environment, use_source_tree

use_source_tree()
from weft.demo.invented import FOLLOWED, InventedWeb  # noqa: E402 - found only now

Edges = dict[tuple[str, str], int]
NEAR = "0.99"
SHOWN = 5
LIFE_S = 3_600.0


class Key:
    """What the graph of a crawl must be, told by the web itself, without the crawler."""

    def __init__(self, web: InventedWeb, *, near: bool = False) -> None:
        self.web = web
        self.tried = web.expected()
        self.pages = {url for url, entry in self.tried.items() if entry.status == 200 and entry.type == "text/html"}
        self.depth = {url: self.tried[url].depth or 0 for url in self.pages}
        self.redirect = {
            url: link.target
            for url, entry in self.tried.items()
            if 300 <= entry.status < 400
            for link in web.links(url)
            if link.kind == "redirect"
        }
        self.twin: dict[str, str] = {}
        for group in web.duplicates():
            members = sorted(set(group) & self.pages, key=lambda url: (self.depth[url], url))
            self.twin.update(dict.fromkeys(members[1:], members[0]))
        self.exact = set(self.twin)
        for pair in web.near_duplicates() if near else ():
            first, second = sorted(pair, key=lambda url: (self.depth[url], url))
            self.twin = {url: first if other == second else other for url, other in self.twin.items()}
            self.twin[second] = first

    def node(self, url: str) -> str | None:
        """The node a URL belongs to."""
        for _ in range(20):
            if url not in self.redirect:
                break
            url = self.redirect[url]
        url = self.twin.get(url, url)
        return url if url in self.pages else None

    @property
    def nodes(self) -> set[str]:
        return self.pages - self.twin.keys()

    @property
    def merged(self) -> dict[str, int]:
        """How many duplicates belong to a node, where any do."""
        return dict(Counter(self.twin.values()))

    def edges(self, *, loops: bool = False) -> Edges:
        found: Counter[tuple[str, str]] = Counter()
        for source in self.nodes:
            for link in self.web.links(source):
                target = self.node(link.target)
                if link.kind in FOLLOWED and target is not None and (loops or target != source):
                    found[source, target] += 1
        return dict(found)


def edges_of(graph: Mapping[str, list[dict[str, Any]]]) -> Edges:
    """The edges of a graph in JSON by the URLs of their ends, with their weights."""
    names = {node["id"]: str(node["label"]) for node in graph["nodes"]}
    edges = [((names[edge["source"]], names[edge["target"]]), int(edge["weight"])) for edge in graph["edges"]]
    assert len(edges) == len(dict(edges)), "an edge is there twice"
    return dict(edges)


# --- what weft tells, beside the key


class Compared:
    """Counts what was compared, and keeps what differs."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.faults: list[str] = []

    def compare(self, name: str, wanted: Mapping[Any, object], found: Mapping[Any, object]) -> None:
        self.counts[name] = len(found)
        self._note(name, "missing", wanted.keys() - found.keys())
        self._note(name, "not in the key", found.keys() - wanted.keys())
        other = [one for one in wanted.keys() & found.keys() if wanted[one] != found[one]]
        self._note(name, "different", (f"{one}: {found[one]}, not {wanted[one]}" for one in other))

    def _note(self, name: str, what: str, which: Iterable[object]) -> None:
        lines = sorted(map(str, which))
        if lines:
            self.faults.append(f"{name}: {len(lines)} {what}: {'; '.join(lines[:SHOWN])}")


def compare(key: Key, weft: Sequence[str], folder: Path) -> Compared:
    """A stored crawl beside the key."""
    done = Compared()
    pages = {row["url"]: (row["status"], row["depth"]) for row in rows(weft, "pages", folder)}
    done.compare("pages", {url: (entry.status, entry.depth) for url, entry in key.tried.items()}, pages)
    told = {row["page"]: (row["duplicate_of"], row["kind"]) for row in rows(weft, "duplicates", folder)}
    kinds = {url: (other, "exact" if url in key.exact else "near") for url, other in key.twin.items()}
    for kind in ("exact", "near"):
        done.compare(
            f"{kind} duplicates",
            {url: twin for url, twin in kinds.items() if twin[1] == kind},
            {url: twin for url, twin in told.items() if twin[1] == kind},
        )
    out = folder.with_suffix(".json")
    run(weft, "graph", folder, "--to", out, "--json")
    graph = json.loads(out.read_bytes())
    out.unlink()
    merged = {str(node["label"]): int(node["duplicates"]) for node in graph["nodes"]}
    done.compare("nodes", {url: key.merged.get(url, 0) for url in key.nodes}, merged)
    done.compare("edges", key.edges(), edges_of(graph))
    return done


def rows(weft: Sequence[str], command: str, folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(weft, command, folder, "--format", "jsonl").splitlines()]


def run(weft: Sequence[str], *words: str | Path) -> bytes:
    return subprocess.run([*weft, *map(str, words)], env=environment(), check=True, stdout=subprocess.PIPE).stdout


# --- the crawl


def one_crawl(web: Web, key: Key, weft: list[str], place: Path, processes: int, args: argparse.Namespace) -> Compared:
    """A crawl that is killed and resumed until it ends, compared with the key."""
    options = ["--delay", "0", "--workers", str(args.workers), "--per-host", str(args.per_host)]
    victim = Victim(web, weft, [*options, "--near-duplicates", NEAR, "--processes", str(processes)], place, LIFE_S)
    folder = place / f"crawl{processes}"
    chance = random.Random(f"{args.seed} {processes}")
    shares = sorted(chance.uniform(0.02, 0.95) for _ in range(args.kills))
    moments = [Moment("share", "kill", chance.uniform(0.0, 0.05), share) for share in shares]
    disturbed = Run(processes)
    victim.disturbed(folder, disturbed, moments, list(key.tried))
    done = compare(key, weft, folder) if not disturbed.faults else Compared()
    done.faults = disturbed.faults + done.faults + check_faults(weft, folder, victim.log)
    done.counts["kills"] = len(disturbed.kills)
    return done


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000, help="of the invented web (default: 20,000)")
    parser.add_argument("--hosts", type=int, default=4, help="of the invented web (default: 4)")
    parser.add_argument("--seed", type=int, default=1, help="of the invented web, and of the moments")
    parser.add_argument("--kills", type=int, default=5, help="of each crawl (default: 5)")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="of each crawl (default: 1 2)")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--per-host", type=int, default=16)
    parser.add_argument("--folder", type=Path, help="keep the crawls here (a new folder)")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object at the end")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="weft-key-") as temporary:
        place = args.folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        with invented_web(args.seed, args.hosts, args.pages) as web:
            port = urlsplit(web.seeds[0]).port or 80
            key = Key(InventedWeb(args.seed, args.hosts, args.pages, port=port), near=True)
            for processes in args.processes:
                began = time.monotonic()
                done = one_crawl(web, key, command_of(args.weft), place, processes, args)
                results.append({"processes": processes, **done.counts, "faults": done.faults})
                told = ", ".join(f"{number:,} {name}" for name, number in done.counts.items())
                verdict = "differs from the key" if done.faults else "equals the key"
                print(
                    f"{processes} process{'es' if processes > 1 else ''}: {verdict}: {told}"
                    f" ({time.monotonic() - began:.0f} s)",
                    *done.faults,
                    sep="\n    ",
                    file=sys.stderr if args.json else sys.stdout,
                    flush=True,
                )
    if args.json:
        print(json.dumps(results))
    return 1 if any(result["faults"] for result in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
