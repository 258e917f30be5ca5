"""The nouns that travel between the stations of the flow.

Records are ``msgspec.Struct``s: cheap to make, ready for a pipe, and frozen, but for ``Links``, which its reader fills.
Parts know these values and not each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple, assert_never

import msgspec

from weft.errors import Cause, Reason


class State(StrEnum):
    """Where a page stands (E1). A page that was never admitted has no state, only a reason."""

    WAITING = "W"
    RUNNING = "R"
    COMPLETED = "C"
    ERROR = "E"


class RunState(StrEnum):
    """Where a crawl stands."""

    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"


class StopReason(StrEnum):
    """Why a run ended, in the word that ``weft status`` shows."""

    DONE = "done"
    MAX_PAGES = "max-pages"
    MAX_TIME = "max-time"
    MIN_DEPTH = "min-depth"
    WAITING = "waiting"
    STOPPED = "stopped"
    FINISHER = "finisher"
    GOALS = "goals"
    FAILED = "failed"
    DISK_FULL = "disk full"
    KILLED = "killed"  # what is said of a run that could not say why it ended

    @property
    def exit_code(self) -> int:
        match self:
            case StopReason.DONE | StopReason.FINISHER | StopReason.GOALS:
                return 0
            case StopReason.MAX_PAGES | StopReason.MAX_TIME | StopReason.MIN_DEPTH:
                return 0
            case StopReason.FAILED | StopReason.DISK_FULL:
                return 1
            case StopReason.WAITING | StopReason.STOPPED | StopReason.KILLED:
                return 3
            case _:
                assert_never(self)


class FilePosition(NamedTuple):
    """How far a WARC file is written."""

    size_b: int  # on disk, whole records only
    is_closed: bool


class LinkKind(IntEnum):
    """What kind of element a link came from; the number is what the database keeps."""

    A = 1
    AREA = 2
    LINK = 3
    FRAME = 4
    IFRAME = 5
    REFRESH = 6
    ONCLICK = 7
    FORM = 8
    CANONICAL = 9
    REDIRECT = 10
    SITEMAP = 11
    IMAGE = 12
    SCRIPT = 13
    STYLE = 14
    MEDIA = 15
    EMBED = 16
    DOCUMENT = 17

    @property
    def label(self) -> str:
        return self.name.lower()


LEADS_ON: Final = "redirect"
"""The ``rel`` of a refresh after 0 seconds: nobody gets to read its page, which counts as a redirect."""


class Purpose(IntEnum):
    """Why an address is asked: a page or a file, a site request the crawl needs for itself, or what a browser loads."""

    PAGE = 0
    ROBOTS = 1
    SITEMAP = 2
    RESOURCE = 3
    FILE = 4
    CHECK = 5  # whether the target of a link answers

    @property
    def is_queued(self) -> bool:
        """Whether the address is an entry of the queue, in the table ``page``."""
        return self is PAGE or self is FILE or self is CHECK


PAGE: Final = Purpose.PAGE
FILE: Final = Purpose.FILE
CHECK: Final = Purpose.CHECK
"""The same members, found at once: Python searches for those of an enumeration, and these are asked for all along."""


class Link(NamedTuple):
    """One link of a page, in document order.

    ``target`` is absolute and serialised by the WHATWG rules, without its fragment, which is kept beside it.
    """

    target: str
    kind: int
    anchor: str = ""
    rel: str = ""
    fragment: str = ""


_A = LinkKind.A.value


class Links(msgspec.Struct, array_like=True, gc=False):
    """The links of a page in document order, in columns: a page has a hundred of them, and what is done to all is done
    at once. ``kinds`` and ``rels`` name, by its place, only what is no ``<a>``, and what has a ``rel``.

    The compiled reader keeps the texts together, as they will be stored: ``texts_json`` has for each link its anchor
    and, if any link has one, rel and fragment, as JSON; ``ends`` says where each of them ends, four bytes a link. The
    columns of anchors and fragments are empty then, until somebody asks for the links one by one.
    """

    targets: list[str] = []
    anchors: list[str] = []
    fragments: list[str] = []
    kinds: dict[int, int] = {}
    rels: dict[int, str] = {}
    texts_json: bytes = b""
    ends: bytes = b""

    @classmethod
    def of(cls, links: Iterable[Link]) -> Links:
        made = cls()
        for link in links:
            made.add(*link)
        return made

    def add(self, target: str, kind: int, anchor: str = "", rel: str = "", fragment: str = "") -> None:
        self.unpack()
        if kind != _A:
            self.kinds[len(self.targets)] = kind
        if rel:
            self.rels[len(self.targets)] = rel
        self.targets.append(target)
        self.anchors.append(anchor)
        self.fragments.append(fragment)

    def unpack(self) -> None:
        """Puts the texts into columns, if they are kept together."""
        if not self.ends:
            return
        start = 0
        for end in memoryview(self.ends).cast("I"):
            anchor, *more = msgspec.json.decode(b"[%b]" % self.texts_json[start:end])
            self.anchors.append(anchor)
            self.fragments.append(more[1] if more else "")
            start = end
        self.texts_json = self.ends = b""

    def keep_first(self, count: int) -> None:
        """Forgets all links but the first so many."""
        self.unpack()
        del self.targets[count:], self.anchors[count:], self.fragments[count:]
        self.kinds = {at: kind for at, kind in self.kinds.items() if at < count}
        self.rels = {at: rel for at, rel in self.rels.items() if at < count}

    def kind_column(self) -> list[int]:
        column = [_A] * len(self.targets)
        for at, kind in self.kinds.items():
            column[at] = kind
        return column

    def rel_column(self) -> list[str]:
        column = [""] * len(self.targets)
        for at, rel in self.rels.items():
            column[at] = rel
        return column

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, at: int) -> Link:
        self.unpack()
        return self.bare(at)._replace(anchor=self.anchors[at], fragment=self.fragments[at])

    def bare(self, at: int) -> Link:
        """A link without its texts."""
        return Link(self.targets[at], self.kinds.get(at, _A), "", self.rels.get(at, ""))

    def __iter__(self) -> Iterator[Link]:
        self.unpack()
        columns = self.targets, self.kind_column(), self.anchors, self.rel_column(), self.fragments
        return map(Link, *columns)


NOT_MODIFIED: Final = 304


class Asked(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a request says beside its address, where a page's script makes it."""

    method: str = "GET"
    lines: tuple[tuple[str, str], ...] = ()  # header lines of its own
    body: bytes = b""


