"""The whole specification of a crawl: small frozen values, with every default and every word about it.

A field with ``About`` is an option. The command line, crawl.toml, the Python API and docs/options.md are all made from
the fields (``weft.options``): a new field here, and the tests say what is still to be written. Annotations are no
texts in this module, so that nothing has to compile them when the options are read: 2 ms of every start.
"""

from enum import StrEnum
from typing import Annotated

import msgspec

ON_SCREEN = "screen"
"""Stands for the screen in the place of a log's file."""

RESULT_IN_FOLDER = "auto"
"""Stands for the folder ``result`` in the crawl's own folder."""

NO_BOUND = -1
"""Stands in a site's own settings for: no bound, whatever holds for the others."""

MAX_SITEMAP_B = 52_428_800
"""The bound of a sitemap by its protocol, unpacked: it holds whatever the bound of pages is."""

FOLLOWED_KINDS = ("a", "area", "frame", "iframe", "refresh", "onclick", "redirect", "sitemap")

DAY_S = 86_400


# ---- the words that options are described with


class About(msgspec.Struct, frozen=True):
    """The description of one option, written on its field. Everything that is left out is taken from the field.

    The sort of value comes from the field's type and unit: ``int`` is a size where the name ends in ``_b``, else a
    whole number; ``float`` is a time where the name ends in ``_s``, else a share; ``bool`` is a switch; an enum is one
    of its words. Texts and lists have a type with a ``Reader``.
    """

    help: str
    example: str = ""  # empty: the default
    name: str = ""  # empty: the field's, without its unit
    group: str = ""  # empty: that of the section in which the field stands
    low: float | None = None
    high: float | None = None
    none: str = "none"  # the word for None
    usual: bool = False  # shown by `--help`; the others by `--help all`
    may_change: bool | None = None  # on resume; None: as the group says
    secret: bool = False
    short: str = ""


class Reader(msgspec.Struct, frozen=True):
    """How a text or a list is read: the name of an entry of ``weft.options.kinds.READERS``."""

    name: str


class Group(msgspec.Struct, frozen=True):
    """The description of a group of options, written on the section that holds them."""

    name: str
    title: str
    may_change: bool  # on resume
    prefix: str = ""  # of the names of its options


# ---- sorts of texts and lists


ScopeName = Annotated[str, Reader("scope")]
CertificateWithKey = Annotated[str | None, Reader("certificate with key")]
Certificates = Annotated[str | None, Reader("certificates")]
FileName = Annotated[str | None, Reader("file name")]
FolderName = Annotated[str | None, Reader("folder")]
LogFile = Annotated[str | None, Reader("log")]
ProxyUrl = Annotated[str | None, Reader("proxy")]
ResultFolder = Annotated[str | None, Reader("result")]
Text = Annotated[str | None, Reader("text")]
TextFile = Annotated[str | None, Reader("text file")]
Who = Annotated[str | None, Reader("who")]
ActionLog = Annotated[str | None, Reader("log or screen")]
Addresses = Annotated[tuple[str, ...], Reader("addresses")]
Credentials = Annotated[tuple[str, ...], Reader("credentials")]
Expressions = Annotated[tuple[str, ...], Reader("expressions")]
FileExtensions = Annotated[tuple[str, ...], Reader("extensions")]
Headers = Annotated[tuple[str, ...], Reader("headers")]
Hosts = Annotated[tuple[str, ...], Reader("hosts")]
Kinds = Annotated[tuple[str, ...], Reader("contacts")]
LinkKinds = Annotated[tuple[str, ...], Reader("links")]
NameServers = Annotated[tuple[str, ...], Reader("name servers")]
NamedExpressions = Annotated[tuple[str, ...], Reader("named expressions")]
NamedPaths = Annotated[tuple[str, ...], Reader("named paths")]
NamedSelectors = Annotated[tuple[str, ...], Reader("named selectors")]
Networks = Annotated[tuple[str, ...], Reader("networks")]
BlockedTypes = Annotated[tuple[str, ...], Reader("blocked types")]
Viewport = Annotated[str, Reader("viewport")]
WaitFor = Annotated[str | None, Reader("wait for")]
PartNames = Annotated[tuple[str, ...], Reader("parts")]
Region = Annotated[str | None, Reader("region")]
Texts = Annotated[tuple[str, ...], Reader("texts")]
UrlRules = Annotated[tuple[str, ...], Reader("rules")]


