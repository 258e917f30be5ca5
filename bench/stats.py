"""What the statistics of a large crawl cost: makes a crawl.db of any size, without a crawl, and counts it.

    python bench/stats.py --pages 1000000 --links 30 --sites 2000

Prints time, memory and size of `weft stats`, `weft stats --json` and `weft stats --html`; and, where there is a
Chromium, how long it takes to open the report, to draw one picture of its map while it is moved, and to sort a table.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from process import command_of, cost_of, environment, teller, use_source_tree

use_source_tree()
import chromium  # noqa: E402 - found only now
import made_crawl  # noqa: E402

WAYS = {"text": [], "json": ["--json"], "html": ["--html"]}
MOVED = """(async () => {
  const map = document.getElementById('map'), began = performance.now();
  map.focus();
  for (let n = 0; n < 60; n++) {
    map.dispatchEvent(new KeyboardEvent('keydown', {key: n % 2 ? 'ArrowLeft' : '+', bubbles: true}));
    await new Promise((done) => requestAnimationFrame(done));
  }
  return (performance.now() - began) / 60;
})()"""
SORTED = """(async () => {
  const head = document.querySelector('th button'), began = performance.now();
  if (!head) return null;
  head.click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - began;
})()"""


def opened(report: Path) -> dict[str, float | int | None]:
    """The report in a browser: milliseconds, and what it asked of the network beside itself."""
    with chromium.Chromium() as browser:
        began = time.monotonic()
        browser.open(report)
        browser.frames()
        open_ms = (time.monotonic() - began) * 1000
        assert not browser.said, browser.said
        return {
            "open_ms": open_ms,
            "frame_ms": browser.run(MOVED),
            "sort_ms": browser.run(SORTED),
            "elements": browser.run("document.getElementsByTagName('*').length"),
            "asked": len(browser.asked) - 1,
        }


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=30, help="of each page (default: 30)")
    parser.add_argument("--sites", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="keep the crawl and the report here, or use the crawl that is here")
    parser.add_argument("--weft", help="another command than this tree's")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(given)
    say = teller(args.json)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="weft-bench-stats-") as temporary:
        place = args.folder or Path(temporary)
        crawl = place / "crawl"
        if not (crawl / "crawl.db").exists():
            made_crawl.make(crawl, args.pages, sites=args.sites, links=args.links)
        report = place / "report.html"
        report.unlink(missing_ok=True)
        for way, options in WAYS.items():
            log = Path(temporary) / f"{way}.txt"
            words = [*command_of(args.weft), "stats", str(crawl), *options, *([str(report)] if way == "html" else [])]
            cost = cost_of(words, log, environment(Path(temporary) / "bytecode"))
            size_b = (report if way == "html" else log).stat().st_size
            rows.append({"way": way, **cost._asdict(), "size_b": size_b})
            used = f"{cost.wall_s:8.1f} s  {cost.cpu_s:8.1f} s CPU  {cost.peak_b / 2**20:6.0f} MiB"
            say(f"{way:5} {used}  {size_b:12,} bytes")
        if chromium.program() is not None:
            seen = opened(report)
            rows.append({"way": "chromium", "exit_code": 0, **seen})
            say(
                "Chromium: " + ", ".join(f"{name} {number:,.1f}" for name, number in seen.items() if number is not None)
            )
    if args.json:
        print(json.dumps(rows))
    return 1 if any(row["exit_code"] for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
