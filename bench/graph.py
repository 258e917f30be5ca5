"""What an export of the graph costs: makes a crawl.db of any size, without a crawl, and writes its graph.

    python bench/graph.py --links 30000000 --pages 600000 --forms gexf,parquet

The database has the tables of a real crawl: sites of very different sizes, pages with titles, links with anchors, of
which some lead to pages never asked, to other sites, and to duplicates and redirects. Prints time, memory and the size
of the files.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from process import command_of, cost_of, environment, use_source_tree

use_source_tree()
from weft.db.connection import open_writer  # noqa: E402 - found only now
from weft.db.schema import MIGRATIONS  # noqa: E402

BATCH = 5_000
OUTSIDE = 0.1  # URLs that were never asked, for each page
WORDS = (
    "river", "garden", "letter", "market", "bridge", "winter", "harbour", "story", "mountain", "window", "kitchen",
    "teacher", "forest", "museum",
)  # fmt: skip


class Sizes:
    """Pages, URLs beside them, and sites, and which is which."""

    def __init__(self, pages: int, links: int) -> None:
        self.pages = pages
        self.links_each = max(1, links // pages)
        self.urls = pages + int(pages * OUTSIDE)
        self.sites = max(1, min(1_000, pages // 500))

    def site(self, url: int) -> int:
        """A few large sites and many small ones; what is outside is on sites of its own."""
        if url > self.pages:
            return self.sites + 1 + url % 100
        return int((url * 2_654_435_761 % 1_000_003 / 1_000_003) ** 3 * self.sites) + 1


def make(folder: Path, sizes: Sizes, seed: int = 1) -> None:
    """A folder with a crawl.db of these sizes."""
    folder.mkdir(parents=True)
    database = open_writer(folder / "crawl.db", MIGRATIONS)
    connection = database.connection
    connection.execute("PRAGMA synchronous = OFF")
    chance = random.Random(seed)
    with database.transaction():
        connection.execute("INSERT INTO meta VALUES('hash_seed', 1)")
        connection.executemany(
            "INSERT INTO site(id, name) VALUES(?, ?)",
            [(number, f"www{number}.bench.test") for number in range(1, sizes.sites + 102)],
        )
    for first in range(1, sizes.urls + 1, BATCH):
        numbers = range(first, min(first + BATCH, sizes.urls + 1))
        with database.transaction():
            connection.executemany("INSERT INTO url(id, text) VALUES(?, ?)", [(n, _url(n, sizes)) for n in numbers])
            connection.executemany(
                "INSERT INTO page(id, site, state, reason, depth, priority, attempts, visit)"
                " VALUES(?, ?, ?, ?, ?, 0, 1, ?)",
                [_page(n, sizes) for n in numbers],
            )
            asked = [n for n in numbers if n <= sizes.pages]
            connection.executemany(_VISIT, [_visit(n) for n in asked])
            connection.executemany("INSERT INTO link_pack VALUES(?, ?)", _packs(asked, sizes, chance))
    database.close()


def _url(number: int, sizes: Sizes) -> str:
    return f"https://www{sizes.site(number)}.bench.test/{WORDS[number % 14]}/{WORDS[number % 11]}-{number}.html"


def _page(number: int, sizes: Sizes) -> tuple[object, ...]:
    asked = number <= sizes.pages
    depth = len(str(number)) - 1
    return (
        number, sizes.site(number), "C" if asked else None, None if asked else "OUT_OF_SCOPE", depth,
        number if asked else None,
    )  # fmt: skip


def _visit(number: int) -> tuple[object, ...]:
    """Every 50th page redirects to the one before it, every 40th has the body of the one before it."""
    redirects = number % 50 == 7
    title = f"{WORDS[number % 13].title()} {WORDS[number % 9]} {number}"
    body = number - 1 if number % 40 == 3 else number
    return (
        number, number, number, 1_700_000_000_000 + number * 7, 301 if redirects else 200, "text/html",
        None if redirects else title, 20_000 + body % 9_999, None if redirects else body * 1_000_003,
    )  # fmt: skip


_VISIT = """
INSERT INTO visit(id, page, url, purpose, attempt, started_ms, response_ms, status, type, title, language, size, hash)
VALUES(?, ?, ?, 0, 1, ?, 20, ?, ?, ?, 'en', ?, ?)
"""


def _packs(numbers: list[int], sizes: Sizes, chance: random.Random) -> Iterator[tuple[int, str]]:
    for number in numbers:
        if number % 50 == 7:
            yield number, f'[[{number - 1},10,1,""]]'
            continue
        near = [min(sizes.urls, max(1, number + step)) for step in (-2, -1, 1, 2)]
        targets = near + [int(chance.random() ** 2 * sizes.urls) + 1 for _ in range(sizes.links_each - 4)]
        links = [f'[{goal},1,1,"{WORDS[goal % 12]} {WORDS[goal % 7]}"]' for goal in targets]
        yield number, f"[{','.join(links)}]"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--forms", default="gexf,parquet", help="endings, with commas between")
    parser.add_argument("--folder", help="keep the crawl here, or use the one that is here")
    parser.add_argument("--options", default="", help="further options of weft graph")
    parser.add_argument("--weft", help="another command than this tree's")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="weft-bench-graph-") as temporary:
        place = Path(temporary)
        crawl = Path(args.folder) if args.folder else place / "crawl"
        if not (crawl / "crawl.db").exists():
            make(crawl, Sizes(args.pages, args.links))
        rows = [_measured(crawl, form, place, args) for form in args.forms.split(",")]
    if args.json:
        print(json.dumps(rows))
    return 1 if any(row["exit_code"] for row in rows) else 0


def _measured(crawl: Path, form: str, place: Path, args: argparse.Namespace) -> dict[str, object]:
    out = place / "out"
    out.mkdir()
    command = [*command_of(args.weft), "graph", str(crawl), "--to", str(out / f"graph.{form}"), *args.options.split()]
    cost = cost_of(command, place / "log", environment(place / "bytecode"))
    size_b = sum(path.stat().st_size for path in out.iterdir())
    shutil.rmtree(out)
    said = (place / "log").read_text().splitlines()[-1:]
    row = {"form": form, "exit_code": cost.exit_code, "cpu_s": cost.cpu_s, "wall_s": cost.wall_s, "peak_b": cost.peak_b}
    if not args.json:
        print(
            f"{form:8} {cost.wall_s:8.1f} s  {cost.cpu_s:8.1f} s CPU  {cost.peak_b / 2**20:7.0f} MiB"
            f"  {size_b / 1e6:9.1f} MB  {' '.join(said)}",
            flush=True,
        )
    return {**row, "size_b": size_b, "said": said}


if __name__ == "__main__":
    sys.exit(main())
