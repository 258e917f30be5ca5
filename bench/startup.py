"""How long weft takes to start, in times of ``python3 -c pass``, and to crawl a single page.

    python bench/startup.py
    python bench/startup.py --runs 40 --json

The commands take turns; the least and the median of each are shown. ``./weft`` is the script of this tree with its
environment made; the Python beside it is that of the same environment.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from process import ROOT, SCRIPT, cost_of, environment, teller, use_source_tree

use_source_tree()

ONE_PAGE = "./weft crawl, one page"
TARGETS = {"./weft --version": "target: 3", "./weft --help": "target: 10", ONE_PAGE: "target: 9"}


def commands(python: str, url: str, folder: Path) -> dict[str, list[str]]:
    """What is measured, by the name under which it is shown."""
    script = str(ROOT / "weft")
    return {
        "python3 -c pass": [python, "-c", "pass"],
        "./weft --version": [script, "--version"],
        "./weft --help": [script, "--help"],
        "./weft crawl --help": [script, "crawl", "--help"],
        ONE_PAGE: [script, "crawl", url, "--delay", "0", "--quiet", "-o", str(folder)],
    }


def measured(
    chosen: Mapping[str, list[str]], runs: int, folder: Path, say: Callable[[str], None]
) -> list[dict[str, object]]:
    """Runs the commands in turns; each beside the first. ``folder`` is what they leave, and removed before each."""
    walls: dict[str, list[float]] = {}
    log = folder.with_name("log")
    env = {**environment(), "PYTHONPATH": ""}
    for number in range(runs + 1):
        for what, words in chosen.items():
            shutil.rmtree(folder, ignore_errors=True)
            cost = cost_of(words, log, env)
            if cost.exit_code:
                sys.exit(f"{what}: exit code {cost.exit_code}: {log.read_text(errors='replace')[-500:]}")
            if number:  # the first warms up
                walls.setdefault(what, []).append(cost.own_s)
    base = min(walls[next(iter(chosen))])
    rows: list[dict[str, object]] = []
    for what, times in walls.items():
        least_s, median_s = min(times), statistics.median(times)
        rows.append({"name": what, "least_s": least_s, "median_s": median_s, "ratio": least_s / base})
        say(
            f"{what:24} {1000 * least_s:7.1f} ms (median {1000 * median_s:.1f}) {least_s / base:6.1f} times python3"
            f"  {TARGETS.get(what, '')}"
        )
    return rows


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="how often each is run (default: 20)")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    args = parser.parse_args(given)
    from web import Site

    subprocess.run([*SCRIPT, "--version"], stdout=subprocess.DEVNULL, check=True)  # makes the environment
    python = str(ROOT / ".venv" / "bin" / "python")
    with tempfile.TemporaryDirectory(prefix="weft-startup-") as name, Site() as site:
        site.page("/")
        folder = Path(name, "crawl")
        say = teller(args.json)
        rows = measured(commands(python, site.at("/"), folder), args.runs, folder, say)
    if args.json:
        print(json.dumps({"rows": rows}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
