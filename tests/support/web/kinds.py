"""What a misbehaviour is, and what a good crawler makes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from web.server import HTML, POISON, Behaviour, Line, Request, Response, Site, answer_bytes, html_page

# Misbehaviour: each kind with what a good crawler must record.

ANSWER = "answer"
LOST = ("CONNECTION_LOST", "EMPTY_ANSWER")
BAD = ("BAD_ANSWER",)
CUT = ("INCOMPLETE_BODY",)
SLOW = ("FIRST_BYTE_TIMEOUT", "READ_TIMEOUT")


@dataclass(frozen=True)
class Expectation:
    """What a good crawler makes of one kind; ``asks`` and ``never`` hold what is put behind the misbehaving path."""

    group: str
    outcomes: frozenset[str]  # "answer", or names of weft.errors.Cause: any of them is honest
    why: str
    status: int | None = None  # of the answer, where it is one
    truncated: bool | None = None  # True: the kept part is used; False: all is there; None: no matter
    timeout: bool = False  # only a deadline ends it: give the crawl a short one
    listener: bool = False  # the whole server is like that, on a port of its own: its robots.txt too
    whole_site: bool = False  # what happens to the site's robots.txt or sitemap decides; the path is a plain page
    asks: tuple[str, ...] = ()  # paths that are asked because of it
    never: tuple[str, ...] = ()  # paths that must not be asked
    endless: bool = False  # the crawl must end by itself, after a few thousand requests at most
    title: str | None = None  # of the page stored: "{path}" its own path, "" none at all, None not judged


Install: TypeAlias = Callable[[Site, str, str | None, str], str | None]

MISBEHAVIOURS: dict[str, Expectation] = {}
KINDS: dict[str, Install] = {}


def add_kind(
    kind: str,
    install: Install,
    group: str,
    outcomes: Sequence[str],
    why: str,
    *,
    status: int | None = None,
    truncated: bool | None = None,
    timeout: bool = False,
    listener: bool = False,
    whole_site: bool = False,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    endless: bool = False,
    title: str | None = None,
) -> None:
    if kind in MISBEHAVIOURS:
        raise ValueError(f"two kinds are called {kind}")
    MISBEHAVIOURS[kind] = Expectation(
        group, frozenset(outcomes), why, status, truncated, timeout, listener, whole_site, asks, never, endless, title
    )
    KINDS[kind] = install


def own_page(path: str) -> bytes:
    """The page that honestly belongs to a path."""
    return html_page(path, body="<p>This is the page that was asked for.</p>")


def head_of(*lines: str, status: str = "200 OK", version: str = "HTTP/1.1", content_type: str = HTML) -> bytes:
    return "\r\n".join([f"{version} {status}", f"Content-Type: {content_type}", *lines, "", ""]).encode("latin-1")


def poison_answer() -> bytes:
    return answer_bytes(Response(html_page(POISON)))


def raw_kind(
    kind: str,
    outcomes: Sequence[str],
    make: Callable[[bytes], bytes],
    why: str,
    *,
    group: str = "wire",
    end: str = "close",
    status: int | None = None,
    judged: bool = True,
) -> None:
    """A kind that is one run of bytes made from the honest body; then ``end``: close, reset, keep or hang."""

    async def behave(line: Line, request: Request) -> bool:
        await line.send(make(own_page(request.path)))
        if end == "reset":
            return await line.reset()
        if end == "hang":
            return await line.hang()
        return end == "keep"

    title = "{path}" if judged and status == 200 and set(outcomes) == {ANSWER} else None
    add_kind(kind, at_path(behave), group, outcomes, why, status=status, timeout=end == "hang", title=title)


def good_kind(kind: str, make: Callable[[bytes], bytes], why: str, *, judged: bool = True) -> None:
    """A kind that is odd and yet a good answer, after which the line stays open."""
    raw_kind(kind, (ANSWER,), make, why, end="keep", status=200, judged=judged)


def at_path(behaviour: Behaviour) -> Install:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        site.behave(path, behaviour, host=host)

    return install


def wire_kind(
    kind: str,
    outcomes: Sequence[str],
    why: str,
    *,
    group: str = "wire",
    timeout: bool = False,
    status: int | None = None,
    truncated: bool | None = None,
) -> Callable[[Behaviour], Behaviour]:
    """Registers a behaviour that holds the connection itself."""

    def register(behaviour: Behaviour) -> Behaviour:
        install = at_path(behaviour)
        add_kind(kind, install, group, outcomes, why, timeout=timeout, status=status, truncated=truncated)
        return behaviour

    return register


def sized(body: bytes, *lines: str, status: str = "200 OK", content_type: str = HTML) -> bytes:
    return head_of(*lines, f"Content-Length: {len(body)}", status=status, content_type=content_type) + body


def chunked(body: bytes, size: int = 40, extension: bytes = b"") -> bytes:
    """A body in chunks, without the last one."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces)


CHUNKED = head_of("Transfer-Encoding: chunked")
LAST = b"0\r\n\r\n"
