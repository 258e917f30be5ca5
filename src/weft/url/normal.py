"""The key of a URL: its normal form under the rules that are switched on."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from weft.errors import SpecError
from weft.text.patterns import regex
from weft.url.parts import host_of, path_start
from weft.url.resolving import parse
from weft.url.rules import DEFAULT_RULES, RULES, in_order

if TYPE_CHECKING:
    from weft.spec import Urls

_Rewrite = Callable[[str], str]

_LOWER_CASE_ESCAPE = regex(r"%(?:[a-f][0-9A-Fa-f]|[0-9A-F][a-f])")
# Not behind a "%" that starts no escape: with what is decoded behind it, it would start one.
_NEEDLESS_ESCAPE = regex(
    r"%(?:2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe])(?<!%%..)(?<!%[0-9A-Fa-f]%..)"
)
_SLASHES = regex(r"/{2,}")
_PATH_SESSION = regex(r";(?:jsessionid|phpsessid|sid)=[^/;]*|/\((?:[a-z]\([^/()]*\))+\)(?=/|$)", re.IGNORECASE)
_SESSION_NAME = regex(
    r"(?:j|php|asp|asp\.net_)?sess(?:ion)?_?id|jsessionid|sid|cfid|cftoken|aspsessionid\w*|zenid|oscsid", re.IGNORECASE
)
_TRACKING_NAME = regex(
    r"utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|fb_ref|fb_source|msclkid|yclid|twclid|ttclid|igshid|igsh"
    r"|mc_cid|mc_eid|_hsenc|_hsmi|mkt_tok|_ga|_gl|oly_anon_id|oly_enc_id|vero_id|wickedid|srsltid",
    re.IGNORECASE,
)
_ADDRESS = regex(r"\d+\.\d+\.\d+\.\d+|\[.*\]")


class Normalizer:
    """Keys under one choice of rules. Equal keys are one page.

    ``key(key(u)) == key(u)``, and a key is itself a URL that parses to itself. It takes URLs as ``parse`` and
    ``Resolver`` make them; those of other schemes than http and https are their own key.
    """

    __slots__ = ("_named", "_rewrites", "ip_hosts", "rules", "trigger")

    def __init__(self, rules: Collection[str], ip_hosts: Mapping[str, str] = MappingProxyType({})) -> None:
        unknown = set(rules) - set(RULES)
        if unknown:
            raise SpecError(f"{sorted(unknown)[0]!r} is no rule of --normalize")
        self.rules = in_order(set(rules))
        self.know(ip_hosts)

    @classmethod
    def of(cls, urls: Urls, ip_hosts: Mapping[str, str]) -> Normalizer:
        """The rules of a crawl, with the addresses that it knows to be hosts."""
        return cls((urls.normalize or DEFAULT_RULES) + (("drop-query",) if urls.drop_query else ()), ip_hosts)

    def know(self, ip_hosts: Mapping[str, str]) -> None:
        """From now on these addresses are the names of these hosts, if the rule ip-to-host is on."""
        self.ip_hosts = dict(ip_hosts) if "ip-to-host" in self.rules else {}
        self._named = _host_instead_of_ip(self.ip_hosts) if self.ip_hosts else None
        rewrites = {**_REWRITES, "ip-to-host": self._named} if self._named else _REWRITES
        self._rewrites = [(rule, rewrites[rule]) for rule in self.rules if rule in rewrites]
        triggers = {_TRIGGERS.get(rule, "") for rule, _ in self._rewrites} or {_NEVER}
        self.trigger = triggers.pop() if len(triggers) == 1 else ""  # a URL without it is its own key

    def named(self, url: str) -> str:
        """The URL with the name of its host, where it has an address that belongs to a known one."""
        return self._named(url) if self._named is not None and _is_http(url) else url

    def key(self, url: str) -> str:
        """The normal form; the very same object where no rule applies."""
        if self.trigger not in url or not _is_http(url):
            return url
        for _, rewrite in self._rewrites:
            url = rewrite(url)
        return url

    def explain(self, url: str) -> list[tuple[str, str, str]]:
        """Rule, URL before and URL after, for each rule that changes something."""
        steps = []
        if _is_http(url):
            for rule, rewrite in self._rewrites:
                after = rewrite(url)
                if after != url:
                    steps.append((rule, url, after))
                url = after
        return steps


def _is_http(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _percent_case(url: str) -> str:
    if _LOWER_CASE_ESCAPE.search(url) is None:
        return url
    start = path_start(url)
    return url[:start] + _LOWER_CASE_ESCAPE.sub(lambda escape: escape[0].upper(), url[start:])


def _percent_decode(url: str) -> str:
    if _NEEDLESS_ESCAPE.search(url) is None:
        return url
    start = path_start(url)
    return url[:start] + _NEEDLESS_ESCAPE.sub(lambda escape: chr(int(escape[0][1:], 16)), url[start:])


def _without_session_ids(url: str) -> str:
    start, mark = path_start(url), _query_mark(url)
    if _PATH_SESSION.search(url, start, mark):
        path = url[start:mark]
        while (shorter := _PATH_SESSION.sub("", path)) != path:
            path = shorter
        found = f"{url[:start]}{path or '/'}{url[mark:]}"
        # What is left of a segment may be ".." now, which no serialised URL holds: then it was no session id.
        url = found if parse(found) == found else url
    return _with_parameters(url, lambda pieces: [p for p in pieces if not _SESSION_NAME.fullmatch(_name(p))])


def _single_slashes(url: str) -> str:
    start, mark = path_start(url), _query_mark(url)
    return url[:start] + _SLASHES.sub("/", url[start:mark]) + url[mark:]


def _slash_added(url: str) -> str:
    mark = _query_mark(url)
    last_segment = url[url.rindex("/", 0, mark) + 1 : mark]
    return f"{url[:mark]}/{url[mark:]}" if last_segment and "." not in last_segment else url


def _slash_removed(url: str) -> str:
    start, mark = path_start(url), _query_mark(url)
    if url[mark - 1] != "/" or mark - start == 1:
        return url
    return url[:start] + (url[start:mark].rstrip("/") or "/") + url[mark:]


def _without_query(url: str) -> str:
    return url.partition("?")[0]


def _without_tracking(url: str) -> str:
    return _with_parameters(url, lambda pieces: [p for p in pieces if not _TRACKING_NAME.fullmatch(_name(p))])


def _without_empty_parameters(url: str) -> str:
    return _with_parameters(url, _with_values)


def _with_values(pieces: list[str]) -> list[str]:
    """R14: of ``?a&b=1`` the ``a`` is left out. Where nothing has a value, bare names are all that the query says."""
    valued = [piece for piece in pieces if piece.partition("=")[2]]
    return valued or [piece for piece in pieces if piece and "=" not in piece]


def _query_sorted(url: str) -> str:
    # By name only and stable: of several values of one name the order may matter.
    return _with_parameters(url, lambda pieces: sorted(pieces, key=lambda piece: piece.partition("=")[0]))


def _without_empty_query(url: str) -> str:
    return url.removesuffix("?") if _query_mark(url) == len(url) - 1 else url


def _query_mark(url: str) -> int:
    """The index of the "?" before the query, or of the end."""
    mark = url.find("?")
    return len(url) if mark < 0 else mark


def _name(piece: str) -> str:
    return piece.partition("=")[0]


def _with_parameters(url: str, change: Callable[[list[str]], list[str]]) -> str:
    """The URL with its list of parameters changed, and without "?" if none of them is left."""
    head, _, query = url.partition("?")
    if not query:
        return url
    pieces = query.split("&")
    changed = change(pieces)
    if changed == pieces:
        return url
    rest = "&".join(changed)
    return f"{head}?{rest}" if rest else head


def _host_instead_of_ip(ip_hosts: Mapping[str, str]) -> _Rewrite:
    hosts = {_canonical_host(f"[{ip}]" if ":" in ip and ip[0] != "[" else ip): host for ip, host in ip_hosts.items()}
    names = {ip: _canonical_host(host) for ip, host in hosts.items()}
    for ip, name in names.items():
        if not _ADDRESS.fullmatch(ip) or _ADDRESS.fullmatch(name):
            raise SpecError(f"ip-to-host needs an address and the name of a host, not {ip!r} and {name!r}")

    def rewrite(url: str) -> str:
        ip = host_of(url)
        name = names.get(ip)
        if name is None:
            return url
        start = url.rindex(ip, 0, path_start(url))
        return f"{url[:start]}{name}{url[start + len(ip) :]}"

    return rewrite


def _canonical_host(text: str) -> str:
    url = parse(f"http://{text}/")
    host = host_of(url) if url else ""
    if url != f"http://{host}/":
        raise SpecError(f"{text!r} is no host")
    return host


_REWRITES: dict[str, _Rewrite] = {
    "percent-case": _percent_case,
    "percent-decode": _percent_decode,
    "session-ids": _without_session_ids,
    "double-slashes": _single_slashes,
    "slash-add": _slash_added,
    "slash-remove": _slash_removed,
    "drop-query": _without_query,
    "tracking-parameters": _without_tracking,
    "empty-parameters": _without_empty_parameters,
    "sort-query": _query_sorted,
    "empty-query": _without_empty_query,
}

_TRIGGERS = {
    "percent-case": "%",
    "percent-decode": "%",
    "drop-query": "?",
    "tracking-parameters": "?",
    "empty-parameters": "?",
    "sort-query": "?",
    "empty-query": "?",
}
"""The character without which a rule changes nothing: for the default rules a key costs one look for "%"."""

_NEVER = "\n"  # in no serialised URL
