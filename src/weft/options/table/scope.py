"""Options: which URLs belong to the crawl."""

from __future__ import annotations

from collections.abc import Sequence

from weft.options import checks
from weft.options.option import Option
from weft.options.table.groups import SCOPE
from weft.options.table.presets import PRESETS
from weft.options.values import choice, optional, several, switch, text, whole, word
from weft.records import LinkKind


def link_kinds() -> Sequence[str]:
    """The kinds of links that can be followed: forms are never sent."""
    return [kind.label for kind in LinkKind if kind is not LinkKind.FORM]


def scope_options() -> list[Option]:
    return [
        Option(
            "mode",
            "mode",
            optional(word(*PRESETS)),
            SCOPE,
            "a preset: graph (HTML pages by <a> links, no sitemaps), email (queries dropped)",
            "graph",
        ),
        Option(
            "scope",
            "scope.scope",
            text("WHERE", checks.scope, "host, domain, seed-domain, path, free or suffix:NAME"),
            SCOPE,
            "host: the seeds' hosts; domain: their registrable domains; seed-domain: the seeds' hosts, each "
            "collapsed into one that is its parent; path: below the seeds' directories; free; suffix:NAME: all "
            "hosts under NAME",
            "domain",
        ),
        Option(
            "accept",
            "scope.accept",
            several("RE", checks.regular_expression, "a regular expression (RE2)"),
            SCOPE,
            "only URLs in which RE is found (RE2; seeds always pass); may be given many times",
            "'/docs/'",
        ),
        Option(
            "reject",
            "scope.reject",
            several("RE", checks.regular_expression, "a regular expression (RE2)"),
            SCOPE,
            "no URLs in which RE is found; wins over --accept; may be given many times",
            "'[.]php$'",
        ),
        Option(
            "match",
            "scope.match",
            word("url", "name"),
            SCOPE,
            "where --accept and --reject look; name: in the name of the file, the last part of the path. Folders pass "
            "then, and what passes is asked whatever its ending",
            "name",
        ),
        Option(
            "exact-scope",
            "scope.exact",
            switch(),
            SCOPE,
            "the scope is what the seeds name: hosts that they redirect to do not belong to it",
        ),
        Option(
            "max-depth",
            "scope.max_depth",
            optional(whole(0)),
            SCOPE,
            "at most N links away from a seed; 0 fetches the seeds alone",
            "3",
            may_change=True,
        ),
        Option(
            "min-depth",
            "scope.min_depth",
            whole(0),
            SCOPE,
            "take only pages at least N links away from a seed",
            "1",
            may_change=True,
        ),
        Option(
            "follow",
            "scope.follow",
            choice("KINDS", link_kinds, "kinds of links"),
            SCOPE,
            "kinds of links to follow: a full list, or changes such as +link,+canonical,-iframe",
            "+link,+canonical",
        ),
        Option("follow-nofollow", "scope.follow_nofollow", switch(), SCOPE, "follow links marked nofollow too"),
        Option(
            "same-scheme",
            "scope.same_scheme",
            switch(),
            SCOPE,
            "leave links alone whose scheme (http, https) is not that of their site",
        ),
        Option(
            "same-site",
            "scope.same_site",
            switch(),
            SCOPE,
            "of several seeds' sites, crawl each by its own links: a link from another one neither brings a page in "
            "nor makes it nearer",
        ),
        Option("html-only", "scope.html_only", switch(), SCOPE, "ask only for what may be an HTML page"),
        Option(
            "sitemaps",
            "scope.sitemaps",
            word("yes", "no", "only"),
            SCOPE,
            "read sitemaps; only: follow nothing else",
            "no",
        ),
        Option(
            "order", "politeness.order", word("bfs", "dfs"), SCOPE, "which page next: breadth or depth first", "dfs"
        ),
    ]
