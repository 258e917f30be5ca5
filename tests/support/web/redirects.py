"""Misbehaviour by status: odd answers, redirects that loop or lure, cookies."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from email.utils import formatdate

from web.kinds import ANSWER, BAD, add_kind, head_of, own_page, poison_answer, raw_kind, sized
from web.server import HTML, Behaviour, Line, Request, Response, Site, html_page

# --- statuses


def _status(kind: str, status: int, why: str, headers: Mapping[str, str] | None = None, *, passing: int = 0) -> None:
    """A status for every request (or, with ``passing``, for the first ones; then the page answers 200)."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        asked = Counter[str]()

        def answer(request: Request) -> Response:
            asked[path] += 1
            if passing and asked[path] > passing:
                return Response(own_page(path))
            return Response(html_page(f"{status}"), status, HTML, _dated(headers or {}))

        site.serve(path, answer, host=host)

    add_kind(kind, install, "status", (ANSWER,), why, status=200 if passing else status)


def _dated(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with ``{+N}`` replaced by the HTTP date N seconds from now."""

    def date(found: re.Match[str]) -> str:
        return formatdate(time.time() + int(found[1]), usegmt=True)

    return {name: re.sub(r"\{([+-]\d+)\}", date, value) for name, value in headers.items()}


for _code in (400, 402, 403, 404, 405, 410, 418, 451, 500, 501, 502, 504, 511):
    _status(f"status_{_code}", _code, f"{_code} for ever")
_status("status_401", 401, "asks for a password; none of ours is sent", {"WWW-Authenticate": 'Basic realm="x"'})
_status("status_401_many", 401, "schemes nobody knows", {"WWW-Authenticate": "Negotiate, NTLM, Digest realm=x"})
_status("status_407", 407, "a server that plays proxy", {"Proxy-Authenticate": "Basic realm=x"})
_status("status_201", 201, "created, by a GET")
_status("status_206", 206, "a part nobody asked for", {"Content-Range": "bytes 0-99/1000"})
_status("status_226", 226, "a success of another kind")
_status("status_304", 304, "not modified, though nobody asked whether")
_status("retry_429", 429, "too many, for ever")
_status("retry_429_seconds", 429, "too many, then well", {"Retry-After": "1"}, passing=1)
_status("retry_429_date", 429, "too many until a date, then well", {"Retry-After": "{+2}"}, passing=1)
_status("retry_429_past", 429, "until a date that is over", {"Retry-After": "{-900}"}, passing=1)
_status("retry_429_nonsense", 429, "until nonsense", {"Retry-After": "soon, my friend"}, passing=1)
_status("retry_429_negative", 429, "until minus five", {"Retry-After": "-5"}, passing=1)
_status("retry_429_year", 429, "until next year: the crawl does not sleep a year", {"Retry-After": "31536000"})
_status("retry_429_overflow", 429, "a number past every range", {"Retry-After": "9" * 400})
_status("retry_503", 503, "unavailable, for ever")
_status("retry_503_seconds", 503, "unavailable, then well", {"Retry-After": "1"}, passing=1)
_status("retry_503_date", 503, "unavailable until a date, then well", {"Retry-After": "{+2}"}, passing=1)
_status("flaky_500", 500, "wrong once, then well", passing=1)

raw_kind(
    "body_with_204",
    (ANSWER,),
    lambda body: head_of(f"Content-Length: {len(body)}", status="204 No Content") + body,
    "204 with a length and a body",
    group="status",
    status=204,
)
raw_kind(
    "body_with_304",
    (ANSWER, *BAD),
    lambda body: head_of(f"Content-Length: {len(body)}", status="304 Not Modified") + body + poison_answer(),
    "304 with a body",
    group="status",
    end="keep",
    status=304,
)
raw_kind(
    "body_with_205",
    (ANSWER,),
    lambda body: sized(body, status="205 Reset Content"),
    "205 with a body",
    group="status",
    status=205,
)

# --- redirects; {goal} is a good page beside the path, {target} another site


def _redirect(
    kind: str,
    location: str | None,
    why: str,
    *,
    status: int = 302,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    raw: bool = False,
) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        last = path.rpartition("/")[2]
        site.page(f"{path}-goal", host=host)
        names = {
            "path": path,
            "goal": f"{path}-goal",
            "last": last,
            "target": target or "http://elsewhere.test",
            "site": site.at("", host),
            "authority": site.at("", host).partition("//")[2],
        }
        line = [] if location is None else [f"Location: {location.format(**names)}"]
        content = sized(b"" if status == 304 else html_page("moved"), *line, status=f"{status} Moved")
        site.behave(path, _bytes_kept(content), host=host)

    add_kind(
        kind, install, "redirects", (ANSWER, *BAD) if raw else (ANSWER,), why, status=status, asks=asks, never=never
    )


def _bytes_kept(content: bytes) -> Behaviour:
    async def behave(line: Line, request: Request) -> bool:
        await line.send(content)
        return True

    return behave


GOAL = ("-goal",)
for _code in (301, 302, 303, 307, 308):
    _redirect(f"redirect_{_code}", "{goal}", f"{_code} to a good page", status=_code, asks=GOAL)
_redirect("redirect_300", "{goal}", "300 with a place: an answer; going on is allowed", status=300)
_redirect("redirect_304", "{goal}", "304 is no redirect, whatever Location says", status=304, never=GOAL)
_redirect("redirect_305", "{goal}", "305 names a proxy: never used", status=305, never=GOAL)
_redirect("redirect_306", "{goal}", "306 means nothing", status=306, never=GOAL)
_redirect("redirect_200", "{goal}", "Location with 200 means nothing", status=200, never=GOAL)
_redirect("redirect_201", "{goal}", "Location with 201 is no redirect", status=201, never=GOAL)
_redirect("redirect_absolute", "{site}{goal}", "an absolute address", asks=GOAL)
_redirect("redirect_relative", "{last}-goal", "a relative address", asks=GOAL)
_redirect("redirect_dots", "./x/../{last}-goal", "a relative address with dots", asks=GOAL)
_redirect("redirect_protocol_relative", "//{authority}{goal}", "without a scheme", asks=GOAL)
_redirect("redirect_blanks", "   {goal}  ", "blanks around it", asks=GOAL)
_redirect("redirect_blank_inside", "{goal}?a b", "a blank inside it", asks=("-goal?a%20b",))
_redirect("redirect_fragment", "{goal}#part", "a fragment is not sent", asks=GOAL)
_redirect("redirect_unicode", "{goal}?\xc3\xa9", "raw UTF-8 in it", asks=("-goal?%C3%A9",))
_redirect("redirect_backslash", "\\{last}-goal", "a backslash, as browsers read it", asks=())
_redirect("redirect_upper_scheme", "HTTP://{authority}{goal}", "a scheme in upper case", asks=GOAL)
_redirect("redirect_missing_location", None, "no Location")
_redirect("redirect_empty_location", "", "an empty Location")
_redirect("redirect_crlf", "{goal}%0d%0aX-Injected:%201", "an escaped line end stays escaped", asks=())
_redirect("redirect_bare_cr", "{goal}\rX-Injected: 1", "a raw CR in the Location", raw=True)
_redirect("redirect_nul", "{goal}\0", "a NUL in the Location", raw=True)
_redirect("redirect_huge", "{goal}?" + "x" * 50_000, "an address of 50 KB: refused, not asked")
_redirect("redirect_other_host", "{target}/secret", "to another host: out of scope")
_redirect("redirect_credentials", "http://user:word@{authority}{goal}", "credentials in the address are not used")
_redirect("redirect_bad_port", "http://127.0.0.1:99999/", "a port that is none")
_redirect("redirect_bad_host", "http://exa mple..test/", "a host that is none")
_redirect("redirect_bad_ipv6", "http://[::1/", "a broken address")
for _scheme, _place in {
    "javascript": "javascript:alert(1)",
    "file": "file:///etc/passwd",
    "ftp": "ftp://127.0.0.1/x",
    "data": "data:text/html,x",
    "mailto": "mailto:a@b.test",
    "gopher": "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict": "dict://127.0.0.1:11211/stat",
    "ws": "ws://127.0.0.1/",
    "blob": "blob:http://x.test/1",
    "about": "about:blank",
    "view_source": "view-source:http://x.test/",
    "scp": "scp://127.0.0.1/etc/passwd",
    "unknown": "weft-nonsense:thing",
}.items():
    _redirect(f"redirect_to_{_scheme}", _place, f"another scheme ({_scheme}) is never opened")
PRIVATE_PLACES = {
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "ten": "http://10.0.0.1/",
    "lan": "http://192.168.0.1/",
    "localhost": "http://localhost:1/",
    "zero": "http://0.0.0.0:1/",
    "short": "http://127.1:1/",
    "decimal": "http://2130706433:1/",
    "hex": "http://0x7f000001:1/",
    "octal": "http://0177.0.0.1:1/",
    "ipv6": "http://[::1]:1/",
    "mapped": "http://[::ffff:127.0.0.1]:1/",
    "mapped_hex": "http://[::ffff:7f00:1]:1/",
    "nat64": "http://[64:ff9b::7f00:1]:1/",
    "unique_local": "http://[fd00::1]/",
    "link_local": "http://[fe80::1]/",
    "shared": "http://100.64.0.1/",
    "full_width": "http://\uff11\uff12\uff17\uff0e\uff10\uff0e\uff10\uff0e\uff11:1/",
    "dotted": "http://127.0.0.1.:1/",
    "enclosed": "http://\u2460\u2461\u2466.0.0.1:1/",
}
"""Private addresses, however written: nobody connects to them in a public crawl (promise 7)."""
for _name, _place in PRIVATE_PLACES.items():
    _redirect(
        f"redirect_private_{_name}", _place.encode().decode("latin-1"), f"a private address ({_name}) in a Location"
    )


def _chain(
    kind: str, why: str, follow: Callable[[str, str], str | None], *, endless: bool = False, asks: tuple[str, ...] = ()
) -> None:
    """Redirects that lead to redirects: ``follow(path, what is behind it)`` gives the next place."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        def answer(request: Request) -> Response:
            place = follow(path, request.path[len(path) :])
            if place is None:
                return Response(own_page(request.path))
            return Response(html_page("moved"), 302, HTML, {"Location": place})

        site.serve(path, answer, host=host)
        site.serve(f"{path}/*", answer, host=host)
        site.serve(f"{path}?*", answer, host=host)

    add_kind(kind, install, "redirects", (ANSWER, "TOO_MANY_REDIRECTS"), why, status=302, endless=endless, asks=asks)


def count_of(rest: str) -> int:
    digits = re.sub(r"\D", "", rest)[:9]
    return int(digits or 0)


_chain("redirect_self", "to itself", lambda path, rest: path)
_chain("redirect_self_fragment", "to itself with another fragment", lambda path, rest: f"{path}#again")
_chain("redirect_pair", "two that lead to each other", lambda path, rest: path if rest else f"{path}/b", asks=("/b",))
_chain("redirect_triangle", "three in a ring", lambda path, rest: f"{path}/{(count_of(rest) + 1) % 3}")
_chain(
    "redirect_chain_5",
    "five, then a page",
    lambda path, rest: f"{path}/{count_of(rest) + 1}" if count_of(rest) < 5 else None,
    asks=("/1", "/2", "/3", "/4", "/5"),
)
_chain(
    "redirect_chain_30",
    "thirty: more than the ten that are walked",
    lambda path, rest: f"{path}/{count_of(rest) + 1}" if count_of(rest) < 30 else None,
)
_chain("redirect_endless", "a new place every time", lambda path, rest: f"{path}/{count_of(rest) + 1}", endless=True)
_chain(
    "redirect_endless_query",
    "a new query every time",
    lambda path, rest: f"{path}?n={count_of(rest) + 1}",
    endless=True,
)
_chain("redirect_growing", "a longer place every time", lambda path, rest: f"{path}{rest}/more", endless=True)


def _cookie_loop(site: Site, path: str, host: str | None, target: str) -> None:
    def answer(request: Request) -> Response:
        if "pass=1" in (request.header("cookie") or ""):
            return Response(own_page(path))
        return Response(html_page("moved"), 302, HTML, {"Location": path, "Set-Cookie": "pass=1; Path=/"})

    site.serve(path, answer, host=host)


add_kind(
    "redirect_cookie_gate",
    _cookie_loop,
    "redirects",
    (ANSWER,),
    "to itself until the cookie comes back: any end is honest",
)

# --- cookies and other secrets


def _cookie(kind: str, why: str, *cookies: str) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        lines = [f"Set-Cookie: {cookie}" for cookie in cookies]
        own = own_page(path)
        site.behave(path, _bytes_kept(sized(own, *lines)), host=host)

    add_kind(kind, install, "cookies", (ANSWER, *BAD, "HEADERS_TOO_LARGE"), why, status=200)


_cookie("cookie_plain", "comes back to this host only", "plain=1; Path=/")
_cookie("cookie_foreign_domain", "for a domain that is not ours: dropped", "stolen=1; Domain=elsewhere.test; Path=/")
_cookie(
    "cookie_public_suffix",
    "for a whole public suffix: dropped",
    "wide=1; Domain=com; Path=/",
    "w=1; Domain=.co.uk; Path=/",
)
_cookie("cookie_parent_domain", "for the parent: siblings may get it, others not", "up=1; Domain=test; Path=/")
_cookie("cookie_secure", "Secure: never over plain HTTP", "safe=1; Secure; Path=/", "__Host-x=1; Secure; Path=/")
_cookie(
    "cookie_expired",
    "already over: not sent",
    "old=1; Max-Age=0; Path=/",
    "older=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
)
_cookie("cookie_path", "for one path only", "deep=1; Path=/nowhere/else")
_cookie("cookie_huge", "64 KB of cookie", "huge=" + "x" * 65_536 + "; Path=/")
_cookie("cookie_many", "500 cookies", *(f"c{n}=1; Path=/" for n in range(500)))
_cookie("cookie_binary", "bytes and controls in a cookie", "bin=\x01\x7f\xff; Path=/")
_cookie("cookie_injection", "line ends in a cookie", "inj=a\rX-Injected: 1; Path=/")
_cookie("cookie_nameless", "no name, no value", "=; Path=/", ";", "onlyname")
