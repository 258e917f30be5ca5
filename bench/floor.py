"""The floor: fetches, parses and resolves what it is given, and keeps nothing. A plain loop of weft's own parts.

    python bench/floor.py URLS [--per-host 16] [--gzip]

``URLS`` is a file with a URL a line. No robots.txt, no queue, no states, no archive, no limits: what any crawler made
of these parts has to pay. Prints one JSON object: pages, links, bytes.
"""

from __future__ import annotations

import argparse
import json
import select
from collections import deque
from pathlib import Path

import pycurl
import turbohtml
from process import use_source_tree

use_source_tree()
from weft.url import Resolver, site_of  # noqa: E402 - found only now

TAGS = ["a", "area", "link", "img", "script", "iframe", "frame", "form"]
WAIT_MAX_S = 1.0


class Loop:
    """libcurl's multi interface on one epoll object, with ``per_host`` transfers at once for each site."""

    def __init__(self, urls: list[str], per_host: int, gzip: bool, address: str) -> None:
        self._queues: dict[str, deque[str]] = {}
        for url in urls:
            self._queues.setdefault(site_of(url), deque()).append(url)
        self._per_host = per_host
        self._gzip = gzip
        self._address = address
        self._poll = select.epoll()
        self._masks: dict[int, int] = {}
        self._timeout_ms = -1
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._timer)
        self._under_way = 0
        self.pages = self.links = self.size_b = 0

    def _socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            if self._masks.pop(fd, None) is not None:
                self._poll.unregister(fd)
            return
        mask = (select.EPOLLIN if what & pycurl.POLL_IN else 0) | (select.EPOLLOUT if what & pycurl.POLL_OUT else 0)
        self._poll.modify(fd, mask) if fd in self._masks else self._poll.register(fd, mask)
        self._masks[fd] = mask

    def _timer(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms

    def run(self) -> None:
        for queue in self._queues.values():
            for _ in range(min(self._per_host, len(queue))):
                self._start(self._handle(), queue)
        while self._under_way:
            wait_s = WAIT_MAX_S if self._timeout_ms < 0 else min(self._timeout_ms / 1000, WAIT_MAX_S)
            ready = self._poll.poll(wait_s)
            for fd, events in ready:
                mask = (pycurl.CSELECT_IN if events & ~select.EPOLLOUT else 0) | (
                    pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
                )
                self._multi.socket_action(fd, mask)
            if not ready:
                self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            self._collect()

    def _handle(self) -> pycurl.Curl:
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.BUFFERSIZE, 65_536)
        if self._gzip:
            curl.setopt(pycurl.ACCEPT_ENCODING, "")
        if self._address:
            curl.setopt(pycurl.CONNECT_TO, [f"::{self._address}:"])
        return curl

    def _start(self, curl: pycurl.Curl, queue: deque[str]) -> None:
        curl.queue, curl.url, curl.body = queue, queue.popleft(), []
        curl.setopt(pycurl.URL, curl.url)
        curl.setopt(pycurl.WRITEFUNCTION, curl.body.append)
        self._multi.add_handle(curl)
        self._under_way += 1

    def _collect(self) -> None:
        queued = 1
        while queued:
            queued, done, failed = self._multi.info_read()
            for curl in [*done, *(entry[0] for entry in failed)]:
                self._multi.remove_handle(curl)
                self._under_way -= 1
                url, body, kind = curl.url, b"".join(curl.body), curl.getinfo(pycurl.CONTENT_TYPE)
                if curl.queue:
                    self._start(curl, curl.queue)
                self._read(url, body, kind or "")

    def _read(self, url: str, body: bytes, kind: str) -> None:
        self.pages += 1
        self.size_b += len(body)
        if not kind.startswith("text/html"):
            return
        resolve = Resolver(url).resolve
        for element in turbohtml.parse(body).iter_elements(TAGS):
            reference = element.attr("href") or element.attr("src") or element.attr("action")
            if reference is not None and resolve(reference) is not None:
                self.links += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("urls", type=Path)
    parser.add_argument("--per-host", type=int, default=16)
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--address", default="", help="where all hosts live, whatever their names")
    args = parser.parse_args()
    loop = Loop(args.urls.read_text(encoding="utf-8").split(), args.per_host, args.gzip, args.address)
    loop.run()
    print(json.dumps({"pages": loop.pages, "links": loop.links, "bytes": loop.size_b}))


if __name__ == "__main__":
    main()
