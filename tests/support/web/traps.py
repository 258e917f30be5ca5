"""Pages that never end."""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Callable, Iterable

from web.kinds import ANSWER, add_kind
from web.redirects import count_of
from web.server import Request, Response, Site, html_page

# --- traps: pages that never end


def _trap(
    kind: str, why: str, links: Callable[[str, str], Iterable[str]], body: Callable[[str], str] | None = None
) -> None:
    """A site below the path whose every page brings new ones: ``links(path, what is behind it)``."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        def answer(request: Request) -> Response:
            text = body(request.path) if body else f"<p>{html.escape(request.path)}</p>"
            return Response(html_page(request.path, links(path, request.path[len(path) :]), body=text))

        for pattern in (path, f"{path}/*", f"{path}?*", f"{path};*", f"{path}//*"):
            site.serve(pattern, answer, host=host)

    add_kind(kind, install, "traps", (ANSWER,), why, status=200, endless=True)


def _noise(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}{zlib.adler32(text.encode()):08x}"


def _calendar(path: str, rest: str) -> list[str]:
    found = re.search(r"(\d+)[/-](\d+)", rest)
    month = int(found[1]) * 12 + int(found[2]) if found and len(found[1]) < 8 else 24_000
    return [f"{path}/{at // 12}/{at % 12}" for at in (month - 1, month + 1, month + 12)]


_trap("trap_calendar", "a calendar without end", _calendar)
_trap(
    "trap_calendar_query",
    "the same in the query",
    lambda path, rest: [f"{path}?date={place[len(path) + 1 :].replace('/', '-')}" for place in _calendar(path, rest)],
)
_trap(
    "trap_deep_path",
    "each page is one folder deeper",
    lambda path, rest: [f"{path}{rest.rstrip('/')}/{name}" for name in ("next", "more")],
)
_trap("trap_repeating_path", "folders that repeat", lambda path, rest: [f"{path}{rest.rstrip('/')}/a/b"])
_trap("trap_relative_path", "a relative link that forgot its slash", lambda path, rest: ["about/us/", "contact/"])
_trap("trap_numbers", "next page, for ever", lambda path, rest: [f"{path}/{count_of(rest) + 1}"])
_trap("trap_numbers_query", "next page in the query", lambda path, rest: [f"{path}?page={count_of(rest) + 1}"])
_trap(
    "trap_growing_query",
    "a query that grows",
    lambda path, rest: [f"{path}{rest}{'&' if '?' in rest else '?'}sort={len(rest)}"],
)
_trap(
    "trap_facets",
    "every order of every filter",
    lambda path, rest: [
        f"{path}{rest}{'&' if '?' in rest else '?'}{name}={value}"
        for name in ("size", "colour", "brand", "price")
        if name not in rest
        for value in range(12)
    ],
)
_trap(
    "trap_session",
    "a new session id on every page",
    lambda path, rest: [f"{path}/{n}?sid={_noise(rest + str(n))}" for n in range(5)],
    lambda where: f"<p>{where.partition('?')[0]}</p>",
)
_trap(
    "trap_session_path",
    "a session id in the path",
    lambda path, rest: [f"{path}/{n};jsessionid={_noise(rest + str(n)).upper()}" for n in range(5)],
    lambda where: f"<p>{where.partition(';')[0]}</p>",
)
_trap(
    "trap_random",
    "ten new random pages on every page",
    lambda path, rest: [f"{path}/{_noise(rest + str(n))}" for n in range(10)],
)
_trap(
    "trap_random_words",
    "new pages with speaking names",
    lambda path, rest: [
        f"{path}/{a}-{b}-{_noise(rest + a)[:5]}" for a in ("red", "old", "new") for b in ("house", "tree")
    ],
)
_trap("trap_slashes", "more slashes each time", lambda path, rest: [f"{path}{rest}//"])
_trap(
    "trap_same_body",
    "always the same body under a new address",
    lambda path, rest: [f"{path}/{_noise(rest)}"],
    lambda where: "<p>same</p>",
)
_trap(
    "trap_case",
    "the same page in other letters",
    lambda path, rest: [
        f"{path}/{''.join(c.upper() if (n >> i) & 1 else c for i, c in enumerate('abcdefghijkl'))}"
        for n in range(count_of(rest), count_of(rest) + 40)
    ],
    lambda where: "<p>same</p>",
)
_trap(
    "trap_escapes",
    "the same page in other escapes",
    lambda path, rest: [
        f"{path}/" + "".join(f"%{ord(c):02X}" if (n >> i) & 1 else c for i, c in enumerate("abcdefgh"))
        for n in range(256)
    ],
    lambda where: "<p>same</p>",
)
_trap(
    "trap_parameters",
    "an endless choice of parameters on one page",
    lambda path, rest: [f"{path}?id={_noise(rest + str(n))}" for n in range(20)],
)


def _trap_hosts(site: Site, path: str, host: str | None, target: str) -> None:
    def answer(request: Request) -> Response:
        names = [f"{_noise(request.host + str(n))}.{host or 'trap.test'}" for n in range(5)]
        return Response(html_page(request.host, [site.at(path, name) for name in names]))

    site.serve(path, answer)


add_kind("trap_hosts", _trap_hosts, "traps", (ANSWER,), "every page brings new host names", status=200, endless=True)
