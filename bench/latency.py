"""Waiting costs nothing: many sites that answer late are crawled at nearly the pace of sites that answer at once.

    python bench/latency.py                       1,000 sites, no delay, 100 ms and 500 ms, 1,000 requests in flight
    python bench/latency.py --hosts 50 --pages 5 --delays 0.05 --workers 50

One server on loopback plays all the sites (``--resolve``), each with its own robots.txt, and waits before each
answer. What can be reached with a delay is the lesser of the rate without one and requests in flight / delay; the
figure is the share of it that a crawl in one process reaches, counted over the whole crawl, its start and its end
included. A request is what the server answered: pages, robots.txt and the sitemap that is not there. Time in which
weft could have run and another program had the processor (the server is one) is taken off on both sides.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from process import ROOT, command_of, cost_of, environment, start, teller, use_source_tree

use_source_tree()

LINKS = 20
TEXT_B = 6_000
TARGET = 0.85
_REQUEST = re.compile(rb"GET (\S*) HTTP/1\.1\r\n(?:[^\r\n]+\r\n)*?host: ?([^\r\n:]+)", re.IGNORECASE)


# --- the sites


class Sites(asyncio.Protocol):
    """One connection to the server of all sites: answers each request after the delay."""

    def __init__(self, pages: int, delay_s: float) -> None:
        self._pages = pages
        self._delay_s = delay_s
        self._loop = asyncio.get_running_loop()
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            found = _REQUEST.match(self._buffer[:end])
            self._buffer = self._buffer[end + 4 :]
            if found is None:
                self._transport.close()
                return
            answer = answer_to(found[1].decode(), found[2].decode(), self._pages)
            if self._delay_s:
                self._loop.call_later(self._delay_s, self._transport.write, answer)
            else:
                self._transport.write(answer)


def answer_to(path: str, host: str, pages: int) -> bytes:
    """The answer of any of the sites; its pages are ``/`` and ``/p1`` to ``/pN``, each with links to twenty others."""
    number = 0 if path == "/" else int(path[2:]) if path[:2] == "/p" and path[2:].isdecimal() else pages
    if number >= pages:
        return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
    targets = range(1, min(LINKS + 1, pages)) if number == 0 else range(number + 1, min(number + LINKS + 1, pages))
    links = "".join(f'<li><a href="/p{target}">page {target} of {host}</a>' for target in targets)
    text = f"{host} {number} lorem ipsum " * (TEXT_B // (len(host) + 20))
    body = f"<!doctype html><title>{number} of {host}</title><ul>{links}</ul><p>{text}".encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(pages: int, delay_s: float) -> None:
    """Serves until it is ended; prints its port first."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Sites(pages, delay_s), "127.0.0.1", 0, backlog=4_096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def served(pages: int, delay_s: float, place: Path) -> Iterator[int]:
    """The port of a server of all sites, in a process of its own."""
    log = place / "server"
    log.write_bytes(b"")
    words = [sys.executable, str(ROOT / "bench" / "latency.py"), "--pages", str(pages), "--serve", str(delay_s)]
    server = start(words, log)
    try:
        while not (said := log.read_text(encoding="utf-8")).endswith("\n"):
            if server.poll() is not None:
                sys.exit(f"the server ended: {said}")
        yield int(said)
    finally:
        server.kill()
        server.wait()


# --- measuring


class Measure(NamedTuple):
    """One crawl of all sites."""

    pages: int
    requests: int
    wall_s: float  # without the time in which other programs had the processor
    cpu_s: float
    peak_b: int

    @property
    def rate(self) -> float:
        """Requests per second over the whole crawl."""
        return self.requests / self.wall_s


def measure(weft: list[str], args: argparse.Namespace, delay_s: float, place: Path) -> Measure:
    """Crawls all sites once, each answer ``delay_s`` late."""
    folder, log, seeds = place / "crawl", place / "log", place / "seeds"
    shutil.rmtree(folder, ignore_errors=True)
    log.write_bytes(b"")
    with served(args.pages, delay_s, place) as port:
        seeds.write_text("".join(f"http://h{number}.test:{port}/\n" for number in range(args.hosts)), encoding="utf-8")
        words = [*weft, "crawl", str(seeds), "-o", str(folder), "--resolve", "*.test=127.0.0.1", "--delay", "0"]
        words += ["--workers", str(args.workers), "--trap-hosts-per-domain", "0", "--processes", "1", "--quiet"]
        words += args.option
        cost = cost_of(words, log, environment(place / "bytecode"))
    if cost.exit_code:
        sys.exit(f"exit code {cost.exit_code}: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
    from weft.derive.read import StoredCrawl

    with StoredCrawl(folder) as crawl:
        status = crawl.status()
    wanted = args.hosts * args.pages
    if status.pages != wanted:
        sys.exit(f"{status.pages} pages instead of {wanted}")
    requests = status.pages + 2 * args.hosts  # robots.txt, and a sitemap that is not there
    return Measure(status.pages, requests, cost.own_s, cost.cpu_s, cost.peak_b)


def measured(args: argparse.Namespace, place: Path, say: Callable[[str], None]) -> dict[str, object]:
    """Measures in turns, and says what part of the possible was reached."""
    weft = command_of(args.weft)
    delays = [0.0, *args.delays]
    found: dict[float, list[Measure]] = {delay_s: [] for delay_s in delays}
    for number in range(1, args.runs + 1):
        for delay_s in delays:
            found[delay_s].append(measure(weft, args, delay_s, place))
            one = found[delay_s][-1]
            say(
                f"run {number}, {1000 * delay_s:.0f} ms: {one.rate:,.0f} requests/s, {one.pages / one.wall_s:,.0f}"
                f" pages/s, {one.cpu_s:.1f} of {one.wall_s:.1f} s CPU, {one.peak_b / 1e6:.0f} MB"
            )
    free = statistics.median(one.rate for one in found[0.0])
    rows = []
    for delay_s in args.delays:
        rate = statistics.median(one.rate for one in found[delay_s])
        possible = min(free, args.workers / delay_s)
        rows.append({"delay_s": delay_s, "rate": rate, "possible": possible, "share": rate / possible})
        say(
            f"{1000 * delay_s:.0f} ms: {rate:,.0f} of {possible:,.0f} requests/s, {100 * rate / possible:.0f} %"
            f" (target {100 * TARGET:.0f} %: {'met' if rate >= TARGET * possible else 'MISSED'})"
        )
    return {"hosts": args.hosts, "pages": args.hosts * args.pages, "workers": args.workers, "free": free, "rows": rows}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--pages", type=int, default=20, help="of each host (default: 20)")
    parser.add_argument("--workers", type=int, default=1_000, help="requests in flight (default: 1000)")
    parser.add_argument("--delays", type=float, nargs="+", default=[0.1, 0.5], metavar="S")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--option", action="append", default=[], help="one more word for weft crawl, may be repeated")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    parser.add_argument("--serve", type=float, metavar="DELAY_S", help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    if args.serve is not None:
        asyncio.run(serve(args.pages, args.serve))
        return 0
    with tempfile.TemporaryDirectory(prefix="weft-latency-") as name:
        found = measured(args, Path(name), teller(args.json))
    if args.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
