"""Which URLs belong to a crawl: the scopes of T2, G3 and R12, and the expressions of ``--accept`` and ``--reject``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, assert_never

from weft import spec
from weft.errors import SpecError
from weft.spec import ScopeKind
from weft.url import domain_of, host_of, is_public_suffix, parse, path_of, site_of


class ScopeRule(Protocol):
    """Tells whether a URL lies in the crawl. Grows by seeds and by sites that seeds redirect to, and never shrinks."""

    by_site: bool
    """Whether the answer is the same for all URLs of an origin, so that it may be remembered."""

    def covers(self, url: str) -> bool: ...

    def add_seed(self, url: str) -> None: ...

    def allow_site(self, site: str) -> None:
        """Takes in the site that a seed itself redirects to, where the scope has room for such a thing."""

    def describe(self) -> str:
        """The scope in words, as ``weft why`` shows it."""


def make_scope(scope: spec.Scope, seeds: Sequence[str]) -> ScopeRule:
    """The rule that the specification names, for these start addresses."""
    name, _, rest = scope.scope.partition(":")
    if name not in set(ScopeKind):
        raise _unknown(scope.scope, name)
    kind = ScopeKind(name)
    rule: ScopeRule
    match kind:
        case ScopeKind.HOST:
            rule = _Hosts()
        case ScopeKind.DOMAIN:
            rule = _Domains()
        case ScopeKind.SEED_DOMAIN:
            rule = _SeedDomains()
        case ScopeKind.PATH:
            rule = _Paths()
        case ScopeKind.FREE:
            rule = _Free()
        case ScopeKind.SUFFIX:
            return _Suffix(suffix_of(scope))
        case _:
            assert_never(kind)
    if rest:
        raise SpecError(f"scope {scope.scope!r}: only suffix:NAME takes a name")
    for url in seeds:
        rule.add_seed(url)
    return rule


def _unknown(text: str, name: str) -> SpecError:
    from difflib import get_close_matches

    near = get_close_matches(name, list(ScopeKind), 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    names = ", ".join(kind for kind in ScopeKind if kind is not ScopeKind.SUFFIX)
    return SpecError(f"scope {text!r} is not known{hint}: choose {names} or suffix:NAME")


def suffix_of(scope: spec.Scope) -> str:
    """The name of ``suffix:NAME`` as hosts are written, without its leading dot; "" for the other scopes."""
    name, _, text = scope.scope.partition(":")
    if name != ScopeKind.SUFFIX:
        return ""
    bare = text.strip().strip(".")
    url = parse(f"http://{bare}/") if bare else None
    host = host_of(url) if url else ""
    if not host or ":" in bare or url != f"http://{host}/" or host[-1:] in "]0123456789":
        raise SpecError(f"scope {scope.scope!r}: {text!r} is no domain suffix; write suffix:gov.si")
    return host


class _Hosts:
    """The union of the seeds' sites; http and https are one site."""

    by_site = True

    def __init__(self) -> None:
        self._sites: dict[str, None] = {}

    def covers(self, url: str) -> bool:
        return site_of(url) in self._sites

    def add_seed(self, url: str) -> None:
        self._sites[site_of(url)] = None

    def allow_site(self, site: str) -> None:
        self._sites[site] = None

    def describe(self) -> str:
        return f"host: {', '.join(self._sites)}"


class _Domains:
    """Every host of the seeds' registrable domains, on any port."""

    by_site = True

    def __init__(self) -> None:
        self._domains: dict[str, None] = {}

    def covers(self, url: str) -> bool:
        return domain_of(host_of(url)) in self._domains

    def add_seed(self, url: str) -> None:
        self._domains[domain_of(host_of(url))] = None

    def allow_site(self, site: str) -> None:
        self.add_seed(f"http://{site}/")

    def describe(self) -> str:
        return f"domain: {', '.join(self._domains)}"


class _SeedDomains:
    """T2's domain scope: the seeds' hosts, each collapsed into another one that is its parent domain.

    A host that is a public suffix stands for itself alone: nothing is collapsed into it, nothing below it belongs.
    """

    by_site = True

    def __init__(self) -> None:
        self._hosts: set[str] = set()

    def covers(self, url: str) -> bool:
        host = host_of(url)
        return host in self._hosts or self._parent(host) is not None

    def _parent(self, host: str) -> str | None:
        """The nearest seed's host of which this one is a subdomain."""
        _, dot, parent = host.partition(".")
        while dot:
            if parent in self._hosts and not is_public_suffix(parent):
                return parent
            _, dot, parent = parent.partition(".")
        return None

    def add_seed(self, url: str) -> None:
        self._hosts.add(host_of(url))

    def allow_site(self, site: str) -> None:
        """Leaves it alone: T2 says exactly which hosts these are."""

    def describe(self) -> str:
        return f"seed-domain: {', '.join(sorted(host for host in self._hosts if self._parent(host) is None))}"


class _Paths:
    """Below each seed's folder; a seed at depth 1 (``/index.html``) stands for its whole host."""

    by_site = False

    def __init__(self) -> None:
        self._folders: dict[str, tuple[str, ...]] = {}

    def covers(self, url: str) -> bool:
        folders = self._folders.get(site_of(url))
        return folders is not None and path_of(url).startswith(folders)

    def add_seed(self, url: str) -> None:
        path = path_of(url).partition("?")[0]
        self._add(site_of(url), (path[: path.rfind("/") + 1],))

    def allow_site(self, site: str) -> None:
        """The same folders on the other site: ``example.org/docs/`` that moved to ``www.example.org/docs/``."""
        if site not in self._folders:
            self._add(site, tuple({folder for folders in self._folders.values() for folder in folders}))

    def _add(self, site: str, folders: tuple[str, ...]) -> None:
        self._folders[site] = tuple(sorted({*self._folders.get(site, ()), *folders}))

    def describe(self) -> str:
        return f"path: {', '.join(site + folder for site, folders in self._folders.items() for folder in folders)}"


class _Free:
    by_site = True

    def covers(self, url: str) -> bool:
        return True

    def add_seed(self, url: str) -> None: ...

    def allow_site(self, site: str) -> None: ...

    def describe(self) -> str:
        return "free"


class _Suffix:
    """The hosts that end in a domain suffix (G3), each a site of its own."""

    by_site = True

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._ending = f".{suffix}"

    def covers(self, url: str) -> bool:
        host = host_of(url)
        return host == self._suffix or host.endswith(self._ending)

    def add_seed(self, url: str) -> None:
        """Leaves it alone: a seed outside the suffix is asked, and nothing beside it."""

    def allow_site(self, site: str) -> None: ...

    def describe(self) -> str:
        return f"suffix:{self._suffix}"


class Patterns:
    """Regular expressions of the user, searched in URLs in linear time (RE2)."""

    def __init__(self, option: str, expressions: Sequence[str]) -> None:
        self._compiled: list[tuple[str, Any]] = []
        if not expressions:
            return
        import re2

        options = re2.Options()
        options.log_errors = False
        for expression in expressions:
            try:
                self._compiled.append((expression, re2.compile(expression, options)))
            except re2.error as error:
                raise SpecError(f"--{option} {expression!r}: {_message(error)}") from error

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def found_in(self, url: str) -> str | None:
        """The first expression that is found in the URL, or None."""
        for expression, compiled in self._compiled:
            if compiled.search(url):
                return expression
        return None


def _message(error: Exception) -> str:
    text = error.args[0] if error.args else "no regular expression"
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