# ---- words with a fixed set of values


class Mode(StrEnum):
    """A preset (``weft.options.presets``)."""

    GRAPH = "graph"
    EMAIL = "email"


class ScopeKind(StrEnum):
    """The first word of ``--scope``; a name follows ``suffix:`` only."""

    HOST = "host"
    DOMAIN = "domain"
    SEED_DOMAIN = "seed-domain"
    PATH = "path"
    FREE = "free"
    SUFFIX = "suffix"


class Match(StrEnum):
    """Where ``--accept`` and ``--reject`` look."""

    URL = "url"
    NAME = "name"  # of the file: the last part of the path (T1)


class Sitemaps(StrEnum):
    """Whether sitemaps are read."""

    YES = "yes"
    NO = "no"
    ONLY = "only"


class PageOrder(StrEnum):
    """Which page comes next."""

    BFS = "bfs"
    DFS = "dfs"
    PATH_COST = "path-cost"
    IN_LINKS = "in-links"
    OPIC = "opic"
    PAGERANK = "pagerank"
    LARGE_SITES_FIRST = "large-sites-first"
    RANDOM = "random"
    WEFT = "weft"


class Pace(StrEnum):
    """How long a site is left alone."""

    FIXED = "fixed"
    AUTO = "auto"


class MinHash(StrEnum):
    """How texts are sketched."""

    FAST = "fast"
    CLASSIC = "classic"


class Similarity(StrEnum):
    """How alike two texts are."""

    JACCARD = "jaccard"  # of all shingles
    SIGNATURE = "signature"  # G7's, of the 250 numbers of classic


class Skip(StrEnum):
    """The duplicates whose links are not followed."""

    NO = "no"
    EXACT = "exact"
    NEAR = "near"


class Embeds(StrEnum):
    """The hosts from which the files are asked that a page shows."""

    ANY = "any"
    SCOPE = "scope"


class RenderMode(StrEnum):
    """Which pages are rendered by a browser."""

    NO = "no"
    AUTO = "auto"
    ALWAYS = "always"


class YesNo(StrEnum):
    """Whether something holds, where the usual answer is yes."""

    YES = "yes"
    NO = "no"


class ShownLogs(StrEnum):
    """The logs whose lines are shown on the screen, too."""

    FILES = "files"  # none of them
    SCREEN = "screen"  # both
    COMMON = "common"
    ERROR = "error"


