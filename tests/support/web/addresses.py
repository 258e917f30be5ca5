"""Pages full of addresses that trap a parser of URLs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from web.kinds import ANSWER, add_kind
from web.redirects import PRIVATE_PLACES
from web.server import HTML, Site

# --- urls: a page full of addresses


def _addresses(
    kind: str, why: str, hrefs: Sequence[str], asks: tuple[str, ...] = ("-leaf",), never: tuple[str, ...] = ()
) -> None:
    """A page that holds addresses; {path}, {site}, {authority} and {target} are filled in, and -leaf is a good page."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        for suffix in asks:
            site.page((path + suffix).split("#")[0], host=host)
        own = site.at("", host)
        names = {
            "path": path,
            "site": own,
            "authority": own.partition("//")[2],
            "target": target or "http://elsewhere.test",
            "last": path.rpartition("/")[2],
        }
        links = [_fill(href, names) for href in hrefs]
        body = "".join(f'<p><a href="{link}">link</a></p>' for link in links)
        content = (
            f"<!doctype html><html><head><meta charset=utf-8><title>{path}</title></head><body>{body}</body></html>"
        )
        site.file(path, content.encode("utf-8", "surrogatepass"), HTML, host=host)

    add_kind(kind, install, "urls", (ANSWER,), why, status=200, asks=asks, never=never)


def _fill(href: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        href = href.replace("{" + name + "}", value)
    return href.replace("&", "&amp;").replace('"', "&quot;")


_addresses(
    "urls_line_ends",
    "CR, LF and tab inside are dropped, as browsers do, and never sent",
    ["{path}-le\naf", "{path}-l\r\neaf", "\t{path}-leaf\n", "{path}-leaf\r\n\r\nX-Injected: 1"],
)
_addresses(
    "urls_escaped_line_ends",
    "escaped line ends stay escaped",
    ["{path}-leaf?a=%0d%0aX-Injected:%201"],
    asks=("-leaf?a=%0d%0aX-Injected:%201",),
)
_addresses("urls_nul", "NUL in an address", ["{path}-leaf\0x", "{path}-leaf%00", "http://a\0b.test/", "{path}-leaf"])
_addresses(
    "urls_schemes",
    "other schemes are recorded and not opened",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:void 0",
        "java\nscript:alert(1)",
        "mailto:a@b.test",
        "tel:+1",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "data:text/html,<a href=x>",
        "gopher://127.0.0.1/",
        "about:blank",
        "ws://x.test/",
        "blob:x",
        "vbscript:x",
        "intent://x",
        "sms:1",
        "magnet:?x",
        "urn:isbn:1",
        "chrome://x",
        "x:",
        ":",
        "1http://x.test/",
        "{path}-leaf",
    ],
)
_addresses("urls_private", "private addresses, however written", [*PRIVATE_PLACES.values(), "{path}-leaf"])
_addresses(
    "urls_ports",
    "odd ports",
    [
        "http://127.0.0.1:0/",
        "http://127.0.0.1:65536/",
        "http://127.0.0.1:-1/",
        "http://127.0.0.1:22/",
        "http://127.0.0.1:80a/",
        "http://127.0.0.1:/",
        "{path}-leaf",
    ],
)
_addresses(
    "urls_credentials",
    "credentials in addresses are not sent",
    [
        "http://user:word@{authority}{path}-no",
        "http://{authority}@elsewhere.test/",
        "http://a@b@{authority}/",
        "{path}-leaf",
    ],
)
_addresses(
    "urls_dots",
    "dot segments, spelled in every way, are one page",
    [
        "{path}/../{last}-leaf",
        "{path}/./../{last}-leaf",
        "{path}/%2e%2e/{last}-leaf",
        "{path}/.%2E/{last}-leaf",
        "/../../..{path}-leaf",
        "{path}-leaf",
    ],
)
_addresses(
    "urls_backslashes", "backslashes are slashes", ["\\\\{authority}{path}-leaf", "http:\\\\{authority}{path}-leaf"]
)
_addresses(
    "urls_slashes",
    "slashes missing and too many after the scheme",
    ["http:////{authority}{path}-leaf", "http:{authority}{path}-leaf", "http:/{authority}{path}-leaf"],
)
_addresses(
    "urls_fragments", "fragments make no new page", ["{path}-leaf#a", "{path}-leaf#b", "{path}-leaf#", "#top", "#", ""]
)
_addresses("urls_default_port", "another port is another site", ["{path}-leaf", "http://127.0.0.1/x", "//127.0.0.1/y"])
_addresses(
    "urls_unicode",
    "letters outside ASCII are escaped as UTF-8",
    ["{path}-\u00e9", "{path}-%C3%A9", "{path}?q=\u00fc\U0001f600"],
    asks=("-%C3%A9", "?q=%C3%BC%F0%9F%98%80"),
)
_addresses(
    "urls_percent",
    "broken escapes stay as they are",
    ["{path}-leaf?%", "{path}-leaf?%zz", "{path}-leaf?%4", "{path}-leaf?a%2Fb"],
    asks=("-leaf?%", "-leaf?%zz", "-leaf?%4", "-leaf?a%2Fb"),
)
_addresses(
    "urls_long",
    "very long addresses are refused with a reason",
    ["{path}-leaf?" + "x" * 100_000, "/" + "y/" * 50_000, "{path}-leaf"],
)
_addresses(
    "urls_hosts",
    "hosts that are none",
    [
        "http:///x",
        "http://",
        "http://..",
        "http://.test/",
        "http://a..test/",
        "http://-/",
        "http://a b/",
        "http://a%00b/",
        "http://[::1/",
        "http://[zz]/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://xn--/",
        "http://" + "a" * 64 + ".test/",
        "http://" + "a." * 200 + "test/",
        "http://ex%41mple.test/",
        "{path}-leaf",
    ],
)
_addresses("urls_surrogates", "half characters", ["{path}-leaf?\ud800", "{path}-leaf"])
_addresses(
    "urls_shell",
    "what a shell would like",
    ["{path}-leaf?;rm -rf /;`id`$(id)|cat&x", "{path}-leaf?../../../../etc/passwd", "{path}-leaf?C:\\con\\nul"],
    asks=(),
)
