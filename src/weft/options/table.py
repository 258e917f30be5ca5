"""The option table: one row per option of a crawl, from which everything that knows options is made.

The flag is ``--NAME``, the key in TOML is ``NAME``, and ``path`` is the field of ``CrawlSpec`` (or of ``Run``, for
what belongs to one run and not to the crawl). The command line, the TOML reader and writer, the reference page and
the comparison on resume all come from here, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.errors import SpecError
from weft.options import checks
from weft.options.option import Option
from weft.options.values import (
    Context,
    Kind,
    Value,
    as_list,
    choice,
    file,
    one_line,
    optional,
    parts_of,
    several,
    several_headers,
    size,
    switch,
    text,
    time,
    whole,
    word,
)
from weft.records import LinkKind
from weft.spec import Traps

PRESETS: dict[str, dict[str, Value]] = {
    # R8, R9, R11, R12: pages by <a> only; a redirect leads to the page that takes its place.
    "graph": {"html-only": True, "same-scheme": True, "follow": ("a", "redirect"), "sitemaps": "no"},
    "email": {"drop-query": True},  # E20
}
"""What ``--mode`` sets. Options given beside it win."""

SCOPE, LIMITS, PACE, IDENTITY = "Scope", "Limits", "Pace", "Identity"
NETWORK, URLS, TRAPS, STORE, RUN = "Network", "URLs", "Traps", "Store", "Run"

GROUPS = {
    SCOPE: "which URLs belong to the crawl",
    LIMITS: "where the crawl, and one request, end",
    PACE: "how gently sites are asked",
    IDENTITY: "who we say we are",
    NETWORK: "how the web is reached",
    URLS: "which URLs are the same page",
    TRAPS: "budgets against endless sites; 0 switches a rule off",
    STORE: "what is kept",
    RUN: "this run",
}


def link_kinds() -> Sequence[str]:
    """The kinds of links that can be followed: forms are never sent."""
    return [kind.label for kind in LinkKind if kind is not LinkKind.FORM]


def normalizing() -> Kind:
    """The rules of ``--normalize``, in the form that ``weft.url`` has them; + and - change what holds below."""

    def read(raw: object, context: Context) -> Value:
        from weft import url

        wanted = [token for part in parts_of(raw) for token in one_line(part).lower().replace(",", " ").split()]
        if not wanted:
            return context.below
        if all(token[0] in "+-" for token in wanted) and isinstance(context.below, tuple):
            slash = any(token.startswith("+slash-") for token in wanted)  # one of these takes the other's place
            wanted = [rule for rule in context.below if not (slash and rule.startswith("slash-"))] + wanted
        try:
            return url.parse_rules(",".join(wanted))
        except SpecError as error:
            raise ValueError(str(error)) from None

    accepts = "rules with commas between: a full list, or + and - before each to add and take away; default, none, all"
    return Kind(accepts, "RULES", read, as_list, many=True)


def _scope() -> list[Option]:
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
            "leave links alone whose scheme is not the linking page's",
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


def _limits() -> list[Option]:
    return [
        Option(
            "max-pages",
            "limits.max_pages",
            optional(whole(1)),
            LIMITS,
            "stop after N stored pages (answered 2xx)",
            "1000",
            may_change=True,
        ),
        Option(
            "max-time",
            "limits.max_time_s",
            optional(time(0.001)),
            LIMITS,
            "stop this run after TIME",
            "2h",
            may_change=True,
        ),
        Option(
            "max-pages-per-site",
            "limits.max_pages_per_site",
            optional(whole(1)),
            LIMITS,
            "at most N pages of each site",
            "500",
            may_change=True,
        ),
        Option(
            "max-time-per-site",
            "limits.max_time_per_site_s",
            optional(time(0.001)),
            LIMITS,
            "at most TIME on each site",
            "1h",
            may_change=True,
        ),
        Option(
            "timeout",
            "limits.timeout_s",
            time(0.001, 86_400),
            LIMITS,
            "a whole request, connecting included",
            "30s",
            may_change=True,
        ),
        Option(
            "connect-timeout",
            "limits.connect_timeout_s",
            time(0.001, 3_600),
            LIMITS,
            "connecting alone",
            "10s",
            may_change=True,
        ),
        Option(
            "max-size",
            "limits.max_size_b",
            size(),
            LIMITS,
            "keep at most this much of an answer",
            "10M",
            may_change=True,
        ),
        Option(
            "retries",
            "limits.retries",
            whole(0, 100),
            LIMITS,
            "try again N times after a passing failure",
            "2",
            may_change=True,
        ),
        Option(
            "max-redirects",
            "limits.max_redirects",
            whole(0, 100),
            LIMITS,
            "walk at most N redirects in a row",
            "10",
            may_change=True,
        ),
        Option(
            "max-links-per-page",
            "limits.max_links_per_page",
            whole(1),
            LIMITS,
            "keep the first N links of a page",
            "20000",
            may_change=True,
        ),
        Option("max-url", "limits.max_url_b", size(64, 1_000_000), LIMITS, "refuse longer URLs (URL_TOO_LONG)", "8192"),
        Option(
            "max-bugs",
            "limits.max_bugs",
            whole(0),
            LIMITS,
            "stop when weft itself failed on more than N pages",
            "20",
            may_change=True,
        ),
        Option(
            "max-memory",
            "limits.max_memory_b",
            size(64_000_000),
            LIMITS,
            "stay below this much memory",
            "1G",
            may_change=True,
        ),
        Option(
            "max-rate",
            "limits.max_rate_b",
            optional(size(1_000)),
            LIMITS,
            "bytes per second, all requests together",
            "5M",
            may_change=True,
        ),
        Option(
            "grace",
            "limits.grace_s",
            time(0, 3_600),
            LIMITS,
            "let running requests finish this long when stopped",
            "5s",
            may_change=True,
        ),
        Option(
            "wait", "limits.wait", switch(), LIMITS, "wait for more URLs (weft add) instead of ending", may_change=True
        ),
    ]


def _pace() -> list[Option]:
    return [
        Option(
            "workers",
            "politeness.workers",
            whole(1, 10_000),
            PACE,
            "N requests at once, all sites together",
            "64",
            may_change=True,
        ),
        Option(
            "delay",
            "politeness.delay_s",
            time(0, 86_400),
            PACE,
            "between two requests to a site, start to start",
            "0.5s",
            may_change=True,
        ),
        Option(
            "per-host",
            "politeness.per_host",
            whole(1, 10_000),
            PACE,
            "N requests at once to a site",
            "1",
            may_change=True,
        ),
        Option(
            "per-ip",
            "politeness.per_ip",
            optional(whole(1, 10_000), "auto"),
            PACE,
            "N requests at once to an address; auto: 16 to public ones, no bound for private ones",
            "16",
            may_change=True,
        ),
        Option(
            "ip-delay",
            "politeness.ip_delay_s",
            time(0, 86_400),
            PACE,
            "between two requests to an address",
            "0.1s",
            may_change=True,
        ),
        Option(
            "max-crawl-delay",
            "politeness.max_crawl_delay_s",
            time(0, 30 * 86_400),
            PACE,
            "obey Crawl-delay of robots.txt up to TIME",
            "30s",
            may_change=True,
        ),
        Option(
            "max-wait",
            "politeness.max_wait_s",
            time(0),
            PACE,
            "end (exit 3) when no site may be asked for longer than TIME",
            "60s",
            may_change=True,
        ),
        Option(
            "ignore-robots",
            "politeness.ignore_robots",
            switch(),
            PACE,
            "do not ask robots.txt: for your own servers only",
        ),
    ]


def _identity() -> list[Option]:
    return [
        Option(
            "user-agent",
            "identity.user_agent",
            text("TEXT"),
            IDENTITY,
            "the User-Agent header; empty: weft's own. Its first word is looked for in robots.txt",
            "'mybot/1.0'",
            may_change=True,
        ),
        Option(
            "contact",
            "identity.contact",
            text("WHO"),
            IDENTITY,
            "who runs this crawl: an address or a page that sites can turn to",
            "crawl@example.org",
            may_change=True,
        ),
        Option(
            "header",
            "identity.headers",
            several_headers(),
            IDENTITY,
            "one more header in every request; may be given many times",
            "'Accept-Language: sl'",
            may_change=True,
        ),
    ]


def _network() -> list[Option]:
    return [
        Option(
            "proxy",
            "network.proxy",
            optional(text("URL", checks.proxy, "the URL of a proxy")),
            NETWORK,
            "through this proxy (http, https, socks4, socks4a, socks5, socks5h)",
            "@proxy.txt",
            may_change=True,
            secret=True,
        ),
        Option(
            "auth",
            "network.auth",
            several("USER:PASSWORD@HOST", checks.credentials, "USER:PASSWORD@HOST"),
            NETWORK,
            "credentials for one host; may be given many times",
            "@passwords.txt",
            may_change=True,
            secret=True,
        ),
        Option(
            "cookies",
            "network.cookies",
            file(),
            NETWORK,
            "begin with the cookies of a Netscape cookie file",
            "cookies.txt",
            may_change=True,
        ),
        Option(
            "no-cookies",
            "network.keep_cookies",
            switch(means=False),
            NETWORK,
            "keep and send no cookies",
            may_change=True,
        ),
        Option(
            "ca",
            "network.ca",
            file(),
            NETWORK,
            "trust the certificates of this PEM file instead of the usual ones",
            "ca.pem",
            may_change=True,
        ),
        Option(
            "cert",
            "network.cert",
            file(),
            NETWORK,
            "a client certificate with its key (PEM)",
            "me.pem",
            may_change=True,
        ),
        Option(
            "insecure",
            "network.insecure",
            several("HOST", checks.host_with_port, "a host, or host:port"),
            NETWORK,
            "do not verify the certificate of HOST; may be given many times",
            "old.example.org",
            may_change=True,
        ),
        Option(
            "allow-net",
            "network.allow_net",
            several("CIDR", checks.network, "a network such as 10.0.0.0/8"),
            NETWORK,
            "a private network that may be connected to; may be given many times",
            "10.0.0.0/8",
            may_change=True,
        ),
        Option(
            "resolve",
            "network.resolve",
            several("HOST=ADDRESS", checks.resolution, "HOST=ADDRESS"),
            NETWORK,
            "HOST is at ADDRESS, without asking DNS; *.test=127.0.0.1 for all below; may be given many times",
            "example.test=127.0.0.1",
            may_change=True,
        ),
        Option(
            "nameserver",
            "network.nameserver",
            several("ADDRESS", checks.nameserver, "the address of a name server"),
            NETWORK,
            "ask this name server instead of the system's; may be given many times",
            "192.0.2.53",
            may_change=True,
        ),
        Option("no-http2", "network.http2", switch(means=False), NETWORK, "HTTP/1.1 only", may_change=True),
    ]


def _urls() -> list[Option]:
    return [
        Option(
            "normalize",
            "urls.normalize",
            normalizing(),
            URLS,
            "rules by which two URLs are one page: a full list, or changes with + and -",
            "+sort-query",
        ),
        Option("drop-query", "urls.drop_query", switch(), URLS, "leave out the query of every link"),
    ]


def _traps() -> list[Option]:
    """A row per field of ``Traps``; the text is the field's own description."""
    names = {"query_b": "trap-query-size"}
    options = []
    for field in msgspec.structs.fields(Traps):
        meta = next((m for m in getattr(field.type, "__metadata__", ()) if isinstance(m, msgspec.Meta)), msgspec.Meta())
        kind = size(0) if field.name.endswith("_b") else whole(0)
        name = names.get(field.name, f"trap-{field.name.replace('_', '-')}")
        summary = meta.description or f"the budget {field.name}"
        options.append(Option(name, f"traps.{field.name}", kind, TRAPS, summary, str(field.default)))
    return options


def _store() -> list[Option]:
    return [
        Option(
            "no-archive", "keep.archive", switch(means=False), STORE, "keep the data only, no answers in WARC files"
        ),
        Option(
            "warc-size",
            "keep.warc_file_b",
            size(1_000),
            STORE,
            "begin a new WARC file past this size",
            "1G",
            may_change=True,
        ),
    ]


def _run() -> list[Option]:
    return [
        Option(
            "output",
            "run.output",
            text("DIR", accepts="the name of a folder"),
            RUN,
            "the crawl's folder (default: the first seed's host)",
            "example",
            short="-o",
        ),
        Option("fresh", "run.fresh", switch(), RUN, "set an older crawl of that folder aside and start anew"),
        Option("quiet", "run.quiet", switch(), RUN, "show errors only", may_change=True),
        Option(
            "log",
            "run.log",
            word("files", "screen"),
            RUN,
            "screen: show the logs' lines too",
            "screen",
            may_change=True,
        ),
    ]


OPTIONS: tuple[Option, ...] = (
    *_scope(),
    *_limits(),
    *_pace(),
    *_identity(),
    *_network(),
    *_urls(),
    *_traps(),
    *_store(),
    *_run(),
)
BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}
