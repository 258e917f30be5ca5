"""How frontier and seen-set grow: rate of admitting links, memory, disk and the cost of ``take``, against URLs known.

A null fetcher: no network, no parser, no judge, no archive. Pages of an invented web are leased, and their links
offered, until so many URLs are known. One host has a fifth of all URLs, the others have a heavy tail. Each page brings
50 new URLs (three of four on one host) and has 50 links to known ones: 45 to those found lately, 5 to any ever found.
At the end the process kills itself with SIGKILL, and another one takes the crawl up.

    python bench/growth.py --urls 1M
    python bench/growth.py --urls 100M --hosts 5M --fill --folder /mnt/big --svg docs/growth.svg

With ``--fill``, what lies between the sizes that are measured is written by a shorter way: the same rows in the same
tables, in a fraction of the time. The last URLs before each size are admitted one by one all the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from curve import svg_of
from process import environment, teller, use_source_tree, working_folder


def number_of(text: str) -> int:
    """``1M``, ``500k``, ``100000``."""
    factor = {"k": 10**3, "m": 10**6, "g": 10**9}.get(text[-1:].lower(), 1)
    return int(float(text[:-1] if factor > 1 else text) * factor)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=number_of, default=10**6, metavar="N", help="how far to grow (default: 1M)")
    parser.add_argument("--hosts", type=number_of, metavar="N", help="how many hosts (default: one for 20 URLs)")
    parser.add_argument("--fill", action="store_true", help="take the shorter way between the sizes measured")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder); emptied at the end")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the curve")
    parser.add_argument("--from-json", type=Path, metavar="FILE", help="draw the curve of an earlier --json instead")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    parser.add_argument("--step", choices=("grow", "resume"), help=argparse.SUPPRESS)  # the processes it starts itself
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    hosts = args.hosts or max(1, args.urls // 20)
    if args.step:
        one_step(args, hosts)
        return 0
    found = json.loads(args.from_json.read_text()) if args.from_json else measured(args, hosts, teller(args.json))
    if args.svg:
        args.svg.write_text(svg_of(found["sizes"]))
    if args.json:
        print(json.dumps(found))
    return 0


def one_step(args: argparse.Namespace, hosts: int) -> None:
    use_source_tree()
    import growing

    if args.step == "grow":
        growing.grow(args.folder, args.urls, hosts, args.fill, lambda found: print(json.dumps(found), flush=True))
    print(json.dumps(growing.resume(args.folder)))


def measured(args: argparse.Namespace, hosts: int, say: Callable[[str], None]) -> dict[str, object]:
    """Grows and takes up, each in a process of its own; prints the table."""
    folder = working_folder("weft-growth-", args.folder)
    words = [sys.executable, __file__, "--folder", str(folder), "--urls", str(args.urls), "--hosts", str(hosts)]
    words += ["--fill"] if args.fill else []
    rows: list[dict[str, float]] = []
    try:
        say(
            f"{'URLs':>12}{'hosts':>11}{'links/s':>10}{'/CPU s':>10}{'take µs':>9}{'MB':>7}"
            f"{'B/URL':>8}{'of it text':>12}{'beside it':>11}"
        )
        with subprocess.Popen(
            [*words, "--step", "grow"], stdout=subprocess.PIPE, text=True, env=environment()
        ) as child:
            assert child.stdout is not None
            for line in child.stdout:
                rows.append(row := json.loads(line))
                say(
                    f"{row['urls']:>12,}{row['hosts']:>11,}{row['links_per_s']:>10,.0f}{row['links_per_cpu_s']:>10,.0f}"
                    f"{row['take_us']:>9.1f}{row['memory_mb']:>7.0f}{row['disk_b_per_url']:>8.1f}"
                    f"{row['text_b_per_url']:>12.1f}{row['beside_text_b_per_url']:>11.1f}"
                )
        if child.returncode != -signal.SIGKILL:
            raise SystemExit(f"growing ended with {child.returncode}")
        told = subprocess.run([*words, "--step", "resume"], stdout=subprocess.PIPE, env=environment(), check=True)
        after: dict[str, float] = json.loads(told.stdout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(
        f"\nkilled and taken up again: ready in {after['ready_s']:.2f} s;"
        f" take: {after['take_all_us']:.1f} µs with all hosts ready, {after['take_one_us']:.1f} µs with one"
    )
    first = next((row for row in rows if row["urls"] >= 10**6), rows[0])
    ratio, wall_ratio = (rows[-1][rate] / first[rate] for rate in ("links_per_cpu_s", "links_per_s"))
    say(
        f"rate at {rows[-1]['urls']:,} URLs: {ratio:.2f} of that at {first['urls']:,} by CPU,"
        f" {wall_ratio:.2f} by the clock"
    )
    return {"sizes": rows, "after_kill": after, "ratio": ratio, "wall_ratio": wall_ratio}


if __name__ == "__main__":
    raise SystemExit(main())
