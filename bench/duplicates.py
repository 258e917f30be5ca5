"""Near-duplicates on real pages: what is found beside all true pairs, and what it costs.

    python bench/duplicates.py                        two editions of a manual: recall, precision, cost
    python bench/duplicates.py --languages en de      fewer of their pages
    python bench/duplicates.py --packages A B         other pairs of Debian packages
    python bench/duplicates.py --cost                 only the cost: of a page, and of a crawl with and without

The truth is found without weft's sketches and bands: the visible text of each page (as `weft show --text` has it), all
runs of eight characters in it, and the Jaccard index of every two such sets. Then the pages are crawled from nginx and
`weft duplicates --pairs` is asked for each threshold. A pair that only the truth has is missed, one that only weft has
is false. CPU is user and system time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray
from process import command_of, cost_of, environment, need_nginx, use_source_tree

use_source_tree()

PACKAGES = ("installation-guide-amd64", "installation-guide-arm64")
LANGUAGES = ("en", "de", "fr", "cs", "ru", "ja")
THRESHOLDS = (0.8, 0.9, 0.99)
COST_PACKAGES = ("python3.11-doc", "postgresql-doc-15")
ROUNDS = 3
BEST_OF = 15
LARGEST_B = 100_000  # a few indexes of a megabyte would be most of the mean

Pair = tuple[str, str]


class Judged(NamedTuple):
    """What was found at a threshold."""

    threshold: float
    true: int
    found: int
    missed: int
    false: int


# --- the truth


def true_pairs(pages: dict[str, Path], least: float) -> dict[Pair, float]:
    """Every two pages (by URL) whose texts are at least so alike, and how alike they are."""
    names = sorted(pages)
    sets = [_shingles(pages[name].read_bytes()) for name in names]
    found: dict[Pair, float] = {}
    for number, one in enumerate(sets):
        for earlier in range(number):
            other = sets[earlier]
            # the index is at most the share that the smaller set has of the larger
            if min(len(one), len(other)) < least * max(len(one), len(other)) or not len(one) or not len(other):
                continue
            common = len(np.intersect1d(one, other, assume_unique=True))
            similarity = common / (len(one) + len(other) - common)
            if similarity >= least:
                found[names[earlier], names[number]] = similarity
    return found


def _shingles(body: bytes) -> NDArray[np.uint64]:
    from weft.parse.text import visible_text

    text = " ".join(visible_text(body, "text/html; charset=utf-8").split())
    runs = {text[at : at + 8] for at in range(len(text) - 7)}
    return np.sort(np.array([xxhash.xxh3_64_intdigest(run.encode()) for run in runs], np.uint64))


# --- weft


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of an nginx that serves a folder."""
    import nginx

    need_nginx()
    with nginx.Nginx(folder, gzip=False) as server:
        yield server.at("/").removesuffix("/")


def pages_of(packages: Sequence[str], languages: Sequence[str]) -> dict[str, Path]:
    """The HTML files of the packages, by their paths on the server."""
    root = Path("/usr/share/doc")
    found = {}
    for package in packages:
        if not (root / package).is_dir():
            sys.exit(f"the pages of {package} are not installed: apt-get install {package}")
        for path in sorted((root / package).rglob("*.html")):
            parts = path.relative_to(root / package).parts
            if path.is_file() and (len(parts) == 1 or not languages or parts[0] in languages):
                found[f"/{path.relative_to(root)}"] = path
    return found


def weft_pairs(words: list[str], folder: Path, threshold: float, log: Path) -> tuple[dict[Pair, float], float]:
    """The pairs that weft finds in a crawl, and the CPU seconds that it takes."""
    target = folder.parent / f"pairs-{threshold}.jsonl"
    asked = ["duplicates", str(folder), "--threshold", str(threshold), "--pairs", "--to", str(target)]
    cost = cost_of([*words, *asked], log)
    if cost.exit_code:
        sys.exit(f"weft duplicates failed: {log.read_text()[-500:]}")
    pairs: dict[Pair, float] = {}
    for row in map(json.loads, target.read_text().splitlines()):
        one, other = sorted((_path(row["page"]), _path(row["duplicate_of"])))
        pairs[one, other] = row["similarity"]
    return pairs, cost.cpu_s


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def judge(truth: dict[Pair, float], found: dict[Pair, float], threshold: float) -> Judged:
    real = {pair for pair, similarity in truth.items() if similarity >= threshold}
    return Judged(threshold, len(real), len(found), len(real - found.keys()), len(found.keys() - real))