class Lease(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The right, and the duty, to ask one URL now. It ends in exactly one ``Visit``."""

    page: int  # page id; for site requests the id of the sitemap row or 0
    url: str
    site: int
    purpose: Purpose = Purpose.PAGE
    depth: int = 0
    attempt: int = 1
    hops: int = 0  # redirects walked to get here
    origin: str = ""  # for robots.txt: the origin it will speak for
    etag: str = ""
    last_modified: str = ""
    asked: Asked | None = None

    @property
    def is_conditional(self) -> bool:
        """Whether only an answer that changed is wanted: one of an earlier pass is stored."""
        return bool(self.etag or self.last_modified)


RENDERED_TYPE: Final = "text/html; charset=utf-8"
"""The content type of rendered pages."""


class Rendered(msgspec.Struct, frozen=True):
    """A page as it stood in a browser when it was read. Without HTML: it could not be rendered."""

    html: str
    parts: tuple[tuple[str, str], ...] = ()  # base URL and HTML of open shadow roots and of frames
    routes: tuple[str, ...] = ()  # where its scripts went, or would have gone
    requests: int = 0
    refused: tuple[str, ...] = ()  # WebSockets and event streams that it wanted to open
    took_ms: int = 0
    note: str = ""  # what was odd and survivable
    shot: bytes = b""


class Fetched(msgspec.Struct, frozen=True, gc=False, tag=True):
    """An answer, of any status."""

    status: int
    head: bytes  # status line and header lines as received, CRLF line ends, the final empty line included
    headers: tuple[tuple[str, str], ...]  # names in lower case, values stripped, order kept
    wire: bytes  # the body as received, content encoding still on it, transfer encoding removed
    body: bytes  # decoded
    truncated: bool  # past a size bound: the kept part is used
    started_ms: int  # epoch
    response_ms: int  # request sent to last byte
    ip: str
    http_version: str  # "1.0", "1.1", "2"
    note: str = ""  # what was odd and survivable, e.g. a content encoding that did not decode
    rendered: Rendered | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header (lower-case name), or None."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    def first_values(self) -> dict[str, str]:
        """The first value of every header, for who asks for several."""
        return dict(reversed(self.headers))

    def header_values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


class Failure(msgspec.Struct, frozen=True, gc=False, tag=True):
    """No answer, and why. What the web does wrong is data."""

    cause: Cause
    detail: str = ""
    retry_after_s: float | None = None
    started_ms: int = 0
    response_ms: int = 0
    ip: str = ""


FIND: Final = "find"
"""The kind of items that are places where a text of ``--find`` stands."""


class Item(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Something that people crawl for, as one page has it."""

    kind: str  # "email", "phone", "social", "find", or a name that the user gave
    value: str
    context: str = ""  # the text around it
    obscured: str = "plain"  # how it was written
    position: int = 0  # where in the page, in bytes of its source in UTF-8
    confidence: float = 1.0  # 0 to 1: how sure it is that the value is what its kind says
    fields: str = ""  # JSON: named groups of a pattern, fields of a record


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """What one pass over a document found."""

    type: str  # media type after sniffing, lower case, no parameters
    encoding: str | None = None  # WHATWG name
    language: str | None = None
    title: str | None = None
    description: str | None = None
    canonical: str | None = None
    base: str | None = None  # only where a <base href> changed it
    noindex: bool = False
    nofollow: bool = False
    links: Links = msgspec.field(default_factory=Links)
    links_cut: bool = False  # more links than the bound; the first ones are kept
    problem: str = ""  # what the parser gave up on
    text: str = ""  # as a reader sees it, where it is asked for
    rendering: Rendering | None = None  # where a browser had a hand in it


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """Whether a candidate is admitted to the frontier; ``reason`` says why not."""

    reason: Reason | None = None
    detail: str = ""

    @property
    def admitted(self) -> bool:
        return self.reason is None


ADMITTED = Verdict()


class Facts(msgspec.Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """What one attempt has shown of a URL, whatever happened. The names are those of the columns of ``visit``."""

    started_ms: int
    response_ms: int | None = None
    status: int | None = None
    cause: str | None = None
    detail: str | None = None
    truncated: bool = False
    type: str | None = None
    encoding: str | None = None
    language: str | None = None
    title: str | None = None
    description: str | None = None
    canonical: str | None = None
    redirect_to: str | None = None
    noindex: bool = False
    nofollow: bool = False
    size: int | None = None
    size_wire: int | None = None
    hash: int | None = None  # of the decoded body, see ``signed``
    last_modified: str | None = None
    server_date: str | None = None
    etag: str | None = None
    ip: str | None = None
    http_version: str | None = None
    headers: str | None = None


class FileFacts(msgspec.Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """What a stored file has shown of itself. The names are those of the columns of ``file_fact``."""

    width: int | None = None  # of an image, in pixels
    height: int | None = None
    title: str | None = None  # of a document, as the next ones
    author: str | None = None
    pages: int | None = None  # of a PDF, or slides of a presentation
    text: str | None = None
    links: int | None = None
    problem: str | None = None  # why it could not be read, or not all of it


class Decision(msgspec.Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """What follows for a lease that ended. Nothing: its page is done."""

    retry_s: float | None = None  # it is asked once more, after so many seconds
    rest_s: float = 0.0  # so long its whole site rests
    again_at: str | None = None  # the same page is asked at this URL

    @property
    def is_final(self) -> bool:
        """Whether the page is not asked again."""
        return self.retry_s is None and self.again_at is None


NOTHING_FOLLOWS: Final = Decision()


class Concluded(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What an answer means, told from the answer alone. It is the same in every process."""

    lease: Lease
    facts: Facts
    state: str  # C or E, unless it is asked again
    links: Links = msgspec.field(default_factory=Links)
    follows: Decision = NOTHING_FOLLOWS  # unless the crawl, which knows the site, decides otherwise
    asked_s: float | None = None  # the time that Retry-After asks for
    is_slow: bool = False  # 429 or 503
    condemns: Cause | None = None  # for which the origin is given up, where it was met too often
    is_stored_2xx: bool = False
    cookies: list[str] = []  # values of Set-Cookie
    file: FileFacts | None = None  # of a file that is stored


class Place(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where the archive keeps an answer. Without a file only the digest of its payload is known."""

    file: str = ""
    offset: int | None = None
    length: int | None = None
    digest: str | None = None
    is_revisit: bool = False


NOWHERE: Final = Place()


class Rendering(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a browser made of an answer: a row of the table ``rendering``."""

    requests: int = 0
    took_ms: int = 0
    links: int = 0
    new_links: int = 0  # that are not on the page as it was received
    new_text: int = 0  # characters of text that it has more than the page as it was received
    note: str | None = None
    refused: str | None = None  # WebSockets and event streams that it wanted to open, a line each
    place: Place = NOWHERE  # of the page as it was rendered


class PageText(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The main text of what one visit brought: a row of the table ``text``, its fields in the order of the columns."""

    text: str
    markdown: str
    language: str | None
    title: str | None
    author: str | None
    published: str | None
    description: str | None
    is_article: bool
    records: str  # JSON-LD and OpenGraph, as JSON
    keywords: str | None  # as JSON; None where none were asked for


class Processed(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One lease that went through the pipeline: its conclusion, and its place in the archive."""

    done: Concluded
    place: Place = NOWHERE
    sketch: bytes = b""  # of the text, where near-duplicates are looked for
    rendering: Rendering | None = None
    bug: str = ""  # the traceback, where we and not the web were at fault
    text: PageText | None = None  # the main text, where it is wanted
    items: list[Item] = []  # what the crawl looks for, as the page has it
    answer: Fetched | Failure | None = None  # of site requests only: the crawl's own process reads these


class Ended(NamedTuple):
    """A lease that ended, and the lease that was taken ahead and is asked in its place."""

    processed: Processed
    successor: Lease | None = None


class Settled(msgspec.Struct, frozen=True, gc=False):
    """How the lease of a page ended, as the frontier has to know it.

    ``retry_s``: it waits again; ``again_at``: the same page is asked at another URL of its key. ``redirect_to`` is the
    target of a redirect, in a crawl that keeps cookies; ``sets_cookie``: it had one.
    """

    lease: Lease
    state: str
    visit: int | None = None
    cause: Cause | None = None
    stored_2xx: bool = False
    retry_s: float | None = None
    again_at: str | None = None
    redirect_to: str | None = None
    sets_cookie: bool = False
    status: int | None = None

    @property
    def is_broken(self) -> bool:
        """Whether a link to the page is broken: there is no answer, or one that is an error."""
        return (self.cause is not None and self.state != "C") or (self.status is not None and self.status >= 400)


class Visit(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One attempt as it is stored: a row of the table ``visit``. Made once, at the tick."""

    id: int
    lease: Lease
    url: int  # the id of its text
    facts: Facts
    out_links: int = 0
    external_links: int = 0
    warc: int | None = None  # the id of the file that has its place
    place: Place = NOWHERE

    @property
    def page(self) -> int | None:
        """The id of the page or file that was asked for; robots.txt and sitemaps are neither."""
        return self.lease.page if self.lease.purpose.is_queued else None


class StoredVisit(NamedTuple):
    """A visit that is committed, for who watches the crawl; ``state``: C, E, or W, if it is asked again."""

    visit: Visit
    state: str
    items: Sequence[Item] = ()

    @property
    def lease(self) -> Lease:
        return self.visit.lease


def signed(value: int) -> int:
    """An unsigned 64-bit number as SQLite keeps it."""
    return value - (1 << 64) if value >> 63 else value


class OriginRow(msgspec.Struct, frozen=True):
    """A row of the table ``origin``, fields in the order of the columns."""

    name: str
    site: int
    robots_status: int | None
    robots_cause: str | None
    robots_content: bytes | None
    robots_url: str
    crawl_delay_s: float | None
    fetched_ms: int


class Progress(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How far a run is: observers, screens and finishers (R4) get it after each tick, and see nothing else of a crawl.

    The numbers count all runs of the folder; ``elapsed_s`` is the time of this run.
    """

    pages: int  # answers with a status of 2xx, stored
    links: int
    items: int | None = None  # None: the crawl looks for none
    received_b: int  # bodies, as they came over the wire
    waiting: int
    running: int  # pages that are marked as taken
    completed: int  # pages that were answered, with any status
    errors: int  # pages that got no answer; those that robots.txt forbids are not counted here
    broken: int  # pages that got no answer, or one with a status of 400 and more
    forbidden: int  # pages that robots.txt forbids
    refused: int  # URLs that were found and do not belong to the crawl
    hosts: int  # sites that were asked for anything
    requests: int  # under way at this moment
    elapsed_s: float
    stopping: bool
    max_pages: int | None
    max_time_s: float | None
    delay_s: float
    notes: tuple[str, ...] = ()  # of the last tick: facts that whoever runs the crawl should know

    @property
    def ended(self) -> int:
        """The pages that are over: answered, or given up."""
        return self.completed + self.errors

    @property
    def left(self) -> int:
        """The pages that are still to be asked, as far as they are known and --max-pages lets them in."""
        left = self.waiting + self.running
        return left if self.max_pages is None else max(0, min(left, self.max_pages - self.pages))


class FailedSeeds(msgspec.Struct, frozen=True, gc=False):
    """The start addresses that gave no page, and an example: its URL, and the cause, reason or status instead."""

    number: int
    total: int
    url: str
    why: str
    none_gave_a_page: bool


class SiteLimit(msgspec.Struct, frozen=True, gc=False):
    """A limit of single sites that was reached: its option, on how many sites, and how many URLs it kept out."""

    option: str
    sites: int
    urls: int


class Ending(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The facts that the last line of a run needs, beside its stop reason."""

    visits: int  # requests of this run that ended
    wait_s: float  # until a site may be asked again
    stopped_by: str  # the stop file of the user, if it was that
    seeds: FailedSeeds | None  # None: each gave a page, or pages are left
    limits: tuple[SiteLimit, ...]
    last_answer_ms: int | None


class Finds(NamedTuple):
    """What was found on the pages of one tick beside their links, each with its visit or the visit's id."""

    sketches: Sequence[tuple[int, bytes]] = ()
    texts: Sequence[tuple[int, PageText]] = ()
    renderings: Sequence[tuple[int, Rendering]] = ()
    items: Sequence[tuple[Visit, Sequence[Item]]] = ()
    files: Sequence[tuple[int, FileFacts]] = ()


NO_FINDS: Final = Finds()
