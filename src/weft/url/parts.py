"""The parts of a URL that is already serialised, by slicing: no parsing, a fraction of a microsecond."""

from __future__ import annotations

_HOST_AT = len("https://")  # no slash comes before the path from here on, also behind the shorter "http://"


def scheme_of(url: str) -> str:
    """The scheme without its colon."""
    return url[: max(url.find(":"), 0)]


def site_of(url: str) -> str:
    """``host``, or ``host:port`` where the port is not the scheme's default, of an http or https URL.

    The two schemes are one site on their default ports. IPv6 addresses keep their brackets.
    """
    # The serialised form has no default port, nothing but the scheme before "//", and "/" after the authority.
    start = url.find("//") + 2
    authority = url[start : url.find("/", start)]
    return authority if "@" not in authority else authority[authority.rindex("@") + 1 :]


def origin_of(url: str) -> str:
    """``scheme://host[:port]``, without credentials."""
    return f"{scheme_of(url)}://{site_of(url)}"


def host_of(url: str) -> str:
    """The host without its port; IPv6 addresses keep their brackets."""
    return host_of_site(site_of(url))


def host_of_site(site: str) -> str:
    """The host of a site's name (``site_of``), without the port; IPv6 addresses keep their brackets."""
    colon = site.rfind(":")
    return site if colon < 0 or site[-1] == "]" else site[:colon]


def site_and_path_of(url: str) -> tuple[str, str]:
    """Both at once, of an http or https URL without a fragment."""
    start = url.find("//") + 2
    end = url.find("/", start)
    authority = url[start:end]
    return (authority if "@" not in authority else authority[authority.rindex("@") + 1 :]), url[end:]


def origin_and_path_of(url: str) -> tuple[str, str]:
    """``origin_of`` and ``path_of`` at once, of an http or https URL."""
    end = url.find("/", _HOST_AT)
    if end < 0 or url.find("@", 0, end) >= 0 or "#" in url:
        return origin_of(url), path_of(url)
    return url[:end], url[end:]


def request_target_of(url: str) -> str:
    """``path_of``, of an http or https URL."""
    return url[url.find("/", _HOST_AT) :] if "#" not in url else path_of(url)


def path_of(url: str) -> str:
    """The path and, where there is one, ``?query``, of any URL."""
    start = path_start(url)
    end = url.find("#", start)
    return url[start:] if end < 0 else url[start:end]


def path_start(url: str) -> int:
    """The index at which the path begins."""
    scheme_end = url.find(":") + 1
    if not url.startswith("//", scheme_end):
        return scheme_end
    slash = url.find("/", scheme_end + 2)
    return len(url) if slash < 0 else slash