# ---- the sections


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs belong to the crawl."""

    scope: Annotated[
        ScopeName,
        About(
            "host: the seeds' hosts; domain: their registrable domains; seed-domain: the seeds' hosts, each collapsed "
            "into one that is its parent; path: below the seeds' directories; free; suffix:NAME: all hosts under NAME",
            "domain",
            usual=True,
        ),
    ] = "host"
    accept: Annotated[
        Expressions, About("only URLs in which RE is found (RE2; seeds always pass)", "'/docs/'", usual=True)
    ] = ()
    reject: Annotated[
        Expressions, About("no URLs in which RE is found; wins over --accept", "'[.]php$'", usual=True)
    ] = ()
    match: Annotated[  # T1
        Match,
        About(
            "where --accept and --reject look; name: in the name of the file, the last part of the path. Folders pass "
            "then, and what passes is asked whatever its ending",
            "name",
        ),
    ] = Match.URL
    exact: Annotated[  # T2
        bool,
        About("the scope is what the seeds name: hosts that they redirect to do not belong to it", name="exact-scope"),
    ] = False
    max_depth: Annotated[
        int | None,
        About("at most N links away from a seed; 0 fetches the seeds alone", "3", usual=True, may_change=True),
    ] = None
    min_depth: Annotated[int, About("take only pages at least N links away from a seed", "1", may_change=True)] = 0
    follow: Annotated[
        LinkKinds,
        About("kinds of links to follow: a full list, or changes such as +link,+canonical,-iframe", "+link,+canonical"),
    ] = FOLLOWED_KINDS
    follow_nofollow: Annotated[bool, About("follow links marked nofollow too")] = False
    same_scheme: Annotated[  # R12
        bool, About("leave links alone whose scheme (http, https) is not that of their site")
    ] = False
    same_site: Annotated[  # R2
        bool,
        About(
            "of several seeds' sites, crawl each by its own links: a link from another one neither brings a page in "
            "nor makes it nearer"
        ),
    ] = False
    html_only: Annotated[bool, About("ask only for what may be an HTML page")] = False  # R8
    sitemaps: Annotated[Sitemaps, About("read sitemaps; only: follow nothing else", "no", usual=True)] = Sitemaps.YES

    @property
    def followed(self) -> tuple[str, ...]:
        """The kinds of links that bring their targets in."""
        return ("redirect", "sitemap") if self.sitemaps is Sitemaps.ONLY else self.follow


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Where the crawl, and one request, end."""

    max_pages: Annotated[int | None, About("stop after N stored pages (answered 2xx)", "1000", low=1, usual=True)] = (
        None
    )
    max_time_s: Annotated[float | None, About("stop this run after TIME", "2h", low=0.001, usual=True)] = None
    max_pages_per_site: Annotated[int | None, About("at most N pages of each site", "500", low=1)] = None
    max_time_per_site_s: Annotated[float | None, About("at most TIME on each site", "1h", low=0.001)] = None
    goal: Annotated[
        Text,
        About("look for pages for which it is true, over url, title, depth, status, type", "\"title like '%job%'\""),
    ] = None
    goals: Annotated[int | None, About("stop when N pages for which --goal is true were fetched", "10", low=1)] = None
    timeout_s: Annotated[float, About("a whole request, connecting included", low=0.001, high=DAY_S)] = 30.0
    connect_timeout_s: Annotated[float, About("connecting alone", low=0.001, high=3_600)] = 10.0
    max_size_b: Annotated[
        int, About("keep at most this much of an answer; robots.txt is read up to 500 KiB", low=1)
    ] = 10_000_000
    retries: Annotated[int, About("try again N times after a passing failure", high=100)] = 2
    max_redirects: Annotated[int, About("walk at most N redirects (and refreshes after 0 s) in a row", high=100)] = 10
    max_links_per_page: Annotated[
        int,
        About(
            "keep the first N links of a page, ten times as many where they lead to at most N/2 URLs; those to pages"
            " before images and the like",
            low=1,
        ),
    ] = 20_000
    max_url_b: Annotated[
        int, About("refuse longer URLs (URL_TOO_LONG)", "8192", low=64, high=1_000_000, may_change=False)
    ] = 8_192
    max_bugs: Annotated[int, About("stop when weft itself failed on more than N pages")] = 20
    max_memory_b: Annotated[int, About("stay below this much memory", "1G", low=64_000_000)] = 1 << 30
    max_rate_b: Annotated[int | None, About("bytes per second, all requests together", "5M", low=1_000)] = None
    grace_s: Annotated[float, About("let running requests finish this long when stopped", high=3_600)] = 5.0
    wait: Annotated[bool, About("wait for more URLs (weft add) instead of ending")] = False
    stop_file: Annotated[  # R5
        FileName, About("stop as `weft stop` does when FILE appears, or is touched again after it did", "stop.txt")
    ] = None


class SitePace(msgspec.Struct, frozen=True, kw_only=True):
    """What one site (host and port) has of its own (R1); None: as for all the others."""

    site: str
    per_host: int | None = None
    delay_s: float | None = None
    max_depth: int | None = None  # NO_BOUND: as deep as it goes


