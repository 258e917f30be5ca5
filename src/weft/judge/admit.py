"""Before anything is asked: whether a URL, and a link to it, belong to the crawl; the first reason if not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import unquote

import msgspec

from weft.errors import Reason, SpecError
from weft.judge.files import WantedFiles
from weft.judge.scope import Patterns, make_scope, suffix_of
from weft.judge.traps import TrapBook
from weft.ports import Parent
from weft.records import ADMITTED, LinkKind, Verdict
from weft.spec import CrawlSpec, Embeds, Match, Paces, ScopeKind
from weft.url import host_of, path_of, scheme_of, site_of

# "Bad ports" of the Fetch standard (https://fetch.spec.whatwg.org/#bad-port): services that are no web servers.
BAD_PORTS = frozenset(
    {0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
     110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
     532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
     5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)  # fmt: skip

# Not here, though they are no pages either: text (.txt .md .csv .json .xml .js ...), which harms nobody and may be a
# page on some servers, and endings that are names elsewhere (.com .app .ai .pl .net).
FILES = {
    "images": "avif bmp cr2 dng gif heic heif ico jfif jpe jpeg jpg jxl nef png psd raw svg svgz tif tiff webp xcf",
    "sound": "aac aif aiff amr flac m4a mid midi mp3 oga ogg opus ra wav wma",
    "film": "3gp asf avi f4v flv m2ts m4v mkv mov mp4 mpe mpeg mpg ogv vob webm wmv",
    "archives": "7z arj bz2 cab cpio gz lha lz lzma rar tar tbz tbz2 tgz txz xz zip zst",
    "packages": "apk crx deb dmg ear egg exe gem img ipa iso jar msi nupkg ova pkg qcow2 rpm vhd vmdk war whl xpi",
    "documents": "azw3 djvu doc docm docx dot dotx epub eps mobi odf odg odp ods odt pdf pps ppsx ppt pptm pptx ps "
    "pub rtf vsd vsdx xls xlsb xlsm xlsx",
    "fonts": "eot otf ttf woff woff2",
    "programs": "bin class css dll swf wasm",
    "data": "accdb h5 hdf5 mdb npy npz parquet pkl sqlite torrent",
}
PAGES = (
    "asp aspx cfm cgi do htm html jsf jsp jspx mspx php php3 php4 php5 php7 phtml pl py shtm shtml stm xht xhtm xhtml"
)
FILE_EXTENSIONS = frozenset(" ".join(FILES.values()).split())
PAGE_EXTENSIONS = frozenset(PAGES.split())
_PAGE_ENDINGS = (".html", "/", ".htm", ".php")  # of a path: no closer look is needed

_CACHED_ORIGINS = 20_000
_MISSING = Verdict(Reason.NOT_A_URL)


class Admission:
    """Judges candidates for one crawl. Pure but for the trap budgets and the sites that seeds redirect to.

    ``judge_url`` gives the first reason of: NOT_HTTP, HAS_CREDENTIALS, URL_TOO_LONG, BAD_PORT, OUT_OF_SCOPE,
    OTHER_SCHEME, REJECTED, NOT_ACCEPTED, NOT_A_PAGE, then the traps in the order of ``docs/traps.md``. Start
    addresses are in scope, and pass --accept, NOT_A_PAGE and the traps.
    """

    def __init__(
        self, spec: CrawlSpec, seeds: Sequence[str], now_year: int, analyse: Callable[[str], bool] | None = None
    ) -> None:
        scope = spec.scope
        self._analyse = analyse  # R4: the user's own word, asked last
        self._scope = make_scope(scope, ())
        self._accept = Patterns("accept", scope.accept) or None
        self._reject = Patterns("reject", scope.reject) or None
        self._by_name = scope.match is Match.NAME
        self._is_exact = scope.exact
        self._max_url_b = spec.limits.max_url_b
        self._same_scheme = scope.same_scheme
        self._html_only = scope.html_only
        self._seeds: set[str] = set()
        self._seed_sites: set[str] = set()
        self._by_own_links = scope.same_site
        self._listed: dict[str, str] = {}  # by site: the seed's site to which it belongs, itself or one that led to it
        self._schemes: dict[str, set[str]] = {}  # of the sites whose protocol the seeds decide
        self._origins: dict[str, Verdict | None] = {}
        self._new_sites: list[str] = []
        traps = spec.traps
        if scope.scope in (ScopeKind.HOST, ScopeKind.PATH):  # the hosts are those that the user named
            traps = msgspec.structs.replace(traps, hosts_per_domain=0)
        self._traps = book = TrapBook(traps, now_year, suffix_of(scope))
        # given on as they are, without a call in between: each is asked for every page
        self.chain_of, self.is_suspect = book.chain_of, book.is_suspect
        self.fetched, self.linked = book.fetched, book.linked
        self._files = WantedFiles(spec.files)
        self.shows_files = self._files.has_any
        self.checks_links = spec.files.check_links
        self._shown_in_scope = spec.files.embeds is Embeds.SCOPE
        self._kinds = _kinds(scope.followed)
        self._heeds_nofollow = not scope.follow_nofollow
        self.paces = Paces(spec)
        self._max_depth = scope.max_depth  # of sites that have no bound of their own
        self._max_redirects = spec.limits.max_redirects
        for url in seeds:
            self.add_seed(url)

    # ---- what belongs to the crawl ---------------------------------------------------------------------------

    def add_seed(self, url: str) -> None:
        """Takes in a start address: the scope grows by it, as if it had been given at the start."""
        site = site_of(url)
        self._seeds.add(url)
        self._seed_sites.add(site)
        self._listed[site] = site
        self._schemes.setdefault(site, set()).add(scheme_of(url))
        self._scope.add_seed(url)
        self._traps.trust_host(host_of(url))
        self._origins.clear()

    def seed_redirects_to(self, url: str, source: str) -> None:
        """Takes in the site that a start address itself leads to: ``example.org`` to ``www.example.org``.

        What ``source``, the site that redirects, has of its own holds there too.
        """
        if self._is_exact or not self.is_askable(url):
            return
        site = site_of(url)
        name = f"{scheme_of(url)}://{site}" if self._same_scheme else site
        known = scheme_of(url) in self._schemes.get(site, ()) if self._same_scheme else site in self._seed_sites
        if known:
            return
        has_pace = self.paces.has(site_of(source)) and not self.paces.has(site)
        if has_pace or (self._by_own_links and site not in self._listed):
            name = f"{name} {site_of(source)}"
        self.allow_site(name)
        self._new_sites.append(name)

    def allow_site(self, name: str) -> None:
        """Takes in a site in the form in which ``new_sites`` gives it, in an earlier run too.

        Behind its name may stand the site that led to it, to which it belongs.
        """
        name, like, source = name.partition(" ")
        scheme, mark, site = name.rpartition("://")
        if like and site not in self._listed:
            self._listed[site] = self._listed.get(source, source)
        if like and self.paces.has(source) and not self.paces.has(site):
            self.paces.take_over(site, source)
        if mark:
            self._schemes.setdefault(site, set()).add(scheme)
        self._seed_sites.add(site)
        self._scope.allow_site(site)
        self._origins.clear()

    def new_sites(self) -> list[str]:
        """The sites that seeds redirected to since the last call, to be kept."""
        sites, self._new_sites = self._new_sites, []
        return sites

    def is_askable(self, url: str) -> bool:
        """Whether anything may be asked there, a site request too: what its scheme, credentials and port say."""
        return self._judge_place(url[: url.find("/", 8)], url) is None

    def covers(self, url: str) -> bool:
        """Whether the scope covers a URL."""
        return self._scope.covers(url)

    def has_pages(self, origin: str) -> bool:
        """Whether pages may belong to the crawl there, and not only files, or targets that are checked."""
        if not (self.shows_files or self.checks_links) or not self._scope.by_site:
            return True
        return site_of(origin) in self._seed_sites or self._scope.covers(f"{origin}/")

    def describe(self) -> str:
        """The scope in words."""
        return self._scope.describe()

    # ---- URLs ------------------------------------------------------------------------------------------------

    def judge_url(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        """For a URL that is new: ADMITTED, or the first reason against it."""
        start = url.find("/", 8)
        origin = url[:start] if start >= 0 else url
        verdict = self._origins.get(origin, _MISSING)
        if verdict is _MISSING:
            verdict = self._remember_origin(origin, url)
        if len(url) > self._max_url_b and (verdict is None or verdict.reason not in _BEFORE_LENGTH):
            return Verdict(Reason.URL_TOO_LONG, f"more bytes than --max-url {self._max_url_b}")  # it may be cut
        is_seed = url in self._seeds
        if verdict is not None and not (is_seed and verdict.reason is Reason.OUT_OF_SCOPE):
            return verdict
        if not self._scope.by_site and not self._scope.covers(url):
            return Verdict(Reason.OUT_OF_SCOPE, self._scope.describe()[:200])
        if self._same_scheme and (other := self._other_scheme(url, parent)):
            return Verdict(Reason.OTHER_SCHEME, other)
        searched = file_name_of(url) if self._by_name else url
        if searched and self._reject is not None and (expression := self._reject.found_in(searched)) is not None:
            return Verdict(Reason.REJECTED, expression)
        if is_seed:
            return ADMITTED
        if searched and self._accept is not None and self._accept.found_in(searched) is None:
            return Verdict(Reason.NOT_ACCEPTED, "no --accept expression is found in it")
        if not self._by_name and (not url.endswith(_PAGE_ENDINGS) or "?" in url):
            extension = extension_of(url, start)
            if extension and self._is_file(extension):
                return Verdict(Reason.NOT_A_PAGE, f".{extension}")
        if self._analyse is not None and not self._analyse(url):
            return Verdict(Reason.REJECTED, "the analyser of --part")
        return self._traps.judge(url, site_id, parent)

    def _remember_origin(self, origin: str, url: str) -> Verdict | None:
        if len(self._origins) >= _CACHED_ORIGINS:
            self._origins.clear()
        verdict = self._origins[origin] = self._judge_origin(origin, url)
        return verdict

    def _judge_origin(self, origin: str, url: str) -> Verdict | None:
        """The reason against all URLs of an origin; None if there is none."""
        verdict = self._judge_place(origin, url)
        if verdict is None and self._scope.by_site and not self._scope.covers(url):
            return Verdict(Reason.OUT_OF_SCOPE, self._scope.describe()[:200])
        return verdict

    def _judge_place(self, origin: str, url: str) -> Verdict | None:
        """The reason for which an origin is asked by nobody; None if there is none."""
        if not origin.startswith(("http://", "https://")):
            return Verdict(Reason.NOT_HTTP, scheme_of(url)[:40])
        if "@" in origin:
            return Verdict(Reason.HAS_CREDENTIALS)
        site = site_of(url)
        port = site.rpartition(":")[2]
        if port.isdecimal() and int(port) in BAD_PORTS and site not in self._seed_sites:
            return Verdict(Reason.BAD_PORT, port)
        return None

    def _other_scheme(self, url: str, parent: Parent | None) -> str:
        """The scheme that the site has instead; "" if it agrees. Where no seed names the site, its page's counts."""
        scheme = scheme_of(url)
        schemes = self._schemes.get(site_of(url))
        if schemes is None:
            schemes = {scheme_of(parent.url)} if parent is not None else {scheme}
        return "" if scheme in schemes else ", ".join(sorted(schemes))

    def _is_file(self, extension: str) -> bool:
        if extension in self._files.extensions:
            return False
        if self._html_only:
            return extension not in PAGE_EXTENSIONS
        return extension in FILE_EXTENSIONS

    # ---- files -----------------------------------------------------------------------------------------------

    def shows(self, kind: int, rel: str, target: str) -> bool:
        """Whether a link of this kind shows a file that is asked for."""
        return self._files.shows(kind, rel, extension_of(target, target.find("/", 8)))

    def is_file(self, url: str) -> bool:
        """Whether a URL is asked as a file, however it is linked: its extension says so."""
        extensions = self._files.extensions
        return bool(extensions) and extension_of(url, url.find("/", 8)) in extensions

    def judge_shown(self, url: str) -> Verdict:
        """For a file that a page shows: as for all that is asked beside pages, then --embeds."""
        verdict = self.judge_checked(url)
        if verdict.admitted and self._shown_in_scope and not self._scope.covers(url):
            return Verdict(Reason.OUT_OF_SCOPE, self._scope.describe()[:200])
        return verdict

    def judge_checked(self, url: str) -> Verdict:
        """For the target of a link that may be checked: what its place says, then --reject. Traps are set by pages."""
        start = url.find("/", 8)
        verdict = self._judge_place(url[:start] if start >= 0 else url, url)
        if verdict is not None:
            return verdict
        if len(url) > self._max_url_b:
            return Verdict(Reason.URL_TOO_LONG, f"more bytes than --max-url {self._max_url_b}")
        if self._reject is not None and (expression := self._reject.found_in(url)) is not None:
            return Verdict(Reason.REJECTED, expression)
        return ADMITTED

    # ---- links -----------------------------------------------------------------------------------------------

    def admits_from_sitemap(self, url: str) -> bool:
        """Whether the sitemap at ``url`` can bring pages in: what it names is at depth 1."""
        return self.paces.max_depth(site_of(url)) != 0

    def judge_link(
        self, kind: int, rel: str, nofollow: bool, depth: int, hops: int, target: str, source: str
    ) -> Verdict:
        """For one link, ``nofollow`` being its page's word.

        KIND_NOT_FOLLOWED, NOFOLLOW, OTHER_SITE, TOO_DEEP, TOO_MANY_REDIRECTS.

        Redirects and sitemaps are no links that a page recommends, so nofollow does not speak of them.
        """
        if kind not in self._kinds:
            return _KIND_NOT_FOLLOWED
        if (nofollow or rel) and self._heeds_nofollow and kind not in _NOT_BY_HAND:
            if nofollow:
                return Verdict(Reason.NOFOLLOW, "its page says so")
            if "nofollow" in rel.lower().split():
                return Verdict(Reason.NOFOLLOW, "the link says so")
        if self._by_own_links and source and self._is_foreign(source, target):
            return _OTHER_SITE
        deepest = self.paces.max_depth(site_of(target)) if self.paces.has_depths else self._max_depth
        if deepest is not None and depth > deepest:
            return Verdict(Reason.TOO_DEEP, f"depth {depth}, more than --max-depth {deepest}")
        if hops > self._max_redirects:
            return Verdict(Reason.TOO_MANY_REDIRECTS, f"{hops}, more than --max-redirects {self._max_redirects}")
        return ADMITTED

    def _is_foreign(self, source: str, target: str) -> bool:
        """Whether a link leads from one seed's site to another. Sites that no seed names belong to none."""
        here, there = site_of(source), site_of(target)
        if here == there:
            return False
        home = self._listed.get(here)
        return home is not None and self._listed.get(there, home) != home

    # ---- traps -----------------------------------------------------------------------------------------------

    def judge_waiting(self, url: str, site_id: int) -> Verdict:
        """For a page that was admitted and still waits: whether what was learnt since refuses it."""
        return ADMITTED if url in self._seeds else self._traps.judge_waiting(url, site_id)

    def dump(self) -> Iterator[tuple[str, int | bytes]]:
        """The rows of the trap table that changed since the last call."""
        return self._traps.dump()

    def load(self, rows: Iterable[tuple[str, int | bytes]]) -> None:
        """Takes back the rows of an earlier run, before anything is judged."""
        self._traps.load(rows)


