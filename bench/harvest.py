"""What looking for contacts costs: the CPU of a crawl with it beside that of the same crawl without.

    python bench/harvest.py               manuals of Debian, and home pages where the shared pages lie beside the tree
    python bench/harvest.py --runs 5 --option=--extract=email,phone

Runs take turns. Pages are served by nginx; CPU is user and system time of weft's process, start-up included. Home pages
are served twenty times each, told apart by a comment.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from crawl import PACKAGES, Bench, Web, debian_web
from process import SCRIPT, command_of, need_nginx, teller, use_source_tree

use_source_tree()

HOME_PAGES = Path(__file__).resolve().parents[2] / "shared" / "pages" / "home-pages.zip"
COPIES = 20
TARGET = 1.4
KINDS = ("email", "phone", "social")


@contextlib.contextmanager
def home_pages() -> Iterator[Web]:
    """The home pages of popular sites, all linked from one page."""
    import nginx

    need_nginx()
    with tempfile.TemporaryDirectory(prefix="weft-home-") as name, zipfile.ZipFile(HOME_PAGES) as archive:
        folder, names = Path(name), []
        folder.chmod(0o755)
        for member in archive.namelist():
            if not member.endswith(".html"):
                continue
            body = archive.read(member)
            for copy in range(COPIES):
                names.append(f"{copy}-{Path(member).name}")
                (folder / names[-1]).write_bytes(body + b"<!-- %d -->" % copy)
        (folder / "index.html").write_text("".join(f'<a href="{one}">{one}</a>\n' for one in names))
        with nginx.Nginx(folder) as server:
            options = ["--max-depth", "1", "--sitemaps", "no"]
            yield Web(f"{len(names) // COPIES} home pages, {COPIES} times each", [server.at("/")], options)


def measured(web: Web, wishes: Sequence[Sequence[str]], args: argparse.Namespace) -> dict[str, object]:
    """CPU seconds per 1,000 pages without anything and with each wish, in turns."""
    say = teller(args.json)
    options = ["--delay", "0", "--workers", "64", "--per-host", "16", "--processes", "1"]
    costs: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        for run in range(args.runs + 1):  # the first warms up
            for wish in ((), *wishes):
                bench = Bench(web, command_of(args.weft, SCRIPT), [*options, *wish], Path(name), False)
                measure = bench.weft()
                if run:
                    costs.setdefault(" ".join(wish) or "nothing", []).append(measure.cpu_per_1000)
    least = statistics.median(costs["nothing"])
    found: dict[str, object] = {"web": web.name}
    say(f"{web.name}: CPU seconds per 1,000 pages")
    for wish, values in costs.items():
        middle = statistics.median(values)
        found[wish] = {"cpu_per_1000": middle, "ratio": middle / least}
        say(f"  {wish:32}{middle:8.3f} ({min(values):.3f} to {max(values):.3f})  {middle / least:5.2f} times")
    return found


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--option", action="append", default=[], help="a wish of your own instead of --extract KIND")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, metavar="NAME", help="Debian packages to serve")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    args = parser.parse_args(given)
    wishes = [[option] for option in args.option] or [["--extract", kind] for kind in KINDS]
    found = []
    with debian_web(args.packages, False) as web:
        found.append(measured(web, wishes, args))
    if HOME_PAGES.is_file():
        with home_pages() as web:
            found.append(measured(web, wishes, args))
    else:
        print(f"no home pages: {HOME_PAGES} is not there", file=sys.stderr)
    if args.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