SitePaces = Annotated[tuple[SitePace, ...], Reader("sites")]


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How gently sites are asked."""

    workers: Annotated[int, About("N requests at once, all sites together", low=1, high=10_000, usual=True)] = 64
    processes: Annotated[
        int | None,
        About(
            "N processes that ask and read; auto: one, and as many as there are cores once one is busy all the time",
            "2",
            low=1,
            high=256,
            none="auto",
        ),
    ] = None
    delay_s: Annotated[float, About("between two requests to a site, start to start", high=DAY_S, usual=True)] = 0.5
    per_host: Annotated[int, About("N requests at once to a site", low=1, high=10_000, usual=True)] = 1
    sites: Annotated[
        SitePaces,
        About(
            "what one site has of its own: per-host, delay, max-depth",
            "'www.example.org per-host=4 delay=250ms max-depth=3'",
            name="site",
        ),
    ] = ()
    per_ip: Annotated[
        int | None,
        About(
            "N requests at once to an address; auto: 16 to public ones, no bound for private ones",
            "16",
            low=1,
            high=10_000,
            none="auto",
        ),
    ] = None
    ip_delay_s: Annotated[float, About("between two requests to an address", "0.1s", high=DAY_S)] = 0.0
    max_crawl_delay_s: Annotated[float, About("obey Crawl-delay of robots.txt up to TIME", high=30 * DAY_S)] = 30.0
    pace: Annotated[
        Pace,
        About(
            "auto: leave a site alone for as long as it took to answer, and longer after 429 and 503; never faster "
            "than the delay",
            "auto",
        ),
    ] = Pace.FIXED
    max_wait_s: Annotated[float, About("end (exit 3) when no site may be asked for longer than TIME", "60s")] = 60.0
    ignore_robots: Annotated[bool, About("do not ask robots.txt: for your own servers only", may_change=False)] = False
    order: Annotated[
        PageOrder, About("which page next: docs/ordering.md compares the orders", "weft", group="Scope")
    ] = PageOrder.BFS
    ranks: Annotated[
        FileName,
        About(
            "the ranks for --order path-cost: FILE with page<TAB>rank a line, or the folder of an earlier crawl",
            "ranks.tsv",
            group="Scope",
        ),
    ] = None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who we say we are."""

    user_agent: Annotated[
        Text,
        About(
            "the User-Agent header; empty: weft's own. Its first word, and weft, are looked for in robots.txt",
            "'mybot/1.0'",
        ),
    ] = None
    contact: Annotated[
        Who, About("who runs this crawl: an address or a page that sites can turn to", "crawl@example.org", usual=True)
    ] = None
    headers: Annotated[Headers, About("one more header in every request", "'Accept-Language: sl'", name="header")] = ()


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """How the web is reached. ``auth`` and ``proxy`` may be secrets: they are never written to crawl.toml."""

    proxy: Annotated[
        ProxyUrl, About("through this proxy (http, https, socks4, socks4a, socks5, socks5h)", "@proxy.txt", secret=True)
    ] = None
    auth: Annotated[
        Credentials,
        About(
            "credentials for HOST or HOST:PORT; without a port, for its usual ones and those of its seeds",
            "@passwords.txt",
            secret=True,
        ),
    ] = ()
    cookies: Annotated[TextFile, About("begin with the cookies of a Netscape cookie file", "cookies.txt")] = None
    keep_cookies: Annotated[bool, About("keep and send no cookies", name="no-cookies")] = True
    ca: Annotated[
        Certificates, About("trust the certificates of this PEM file instead of the usual ones", "ca.pem")
    ] = None
    cert: Annotated[CertificateWithKey, About("a client certificate with its key (PEM)", "me.pem")] = None
    insecure: Annotated[Hosts, About("do not verify the certificate of HOST", "old.example.org")] = ()
    allow_net: Annotated[Networks, About("a private network that may be connected to", "10.0.0.0/8")] = ()
    resolve: Annotated[
        Addresses,
        About("HOST is at ADDRESS, without asking DNS; *.test=127.0.0.1 for all below", "example.test=127.0.0.1"),
    ] = ()
    nameserver: Annotated[NameServers, About("ask this name server instead of the system's", "192.0.2.53")] = ()
    http2: Annotated[bool, About("HTTP/1.1 only", name="no-http2")] = True


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """How pages are rendered (G1)."""

    render: Annotated[
        RenderMode,
        About(
            "run the scripts of pages in Chromium, and take links and text from what they make: of every page, or "
            "(auto) of those for which it brings something",
            "auto",
            usual=True,
            may_change=False,
        ),
    ] = RenderMode.NO
    program: Annotated[Text, About("the Chromium to start; empty: the system's", "/opt/chromium", name="browser")] = (
        None
    )
    sandbox: Annotated[
        YesNo, About("no: run Chromium without its sandbox, which root has to", "no", name="browser-sandbox")
    ] = YesNo.YES
    render_wait_s: Annotated[
        float, About("read a page after TIME at the latest; sooner where it is quiet", low=0.1, high=600)
    ] = 10.0
    wait_for: Annotated[WaitFor, About("wait for an element, or so many seconds, too", "'#results'")] = None
    page_script: Annotated[
        TextFile, About("run the JavaScript of FILE in each page before it is read", "script.js")
    ] = None
    viewport: Annotated[Viewport, About("the size of the window; mobile: 390x844, as a telephone", "mobile")] = (
        "1280x900"
    )
    scroll: Annotated[int, About("scroll to the end of a page up to N times", "3", high=1_000)] = 0
    click: Annotated[bool, About("click the buttons of a page, up to 50, but for those that send forms")] = False
    third_party: Annotated[YesNo, About("no: what pages load comes from their own domain only", "no")] = YesNo.YES
    block: Annotated[
        BlockedTypes,
        About("what pages do not get: a full list, or changes with + and -", "+stylesheet"),
    ] = ("image", "media", "font")
    tabs: Annotated[int, About("render N pages at once", low=1, high=256)] = 8