_BEFORE_LENGTH = frozenset({Reason.NOT_HTTP, Reason.HAS_CREDENTIALS})
_NOT_BY_HAND = frozenset({LinkKind.REDIRECT.value, LinkKind.SITEMAP.value})
_OTHER_SITE = Verdict(Reason.OTHER_SITE, "links from another seed's site do not count (--same-site)")
_KIND_NOT_FOLLOWED = Verdict(Reason.KIND_NOT_FOLLOWED)


def file_name_of(url: str) -> str:
    """The last segment of a URL's path, as people write it: without query, escapes undone; "" of a folder."""
    name = path_of(url).partition("?")[0].rpartition("/")[2]
    return unquote(name, errors="replace") if "%" in name else name


def extension_of(url: str, start: int) -> str:
    """The extension of a URL's last path segment in lower case, "" if it has none; the path begins at ``start``.

    One to five letters and digits, not digits alone: ``/v1.2`` and ``/john.livingstone`` have none. Nor has a name
    with a colon: ``/wiki/File:Map.png`` is a page about the picture.
    """
    mark = url.find("?", start)
    end = len(url) if mark < 0 else mark
    slash = url.rfind("/", start, end)
    dot = url.rfind(".", slash + 2, end)
    if start < 0 or dot < 0:
        return ""
    extension = url[dot + 1 : end]
    if ";" in extension:
        extension = extension.partition(";")[0]
    if len(extension) > 5 or not extension.isalnum() or extension.isdigit() or ":" in url[slash:dot]:
        return ""
    return extension.lower()


def _kinds(follow: Sequence[str]) -> frozenset[int]:
    labels = {kind.label: kind.value for kind in LinkKind}
    for name in follow:
        if name not in labels:
            from difflib import get_close_matches

            near = get_close_matches(name, labels, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise SpecError(f"follow: there are no links of kind {name!r}{hint}: choose from {', '.join(labels)}")
    return frozenset(labels[name] for name in follow)
