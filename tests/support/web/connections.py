"""Servers that misbehave as a whole, before any answer."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence

from web.kinds import ANSWER, BAD, LOST, SLOW, add_kind, poison_answer
from web.server import Line, Site, free_port, listen

# --- connections: the whole server is like that


def _listener(
    kind: str, outcomes: Sequence[str], why: str, *, timeout: bool = False
) -> Callable[[Callable[[Line], Awaitable[bool]]], None]:
    def register(on_connect: Callable[[Line], Awaitable[bool]]) -> None:
        def install(site: Site, path: str, host: str | None, target: str) -> str:
            other = site.second(on_connect)
            other.page(path)
            return other.at(path, host)

        add_kind(kind, install, "connections", outcomes, why, timeout=timeout, listener=True)

    return register


@_listener("accept_close", LOST, "closes as soon as it accepts")
async def _accept_close(line: Line) -> bool:
    return False


@_listener("accept_reset", (*LOST, "CONNECT_FAILED", "CONNECT_REFUSED"), "resets as soon as it accepts")
async def _accept_reset(line: Line) -> bool:
    return await line.reset()


@_listener("accept_hang", SLOW, "accepts and never reads", timeout=True)
async def _accept_hang(line: Line) -> bool:
    return await line.hang()


@_listener("speaks_first", (ANSWER, *BAD, *LOST), "answers before it is asked: the real answers must not shift by one")
async def _speaks_first(line: Line) -> bool:
    await line.send(poison_answer())
    return True


@_listener("banner_first", (*BAD, *LOST), "a mail server that greets first")
async def _banner_first(line: Line) -> bool:
    await line.send(b"220 mail.test ESMTP ready\r\n")
    await line.hang(0.2)
    return False


def _refused(site: Site, path: str, host: str | None, target: str) -> str:
    return site.at(path, host).replace(f":{site.port}", f":{free_port(site.address)}")


add_kind("refused", _refused, "connections", ("CONNECT_REFUSED",), "nobody listens", listener=True)


def _backlog_full(site: Site, path: str, host: str | None, target: str) -> str:
    """A listener that never accepts and whose queue is full: Linux drops further SYNs."""
    port = free_port(site.address)
    listener = listen(site.address, port, backlog=0)
    site._held.append(listener)
    for _ in range(4):
        filler = socket.socket(listener.family, socket.SOCK_STREAM)
        filler.setblocking(False)
        filler.connect_ex((site.address, port))
        site._held.append(filler)
    return site.at(path, host).replace(f":{site.port}", f":{port}")


add_kind(
    "backlog_full",
    _backlog_full,
    "connections",
    ("CONNECT_TIMEOUT", *SLOW),
    "never accepts",
    timeout=True,
    listener=True,
)


def _plain_on_https(site: Site, path: str, host: str | None, target: str) -> str:
    site.page(path, host=host)
    return site.at(path, host).replace("http://", "https://", 1)


add_kind(
    "plain_on_https",
    _plain_on_https,
    "tls",
    ("TLS_FAILED", *LOST, *BAD),
    "plain HTTP where TLS is expected",
    listener=True,
)