class Urls(msgspec.Struct, frozen=True, kw_only=True):
    """How URLs are told apart (R14)."""

    normalize: Annotated[  # names of rules that are on; empty: url.DEFAULT_RULES
        UrlRules, About("rules by which two URLs are one page: a full list, or changes with + and -", "+sort-query")
    ] = ()
    drop_query: Annotated[
        bool, About("URLs that differ only in their query are one page, asked at the first one found")
    ] = False


class Duplicates(msgspec.Struct, frozen=True, kw_only=True):
    """Which pages are the same (E18, R13, G7)."""

    near: Annotated[
        float | None,
        About(
            "pages whose texts are at least this alike are near-duplicates; a sketch of each text is kept",
            "0.99",
            name="near-duplicates",
            none="no",
            may_change=True,
        ),
    ] = None
    minhash: Annotated[
        MinHash,
        About(
            "how texts are sketched: fast (one permutation, 512 bins), classic (250 functions, much slower)", "classic"
        ),
    ] = MinHash.FAST
    similarity: Annotated[
        Similarity,
        About(
            "how alike two texts are: the Jaccard index of their shingles, or of the signatures of --minhash classic",
            "signature",
        ),
    ] = Similarity.JACCARD
    skip: Annotated[
        Skip,
        About(
            "do not follow the links of a page whose body was met before (exact), or whose text nearly was (near)",
            "exact",
            name="skip-duplicates",
        ),
    ] = Skip.NO

    @property
    def sketch(self) -> MinHash:
        """The kind of sketches that are kept: signatures are those of the classic functions."""
        return MinHash.CLASSIC if self.similarity is Similarity.SIGNATURE else self.minhash


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """Budgets against endless sites (E20); 0 switches a rule off."""

    path_repeats: Annotated[
        int, About("the same segments of a path fewer than N times in a row, else PATH_REPEATS")
    ] = 3
    path_segments: Annotated[int, About("at most N segments in a path, else PATH_TOO_DEEP")] = 25
    query_repeats: Annotated[int, About("the same parameter of a query fewer than N times, else QUERY_REPEATS")] = 3
    query_b: Annotated[
        int, About("at most this many bytes of query, else QUERY_TOO_LONG", "1024", name="trap-query-size")
    ] = 1_024
    query_variants: Annotated[
        int, About("at most N mixtures (and 8 for each value) of one path's filters, else QUERY_VARIANTS")
    ] = 500
    slash_aliases: Annotated[
        int, About("at most N further spellings of pages by // in the path per site, else SLASH_ALIASES")
    ] = 20
    spellings: Annotated[
        int, About("at most N further spellings (and 4 for each page) of a site's pages, else SPELLINGS")
    ] = 300
    session_ids: Annotated[int, About("at most N session ids of one page, else SESSION_IDS")] = 3
    calendar_pages: Annotated[
        int, About("at most N steps of a calendar, or N dates that lead to dates only, else CALENDAR")
    ] = 1_000
    chain: Annotated[
        int, About("at most N pages of one shape in a row, each found on the last, else CHAIN_TOO_LONG")
    ] = 500
    endless_site_pages: Annotated[
        int, About("N pages of a site that makes them up without end are enough, else ENDLESS_SITE")
    ] = 3_000
    hosts_per_domain: Annotated[int, About("at most N hosts of one registrable domain, else HOSTS_PER_DOMAIN")] = 500
    duplicates_only: Annotated[
        int,
        About(
            "at most N bodies already seen in a row below one path, 8 of each and one for each page, else "
            "DUPLICATES_ONLY"
        ),
    ] = 200


