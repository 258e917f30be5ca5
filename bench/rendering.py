"""What rendering costs: pages a second and CPU a page, by the pool and by a fresh browser for each page.

    PYTHONPATH=src .venv/bin/python bench/rendering.py [PAGES [TABS]]

The pages are those of a small made-up site with scripts and a request each; nothing is asked of any network. Both ways
run in one process, one after the other, without pauses between pages. A fresh browser is given no second to be quiet.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from weft.fetch.browser.pool import Pool
from weft.fetch.browser.program import command_of, find_browser
from weft.fetch.browser.values import PageRequest, Settings
from weft.records import Fetched

SITE = "http://bench.test"
SCRIPT = b"""
fetch('/list' + location.pathname).then((r) => r.json()).then((links) => {
  const list = document.getElementById('app').appendChild(document.createElement('ul'));
  for (const link of links) {
    const a = list.appendChild(document.createElement('li')).appendChild(document.createElement('a'));
    a.href = link; a.textContent = link;
  }
});
"""


async def answer(request: PageRequest) -> Fetched | None:
    path = request.url.removeprefix(SITE)
    kind, body = "text/html", b"<!doctype html><title>page</title><div id=app></div><script src=/app.js></script>"
    if path == "/app.js":
        kind, body = "text/javascript", SCRIPT
    elif path.startswith("/list/"):
        kind, body = "application/json", b'["/a", "/b", "/c"]'
    return Fetched(200, b"", (("content-type", kind),), body, body, False, 0, 0, "", "1.1")


def pool(settings: Settings, tabs: int) -> Pool:
    sandbox = os.geteuid() != 0
    return Pool(lambda profile: command_of(find_browser(), profile, sandbox=sandbox), settings, tabs, 1 << 30)


def memory_mb(pids: list[int]) -> float:
    """The memory of processes, shared parts counted once."""
    total_kb = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended
            continue
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb / 1024


async def by_pool(pages: int, tabs: int) -> float:
    async with pool(Settings(), tabs) as running:
        done = 0

        async def one(number: int) -> None:
            nonlocal done
            rendered = await running.render("bench.test", f"{SITE}/page/{number}", answer)
            assert 'href="/c"' in rendered.html
            done += 1
            if done % max(1, pages // 10) == 0:
                print(f"  {done} pages: {memory_mb(running.pids()):.0f} MB")

        await asyncio.gather(*map(one, range(pages)))
        return cpu_s(running.pids())


async def by_fresh_browsers(pages: int) -> float:
    """One after the other on each core: start, load, read, kill."""

    async def some(numbers: range) -> float:
        took_s = 0.0
        for number in numbers:
            async with pool(Settings(quiet_s=0.05), 1) as running:
                await running.render("bench.test", f"{SITE}/page/{number}", answer)
                took_s += cpu_s(running.pids())
        return took_s

    return sum(await asyncio.gather(*(some(range(core, pages, 2)) for core in range(2))))


def cpu_s(pids: list[int]) -> float:
    """The CPU time that processes, and those that ended before them, have taken."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(name: str, pages: int, work: Callable[[], float]) -> float:
    """``work`` gives the CPU time that browsers took."""
    began = time.perf_counter()
    took_cpu_s = work()
    rate = pages / (time.perf_counter() - began)
    print(f"{name}: {rate:.2f} pages/s, {1000 * took_cpu_s / pages:.0f} ms of the browser's CPU a page")
    return rate


def main() -> None:
    pages, tabs = int((sys.argv[1:] or ["200"])[0]), int((sys.argv[2:] or ["8"])[0])
    pooled = measure(f"pool of {tabs} tabs", pages, lambda: asyncio.run(by_pool(pages, tabs)))
    fresh = measure("a fresh browser a page", pages // 10, lambda: asyncio.run(by_fresh_browsers(pages // 10)))
    print(f"the pool is {pooled / fresh:.1f} times as fast")


if __name__ == "__main__":
    main()