def compare(args: argparse.Namespace, words: list[str]) -> dict[str, object]:
    pages = pages_of(args.packages, args.languages)
    began = time.process_time()
    truth = true_pairs(pages, min(args.thresholds))
    print(f"{len(pages):,} pages, {len(pages) * (len(pages) - 1) // 2:,} pairs; the truth took "
          f"{time.process_time() - began:.0f} s", flush=True)  # fmt: skip
    rows = []
    with served(Path("/usr/share/doc")) as at, tempfile.TemporaryDirectory(prefix="weft-duplicates-") as name:
        seeds, folder, log = Path(name) / "seeds.txt", Path(name) / "crawl", Path(name) / "log"
        seeds.write_text("".join(f"{at}{path}\n" for path in pages))
        options = [
            "--max-depth",
            "0",
            "--delay",
            "0",
            "--per-host",
            "16",
            "--near-duplicates",
            str(min(args.thresholds)),
        ]
        cost = cost_of([*words, "crawl", str(seeds), "-o", str(folder), *options, "--quiet"], log)
        if cost.exit_code:
            sys.exit(f"weft crawl failed: {log.read_text()[-500:]}")
        for threshold in args.thresholds:
            found, cpu_s = weft_pairs(words, folder, threshold, log)
            judged = judge(truth, found, threshold)
            worst = max((abs(found[pair] - truth[pair]) for pair in found.keys() & truth.keys()), default=0.0)
            rows.append({**judged._asdict(), "cpu_s": round(cpu_s, 2), "worst_error": worst})
            print(
                f"threshold {threshold}: {judged.true:,} true pairs, {judged.found:,} found, {judged.missed} missed,"
                f" {judged.false} false; similarity off by at most {worst:.6f}; {cpu_s:.1f} s CPU",
                flush=True,
            )
    return {"pages": len(pages), "thresholds": rows}


# --- the cost


def page_cost() -> dict[str, object]:
    """Microseconds that parsing takes, and how many more with a sketch: the best of several turns."""
    import nginx

    from weft.crawl.pipeline import GROUP
    from weft.judge.sketch import classic_sketch, fast_sketch
    from weft.parse.html import Reading, parse_page

    files = [path for name in COST_PACKAGES for path in sorted(Path(nginx.DOCUMENTATION[name].folder).rglob("*.html"))]
    bodies = [body for path in files if path.is_file() and len(body := path.read_bytes()) < LARGEST_B]
    bodies = bodies[:: max(1, len(bodies) // 150)]

    groups = [bodies[first : first + GROUP] for first in range(0, len(bodies), GROUP)]

    def best(sketch: Callable[[str], bytes] | None, turns: int) -> float:
        """As a crawl does it: a few pages are read, then their texts are sketched."""
        least = [float("inf")] * len(groups)
        for _ in range(turns):
            for number, group in enumerate(groups):
                began = time.process_time()
                pages = [
                    parse_page(
                        body,
                        "http://x.test/",
                        "text/html; charset=utf-8",
                        reading=Reading(with_text=sketch is not None),
                    )
                    for body in group
                ]
                for page in pages if sketch is not None else ():
                    sketch(page.text)
                least[number] = min(least[number], time.process_time() - began)
        return sum(least) / len(bodies) * 1e6

    plain, fast, classic = best(None, BEST_OF), best(fast_sketch, BEST_OF), best(classic_sketch, 1)
    size_b = sum(map(len, bodies)) / len(bodies)
    print(f"a page of {size_b / 1000:.1f} KB: parsed in {plain:.0f} µs, {fast - plain:.0f} µs more with a fast sketch,"
          f" {classic - plain:,.0f} µs more with a classic one", flush=True)  # fmt: skip
    return {"bytes": size_b, "parse_us": plain, "fast_us": fast - plain, "classic_us": classic - plain}


def crawl_cost(words: list[str]) -> dict[str, object]:
    """CPU seconds of a crawl with and without near-duplicates, in turns."""
    import nginx

    ratios: list[float] = []
    with contextlib.ExitStack() as running, tempfile.TemporaryDirectory(prefix="weft-duplicates-") as name:
        places = [nginx.DOCUMENTATION[package] for package in COST_PACKAGES]
        seeds = [running.enter_context(nginx.Nginx(place.folder)).at(place.start) for place in places]
        env = environment(Path(name) / "bytecode")
        for turn in range(ROUNDS + 1):
            cpu_s = []
            for kind, more in (("without", []), ("with", ["--near-duplicates", "0.99"])):
                folder = str(Path(name) / f"{kind}-{turn}")
                options = ["--delay", "0", "--per-host", "16", "--quiet", *more]
                cost = cost_of([*words, "crawl", *seeds, "-o", folder, *options], Path(name) / "log", env)
                cpu_s.append(cost.cpu_s)
            if turn:  # the first one compiles the modules
                ratios.append(cpu_s[1] / cpu_s[0])
                print(
                    f"a crawl without: {cpu_s[0]:.2f} s CPU, with: {cpu_s[1]:.2f} s, {ratios[-1] - 1:+.0%}", flush=True
                )
    return {"more": round(statistics.median(ratios) - 1, 3)}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", default=PACKAGES)
    parser.add_argument("--languages", nargs="*", default=LANGUAGES, help="folders of the packages; none: all")
    parser.add_argument("--thresholds", nargs="+", type=float, default=THRESHOLDS)
    parser.add_argument("--cost", action="store_true", help="only the cost")
    parser.add_argument("--no-cost", action="store_true", help="only what is found")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", metavar="FILE", type=Path, help="the figures, for machines")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    words = command_of(args.weft)
    figures: dict[str, object] = {}
    if not args.cost:
        figures["found"] = compare(args, words)
    if not args.no_cost:
        figures["page"] = page_cost()
        figures["crawl"] = crawl_cost(words)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