class Extract(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken from pages, beside their links and facts."""

    text: Annotated[  # E14
        bool, About("keep the main text of each page, as text and Markdown, with its author, date and other facts")
    ] = False
    keywords: Annotated[  # E23
        int, About("keep the N weightiest words of each page; more than 0 keeps the text, too", "10", high=1_000)
    ] = 0

    @property
    def wants_text(self) -> bool:
        """Whether main texts are read."""
        return self.text or self.keywords > 0


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a record, looked for inside of the record's element."""

    name: str
    how: str = "css"  # css, xpath, pattern
    what: str  # the selector or the expression
    type: str = "text"  # text, number, integer, url, html
    required: bool = False  # an element without it is no record
    many: bool = False  # a list of all that is found


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record for every element that a selector finds (``[extract.NAME]``, E24)."""

    name: str
    each: str
    fields: tuple[Field, ...] = ()


Records = Annotated[tuple[Record, ...], Reader("records")]


class Harvest(msgspec.Struct, frozen=True, kw_only=True):
    """The items that are looked for on pages (E24, E25, P6)."""

    kinds: Annotated[
        Kinds,
        About(
            "keep the e-mail addresses, phone numbers and profiles in social networks of every page",
            "email,phone",
            name="extract",
        ),
    ] = ()
    region: Annotated[
        Region, About("the country of phone numbers that do not name theirs (default: told by the page)", "SI")
    ] = None
    patterns: Annotated[
        NamedExpressions,
        About(
            "keep what a regular expression (RE2) finds in the visible text, or with NAME@html in the source; named "
            "groups become columns",
            "'price=€ ?(?P<euros>[0-9.]+)'",
            name="pattern",
        ),
    ] = ()
    selects: Annotated[
        NamedSelectors,
        About(
            "keep what a CSS selector finds, with ::text or ::attr(NAME) where wanted",
            "'headline=h1::text'",
            name="select",
        ),
    ] = ()
    xpaths: Annotated[
        NamedPaths,
        About("keep what an XPath finds", "'author=//meta[@name=\"author\"]/@content'", name="xpath"),
    ] = ()
    finds: Annotated[  # P6
        Texts,
        About(
            "keep every place where a text stands, and show it while the crawl runs; case and blanks do not count",
            "'climate change'",
            name="find",
        ),
    ] = ()
    records: Annotated[
        Records,
        About(
            "keep a record for every element that a selector finds; fields as in a TOML file's [extract.NAME]",
            "'product each=.product title=h2 price=.price'",
            name="record",
        ),
    ] = ()

    @property
    def reads_trees(self) -> bool:
        """Whether the tree of every page is built: the source alone tells contacts only."""
        return bool(self.patterns or self.selects or self.xpaths or self.finds or self.records)

    @property
    def is_wanted(self) -> bool:
        """Whether any items are looked for."""
        return bool(self.kinds) or self.reads_trees


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored."""

    archive: Annotated[
        bool, About("keep the data only, no answers in WARC files", name="no-archive", may_change=False)
    ] = True
    warc_file_b: Annotated[int, About("begin a new WARC file past this size", name="warc-size", low=1_000)] = (
        1_000_000_000
    )
    block_digest: Annotated[bool, About("write WARC-Block-Digest into every WARC record")] = False
    graphs: Annotated[  # R3, R6
        ResultFolder,
        About(
            "whenever a run ends, write the graph of each site into FOLDER, HOST.gexf; auto: into `result` in the "
            "crawl's folder",
            "graphs",
        ),
    ] = None
    graph_duplicates: Annotated[  # R13
        bool, About("keep duplicates as nodes of these graphs too, without edges")
    ] = False
    graph_summary: Annotated[bool, About("whenever a run ends, tell pages and links of each site")] = False
    common_log: Annotated[  # R16
        LogFile,
        About("the CSV file with a line for every visit; empty: logs/common.csv in the crawl's folder", "visits.csv"),
    ] = None
    error_log: Annotated[
        LogFile,
        About(
            "the CSV file with a line for every failure; empty: logs/error.csv in the crawl's folder", "failures.csv"
        ),
    ] = None
    repository: Annotated[  # T6, T7
        FileName,
        About("whenever a run ends, write a copy of each page into FOLDER/HOST/PATH, and index.txt", "copies"),
    ] = None
    log_file: Annotated[  # T1
        ActionLog, About("tell in this file what the crawl does, in words; screen: on the screen", "crawl.log")
    ] = None
    log_level: Annotated[int, About("how much --log-file tells: 0 quiet, 1 verbose, 2 debug", "2", low=0, high=2)] = 1


class Recrawl(msgspec.Struct, frozen=True, kw_only=True):
    """When all pages are asked again."""

    period_s: Annotated[  # T9
        float | None,
        About(
            "ask all pages again, TIME after the last pass began; `weft crawl` with the same options does it when due",
            "72h",
            low=1,
        ),
    ] = None


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Which files are asked for beside pages (G5, T11)."""

    images: Annotated[
        bool, About("store the images that pages show, with icons and those of style attributes", usual=True)
    ] = False
    documents: Annotated[
        bool, About("store linked documents: PDF, and those of Word, Excel, PowerPoint and OpenDocument", usual=True)
    ] = False
    assets: Annotated[
        bool, About("store all that a page needs to be seen: style sheets and what they need, scripts, fonts, images")
    ] = False
    extensions: Annotated[
        FileExtensions, About("store linked and shown files with these extensions", "zip,csv", name="files")
    ] = ()
    embeds: Annotated[
        Embeds, About("the hosts of files that a page shows: any, or those in the scope", may_change=False)
    ] = Embeds.ANY
    max_file_size_b: Annotated[int, About("keep no file that is larger, and none in part", low=1, may_change=True)] = (
        100_000_000
    )
    max_files: Annotated[int | None, About("ask for at most N files", "1000", may_change=True)] = None

    check_links: Annotated[  # E21
        bool,
        About("ask all that pages refer to, on other sites too, whether it answers; keep nothing"),
    ] = False

    @property
    def has_any(self) -> bool:
        """Whether files are asked for at all."""
        return bool(self.images or self.documents or self.assets or self.extensions)

    @property
    def asks_beside_pages(self) -> bool:
        """Whether all that pages show is looked for, to store it or to check it."""
        return self.has_any or self.check_links


class Plugins(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the user's own (R4)."""

    parts: Annotated[
        PartNames,
        About(
            "call a function of your own: as manager, analyser, downloader, parser, robots, store, routine, finisher "
            "or unloader",
            "finisher=my_parts.py:enough",
            name="part",
        ),
    ] = ()


class CrawlSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl, whole."""

    seeds: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()  # names of the options whose values are withheld from crawl.toml
    mode: Annotated[
        Mode | None,
        About(
            "a preset: graph (HTML pages by <a> links, no sitemaps), email (addresses; queries dropped)",
            "graph",
            group="Scope",
        ),
    ] = None
    scope: Annotated[Scope, Group("Scope", "which URLs belong to the crawl", may_change=False)] = Scope()
    limits: Annotated[Limits, Group("Limits", "where the crawl, and one request, end", may_change=True)] = Limits()
    politeness: Annotated[Politeness, Group("Pace", "how gently sites are asked", may_change=True)] = Politeness()
    identity: Annotated[Identity, Group("Identity", "who we say we are", may_change=True)] = Identity()
    network: Annotated[Network, Group("Network", "how the web is reached", may_change=True)] = Network()
    browser: Annotated[Browser, Group("Rendering", "pages that need a browser", may_change=True)] = Browser()
    urls: Annotated[Urls, Group("URLs", "which URLs are the same page", may_change=False)] = Urls()
    duplicates: Annotated[Duplicates, Group("Duplicates", "which pages have the same content", may_change=False)] = (
        Duplicates()
    )
    traps: Annotated[
        Traps, Group("Traps", "budgets against endless sites; 0 switches a rule off", may_change=False, prefix="trap-")
    ] = Traps()
    extract: Annotated[Extract, Group("Extract", "what is taken from pages", may_change=False)] = Extract()
    harvest: Annotated[Harvest, Group("Harvest", "what you came for", may_change=False)] = Harvest()
    keep: Annotated[Keep, Group("Store", "what is kept", may_change=True)] = Keep()
    recrawl: Annotated[Recrawl, Group("Recrawl", "when all pages are asked again", may_change=True)] = Recrawl()
    files: Annotated[Files, Group("Files", "images, documents and other files beside pages", may_change=False)] = (
        Files()
    )
    plugins: Annotated[Plugins, Group("Parts", "parts of your own", may_change=False)] = Plugins()


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one run of ``weft crawl`` and is no part of the crawl itself."""

    output: Annotated[
        FolderName,
        About(
            "the crawl's folder (default: the first seed's host)", "example", usual=True, may_change=False, short="-o"
        ),
    ] = None
    fresh: Annotated[bool, About("set an older crawl of that folder aside and start anew", may_change=False)] = False
    quiet: Annotated[bool, About("show errors only")] = False
    watch: Annotated[bool, About("stay, and do each pass of --period when it is due")] = False
    json_progress: Annotated[bool, About("tell how far it is as a JSON object a line, on stderr")] = False
    metrics: Annotated[
        Text, About("serve numbers for Prometheus at PORT of this machine alone, or at ADDRESS:PORT", "9100")
    ] = None
    log: Annotated[
        ShownLogs, About("show the lines of the logs too: screen for both, common or error for one", "screen")
    ] = ShownLogs.FILES


class Order(msgspec.Struct, frozen=True):
    """What the user ordered: a crawl, and how this run of it behaves."""

    spec: CrawlSpec
    run: Annotated[Run, Group("Run", "this run", may_change=True)]


class Paces:
    """What holds for each site: its own word where it has one, else everybody's.

    A site that a seed redirects to (``example.org`` to ``www.example.org``) takes over the seed's.
    """

    def __init__(self, spec: CrawlSpec) -> None:
        self._rules = {rule.site: rule for rule in spec.politeness.sites}
        self._per_host = spec.politeness.per_host
        self._delay_s = spec.politeness.delay_s
        self._max_depth = spec.scope.max_depth
        self.has_depths = any(rule.max_depth is not None for rule in spec.politeness.sites)

    def has(self, site: str) -> bool:
        """Whether the site has something of its own."""
        return site in self._rules

    def take_over(self, site: str, source: str) -> None:
        """From now on ``site`` is treated as ``source`` is."""
        self._rules[site] = self._rules[source]

    def per_host(self, site: str) -> int:
        """Requests at once."""
        rule = self._rules.get(site)
        return self._per_host if rule is None or rule.per_host is None else rule.per_host

    def delay_s(self, site: str) -> float:
        """Seconds between two requests, start to start."""
        rule = self._rules.get(site)
        return self._delay_s if rule is None or rule.delay_s is None else rule.delay_s

    def max_depth(self, site: str) -> int | None:
        """How many links away from a seed; None: no bound."""
        rule = self._rules.get(site)
        if rule is None or rule.max_depth is None:
            return self._max_depth
        return None if rule.max_depth == NO_BOUND else rule.max_depth

    def depths(self) -> dict[str, int | None]:
        """The sites that have a bound of their own, and that bound."""
        return {site: self.max_depth(site) for site, rule in self._rules.items() if rule.max_depth is not None}
