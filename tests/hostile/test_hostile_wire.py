"""Broken, cut and ambiguous HTTP in a real crawl: recorded honestly, and no answer is given to the wrong URL (E2).

Issue 3, sections 6 and 10; DESIGN, promises 6 and 7.
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hostile import (
    FAST,
    GOOD,
    HASTY,
    HOST,
    Visited,
    assert_clean,
    assert_healthy,
    assert_neighbours,
    at_host,
    crawl,
    judge_kind,
    kinds_of,
    lay_out,
    outcome_of,
    own_page,
    raw,
)
from web import (
    ANSWER,
    CHUNKED,
    LAST,
    MISBEHAVIOURS,
    TLS_KINDS,
    Authority,
    Line,
    Request,
    Response,
    Site,
    Tls,
    answer_bytes,
    chunked,
    head_of,
    html_page,
    poison_answer,
    sized,
)

# Asked again in the same instant, an answer that comes unasked cannot be told from the right one; with a moment between
# requests it can: test_what_a_server_says_on_an_idle_line_is_nobody_s_answer.
KINDS = kinds_of("wire", "second_answer_later")
TlsSites = Callable[[str, str], Site]
BAD, CUT, SLOW = "BAD_ANSWER", "INCOMPLETE_BODY", "READ_TIMEOUT"


# --- the kinds of the bench


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Visited:
    with Site() as site:
        for kind in KINDS:
            site.misbehave(f"/{kind}", kind, host=HOST)
        lay_out(site, [f"/{kind}" for kind in KINDS])
        folder = tmp_path_factory.mktemp("kinds")
        return Visited(site, crawl(folder, [site.at("/", HOST)], *HASTY, *at_host(site), check=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_recorded_honestly(kinds: Visited, kind: str) -> None:
    judge_kind(kind, kinds.site.at(f"/{kind}", HOST), f"/{kind}", kinds.crawled, kinds.site)
    assert kinds.site.asked(f"/{kind}") <= 2  # once more where the line had died before it could be asked


def test_the_crawl_of_all_kinds_is_healthy(kinds: Visited) -> None:
    assert_healthy(kinds.crawled, kinds.site)
    assert len(kinds.site.requests) < 2 * len(KINDS) + 30


# --- further answers, each followed by a good page on the same line

Make = Callable[[bytes], bytes]
MORE: dict[str, tuple[Make, str, tuple[str, ...]]] = {}
"""name: the bytes made from the honest body, what becomes of the line, the outcomes that are honest."""


def more(name: str, make: Make, *outcomes: str, end: str = "keep") -> None:
    MORE[name] = (make, end, outcomes)


def _lengths() -> None:
    more("length_zeros", lambda b: head_of(f"Content-Length: 000{len(b)}") + b + poison_answer(), ANSWER)
    more("length_many_zeros", lambda b: head_of(f"Content-Length: {len(b):030}") + b + poison_answer(), ANSWER)
    more("length_blanks", lambda b: head_of(f"Content-Length:   {len(b)}   ") + b + poison_answer(), ANSWER)
    more("length_tab", lambda b: head_of(f"Content-Length:\t{len(b)}") + b + poison_answer(), ANSWER)
    more("length_folded", lambda b: head_of(f"Content-Length:\r\n {len(b)}") + b + poison_answer(), ANSWER, BAD)
    more("length_two_numbers", lambda b: head_of(f"Content-Length: {len(b)} 7") + b + poison_answer(), BAD)
    more("length_float", lambda b: head_of(f"Content-Length: {len(b)}.0") + b + poison_answer(), BAD)
    more("length_parameter", lambda b: head_of(f"Content-Length: {len(b)};x") + b + poison_answer(), BAD)
    more("length_nul", lambda b: head_of(f"Content-Length: {len(b)}\0") + b, BAD)
    more(
        "length_blank_before_colon",
        lambda b: head_of(f"Content-Length : {len(b)}") + b + poison_answer(),
        ANSWER,
        BAD,
        SLOW,
    )
    more("length_one_short", lambda b: head_of(f"Content-Length: {len(b) - 1}") + b + poison_answer(), ANSWER)
    more("length_one_long", lambda b: head_of(f"Content-Length: {len(b) + 1}") + b, CUT, end="close")
    more("length_three_equal", lambda b: head_of(*[f"Content-Length: {len(b)}"] * 3) + b + poison_answer(), ANSWER)
    more(
        "length_zero_and_chunks",
        lambda b: head_of("Content-Length: 0", "Transfer-Encoding: chunked") + chunked(b) + LAST + poison_answer(),
        ANSWER,
        BAD,
    )
    more(
        "http10_kept",
        lambda b: head_of("Connection: keep-alive", f"Content-Length: {len(b)}", version="HTTP/1.0") + b,
        ANSWER,
    )
    more(
        "http10_kept_poison",
        lambda b: (
            head_of("Connection: keep-alive", f"Content-Length: {len(b)}", version="HTTP/1.0") + b + poison_answer()
        ),
        ANSWER,
    )
    more("no_length_closed", lambda b: b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b, ANSWER, end="close")
    more("no_length_reset", lambda b: b"HTTP/1.0 200 OK\r\n\r\n" + b[:50], CUT, "CONNECTION_LOST", end="reset")


def _transfer_encodings() -> None:
    more(
        "te_folded",
        lambda b: head_of("Transfer-Encoding:\r\n chunked") + chunked(b) + LAST + poison_answer(),
        ANSWER,
        BAD,
    )
    more(
        "te_twice",
        lambda b: head_of(*["Transfer-Encoding: chunked"] * 2) + chunked(b) + LAST + poison_answer(),
        ANSWER,
        BAD,
    )
    more(
        "te_listed_twice",
        lambda b: head_of("Transfer-Encoding: chunked, chunked") + chunked(b) + LAST + poison_answer(),
        ANSWER,
        BAD,
    )
    more(
        "te_blank_before_colon",
        lambda b: head_of("Transfer-Encoding : chunked", f"Content-Length: {len(b)}") + b + poison_answer(),
        BAD,
    )
    more(
        "te_tab_before_colon",
        lambda b: head_of("Transfer-Encoding\t: chunked") + chunked(b) + LAST + poison_answer(),
        BAD,
        end="close",
    )
    more(
        "te_chunked_length_too_large",
        lambda b: CHUNKED[:-2] + b"Content-Length: %d\r\n\r\n" % 10**30 + chunked(b) + LAST,
        ANSWER,
    )
    more(
        "te_like_chunked",
        lambda b: head_of("Transfer-Encoding: xchunked", f"Content-Length: {len(b)}") + b + poison_answer(),
        ANSWER,
        BAD,
    )
    more(
        "te_vertical_tab",
        lambda b: head_of("Transfer-Encoding: \x0bchunked", f"Content-Length: {len(b)}") + b + poison_answer(),
        ANSWER,
        BAD,
    )
    more(
        "te_quoted",
        lambda b: head_of('Transfer-Encoding: "chunked"', f"Content-Length: {len(b)}") + b + poison_answer(),
        ANSWER,
        BAD,
    )
    more("te_tab", lambda b: head_of("Transfer-Encoding:\tchunked") + chunked(b) + LAST + poison_answer(), ANSWER)
    more("te_upper_case", lambda b: head_of("TRANSFER-ENCODING: CHUNKED") + chunked(b) + LAST + poison_answer(), ANSWER)
    more(
        "te_identity",
        lambda b: head_of("Transfer-Encoding: identity", f"Content-Length: {len(b)}") + b,
        ANSWER,
        end="close",
    )
    more("te_deflate", lambda b: head_of("Transfer-Encoding: deflate") + b, ANSWER, BAD, end="close")


def _chunk_forms() -> None:
    more("chunk_blank_after", lambda b: CHUNKED + b"%x \r\n%s\r\n" % (len(b), b) + LAST, ANSWER, BAD)
    more("chunk_blank_before", lambda b: CHUNKED + b" %x\r\n%s\r\n" % (len(b), b) + LAST, ANSWER, BAD)
    more("chunk_zeros", lambda b: CHUNKED + b"00000%x\r\n%s\r\n0000\r\n\r\n" % (len(b), b), ANSWER)
    more("chunk_upper_case", lambda b: CHUNKED + b"%X\r\n%s\r\n" % (len(b), b) + LAST, ANSWER)
    more("chunk_plus", lambda b: CHUNKED + b"+%x\r\n%s\r\n" % (len(b), b) + LAST, BAD)
    more("chunk_underscore", lambda b: CHUNKED + b"1_0\r\n%s\r\n" % b[:16] + LAST + poison_answer(), BAD)
    more("chunk_too_short", lambda b: CHUNKED + b"%x\r\n%s\r\n" % (len(b) - 9, b) + LAST, BAD)
    more("chunk_largest", lambda b: CHUNKED + b"7fffffffffffffff\r\n%s" % b, CUT, BAD, end="close")
    more("chunk_line_feed_in_extension", lambda b: CHUNKED + b'%x;a="\n"\r\n%s\r\n' % (len(b), b) + LAST, BAD, ANSWER)
    more("chunk_last_only", lambda b: CHUNKED + LAST + poison_answer(), ANSWER)
    more("chunk_last_unfinished", lambda b: CHUNKED + chunked(b) + b"0\r\n", CUT, ANSWER, end="close")
    more("chunk_last_bare", lambda b: CHUNKED + chunked(b) + b"0", CUT, end="close")
    more(
        "chunk_gzip",
        lambda b: head_of("Transfer-Encoding: chunked", "Content-Encoding: gzip") + chunked(gzip.compress(b)) + LAST,
        ANSWER,
    )
    more("trailer_cut", lambda b: CHUNKED + chunked(b) + b"0\r\nX-A: b\r\n", CUT, ANSWER, end="close")
    more(
        "trailer_status_line",
        lambda b: CHUNKED + chunked(b) + b"0\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
        BAD,
        ANSWER,
    )
    more(
        "trailer_changes_nothing",
        lambda b: (
            CHUNKED
            + chunked(b)
            + b"0\r\nLocation: /stolen\r\nContent-Type: image/png\r\nX-Robots-Tag: nofollow\r\n\r\n"
        ),
        ANSWER,
    )


def _interim_answers() -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\n%s\r\n\r\n"
    more("interim_processing", lambda b: b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + sized(b), ANSWER)
    more("interim_199", lambda b: b"HTTP/1.1 199 Odd\r\nX: y\r\n\r\n" + sized(b), ANSWER)
    more("interim_length", lambda b: hint % b"Content-Length: 5\r\nContent-Type: image/png" + sized(b), ANSWER)
    more("interim_chunked", lambda b: hint % b"Transfer-Encoding: chunked" + sized(b), ANSWER)
    more("interim_location", lambda b: hint % b"Location: /stolen\r\nSet-Cookie: a=b" + sized(b), ANSWER)
    more("interim_close", lambda b: b"HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n" + sized(b), ANSWER)
    more("interim_fifty", lambda b: hint % b"Link: </x>; rel=preload" * 50 + sized(b), ANSWER)
    more("interim_with_body", lambda b: hint % b"Content-Length: 5" + b"abcde" + sized(b), BAD)


def _first_lines_and_headers() -> None:
    more("double_blank_in_status", lambda b: sized(b).replace(b"1.1 200", b"1.1  200"), ANSWER, BAD)
    more("cr_only", lambda b: sized(b).replace(b"\r\n", b"\r"), BAD, end="close")
    more("lf_cr", lambda b: sized(b).replace(b"\r\n", b"\n\r", 2), BAD, end="close")
    more("cr_cr_lf", lambda b: sized(b, "X: y").replace(b"\r\n", b"\r\r\n"), BAD, end="close")
    more("two_status_lines", lambda b: b"HTTP/1.1 404 Not Found\r\n" + sized(b), BAD, ANSWER)
    more("status_minus", lambda b: sized(b, status="-200 OK"), BAD)
    more("status_600", lambda b: sized(b, status="600 X"), ANSWER, BAD)
    more("status_20", lambda b: sized(b, status="20 OK"), BAD)
    more("status_nul", lambda b: sized(b, status="200 O\0K"), BAD, ANSWER)
    more("version_1", lambda b: sized(b).replace(b"HTTP/1.1", b"HTTP/1", 1), BAD, ANSWER)
    more("version_0_9", lambda b: sized(b).replace(b"HTTP/1.1", b"HTTP/0.9", 1), BAD, ANSWER)
    more("version_3", lambda b: sized(b).replace(b"HTTP/1.1", b"HTTP/3", 1), BAD, ANSWER)
    more("mark_first", lambda b: b"\xef\xbb\xbf" + sized(b), BAD, end="close")
    more("utf16_head", lambda b: sized(b).decode("latin-1").encode("utf-16"), BAD, end="close")
    more("name_nul", lambda b: sized(b, "X\0Y: 1"), BAD, ANSWER)
    more("name_8_bit", lambda b: sized(b, "X-\xe9: 1"), ANSWER)
    more(
        "blank_line_folded",
        lambda b: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n \r\n\r\n%s" % (len(b), b),
        ANSWER,
        BAD,
    )
    more("upgrade_offered", lambda b: sized(b, "Upgrade: h2c", "Connection: Upgrade"), ANSWER)
    more("no_keep_alive", lambda b: sized(b, "Keep-Alive: timeout=0, max=0", "Connection: keep-alive"), ANSWER)
    more(
        "other_services",
        lambda b: sized(b, 'Alt-Svc: h2="127.0.0.1:1"; ma=9999', "Strict-Transport-Security: max-age=9999"),
        ANSWER,
    )
    more(
        "content_location",
        lambda b: sized(b, "Content-Location: /stolen", "Content-Base: http://stolen.test/"),
        ANSWER,
    )
    more(
        "chunked_204",
        lambda b: head_of("Transfer-Encoding: chunked", status="204 None") + chunked(b) + LAST + poison_answer(),
        ANSWER,
    )
    more("length_304", lambda b: head_of("Content-Length: 50", status="304 Not Modified"), ANSWER)


_lengths()
_transfer_encodings()
_chunk_forms()
_interim_answers()
_first_lines_and_headers()
UNTITLED = {"chunk_last_only", "chunked_204", "length_304", "te_deflate"}


@pytest.fixture(scope="module")
def ambiguous(tmp_path_factory: pytest.TempPathFactory) -> Visited:
    with Site() as site:
        for name, (make, end, _) in MORE.items():
            raw(site, f"/{name}", make, end)
        lay_out(site, [f"/{name}" for name in MORE], neighbours=True)
        folder = tmp_path_factory.mktemp("ambiguous")
        return Visited(site, crawl(folder, [site.at("/", HOST)], *HASTY, "--per-host", "2", *at_host(site)))


@pytest.mark.parametrize("name", MORE)
def test_every_ambiguous_answer_is_recorded_honestly(ambiguous: Visited, name: str) -> None:
    page = ambiguous.crawled.page(ambiguous.site.at(f"/{name}", HOST))
    assert outcome_of(page) in MORE[name][2], (page, ambiguous.crawled.details[page.url])
    if page.status == 200 and name not in UNTITLED:
        assert page.title == f"/{name}", page
    assert not page.truncated and page.redirect_to is None and not page.nofollow


def test_the_next_answer_on_a_line_is_its_own(ambiguous: Visited) -> None:
    assert_neighbours(ambiguous.crawled, ambiguous.site)
    assert_healthy(ambiguous.crawled, ambiguous.site)
    assert not any("stolen" in path for path in ambiguous.site.paths())


# --- bytes nobody thought of

PIECES = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b":",
    b" ",
    b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Encoding: br\r\n",
    b"0\r\n\r\n",
    b"-1",
    b"9" * 20,
    b"\xff",
    b"\x1f\x8b",
)


def _damaged(path: str, random: Random) -> bytes:
    """A good answer with a few bytes added, removed, changed or said twice, mostly in its head."""
    body = html_page(path)
    forms = (
        sized(body),
        CHUNKED + chunked(body, random.choice((1, 7, 1_000))) + LAST,
        sized(gzip.compress(body, mtime=0), "Content-Encoding: gzip"),
        head_of("Connection: close") + body,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + sized(body),
    )
    words = bytearray(random.choice(forms))
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randrange(len(words) if random.random() < 0.3 else 200)
        match random.randrange(4):
            case 0:
                words[at:at] = random.choice(PIECES)
            case 1:
                del words[at : at + random.choice((1, 2, 5, 30))]
            case 2:
                words[at : at + 1] = random.randbytes(1)
            case _:
                words[at:at] = words[at : at + random.choice((5, 50))]
    return bytes(words)


def test_whatever_is_answered_the_next_page_has_its_own_content(tmp_path: Path, site: Site) -> None:
    """A hundred answers damaged at random (always the same ones): no fault of ours, no neighbour harmed."""
    random = Random(20_261)
    paths = [f"/damaged/{number}" for number in range(100)]
    for path in paths:
        words = _damaged(path, random)
        raw(site, path, lambda _, words=words: words, random.choice(("keep", "keep", "close", "reset")))  # type: ignore[misc]
    lay_out(site, paths, neighbours=True)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *HASTY, "--per-host", "32", *at_host(site), check=True)
    assert_healthy(crawled, site)
    assert_neighbours(crawled, site)
    assert {crawled.page(site.at(path, HOST)).state for path in paths} == {"C", "E"}


# --- lines that talk while nobody asks


def test_what_a_server_says_on_an_idle_line_is_nobody_s_answer(tmp_path: Path, site: Site) -> None:
    """A 408 for the request that did not come, an answer sent twice, a goodbye: the next page has its own content."""

    def stray(name: str, words: bytes, after_s: float, then: str) -> None:
        async def behave(line: Line, request: Request) -> bool:
            await line.send(answer_bytes(Response(html_page(request.path))))
            await asyncio.sleep(after_s)
            await line.send(words)
            return await line.reset() if then == "reset" else then == "keep"

        site.behave(f"/{name}", behave)

    late = sized(html_page("408"), "Connection: close", status="408 Request Timeout")
    stray("timeout_closed", late, 0.03, "close")
    stray("timeout_kept", late, 0.03, "keep")
    stray("timeout_reset", late, 0.03, "reset")
    stray("twice", poison_answer(), 0.01, "keep")
    stray("noise", b"\0" * 3, 0.02, "keep")
    stray("half", poison_answer()[:30], 0.02, "keep")
    site.misbehave("/second_answer_later", "second_answer_later")
    names = ("timeout_closed", "timeout_kept", "timeout_reset", "twice", "noise", "half", "second_answer_later")
    hosts = {name: f"{name.replace('_', '-')}.test" for name in names}
    for name, host in hosts.items():
        site.page("/", [f"/{name}", "/next", "/last"], host=host)
    for path in ("/next", "/last"):
        site.page(path)
    seeds = [site.at("/", host) for host in hosts.values()]
    crawled = crawl(tmp_path, seeds, *FAST, "--per-host", "1", "--delay", "1.5", *at_host(site, "*.test"))
    assert crawled.code == 0, crawled.stderr
    assert_clean(site)
    for name, host in hosts.items():
        for path in ("/", f"/{name}", "/next", "/last"):
            page = crawled.page(site.at(path, host))
            assert (page.status, page.title) == (200, path), (page, crawled.details[page.url])


def test_what_waits_inside_tls_is_nobody_s_answer(tmp_path: Path, authority: Authority, tls_site: TlsSites) -> None:
    """Two answers to one request, each in a record of its own: TLS takes both off the line before one is read."""
    strays = {
        "page": poison_answer(),
        "closes": sized(html_page("x"), "Connection: close"),
        "empty": head_of("Content-Length: 0"),
        "moved": head_of("Location: /stolen", "Content-Length: 0", status="302 Found"),
        "long": sized(html_page("x") + b" " * 5_000),
    }
    options = ["--ca", str(authority.certificate), "--delay", "0.1", "--sitemaps", "no"]
    sites: dict[str, Site] = {}
    for name, words in strays.items():

        async def twice(line: Line, request: Request, words: bytes = words) -> bool:
            await line.send(sized(own_page(request.path)), words)
            return True

        site = sites[name] = tls_site("good", f"{name}.test")
        for number in range(4):
            site.behave(f"/twice/{number}", twice)
        lay_out(site, [f"/twice/{number}" for number in range(4)], host=f"{name}.test", neighbours=True)
        options += at_host(site, f"{name}.test")
    crawled = crawl(tmp_path, [site.at("/") for site in sites.values()], *options)
    assert crawled.code == 0, crawled.stderr
    for site in sites.values():
        assert_clean(site)
        assert "/stolen" not in site.paths()
        for number in range(4):
            for path in (f"/twice/{number}", f"/next/{number}"):
                page = crawled.page(site.at(path))
                assert (page.status, page.title) == (200, path), (page, crawled.details[page.url])


def test_lines_with_tls_are_used_again(tmp_path: Path, authority: Authority, tls_site: TlsSites) -> None:
    """Answers of many forms, all in order: one line is enough for them."""
    site = tls_site("good", HOST)
    forms: list[Callable[[bytes], bytes]] = [
        sized,
        lambda body: CHUNKED + chunked(body, 500) + LAST,
        lambda body: sized(gzip.compress(body), "Content-Encoding: gzip"),
        lambda body: sized(body + b" " * 200_000),
        lambda body: b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + sized(body),
        lambda body: head_of("Content-Length: 0", status="404 None"),
    ]
    paths = [f"/{number}" for number in range(len(forms))]
    for path, form in zip(paths, forms, strict=True):
        raw(site, path, form)
    lay_out(site, paths)
    options = ("--ca", str(authority.certificate), "--delay", "0.05", "--sitemaps", "no", *at_host(site))
    crawled = crawl(tmp_path, [site.at("/")], *options)
    assert_healthy(crawled, site)
    assert len(site.requests) == 2 + len(paths) + len(GOOD)
    assert site.connections <= 2  # that of robots.txt may be left


def test_an_answer_that_comes_after_its_deadline_is_dropped(tmp_path: Path, site: Site) -> None:
    """The line of a request that was given up is closed, so its answer cannot be taken for the next one."""

    async def late(line: Line, request: Request) -> bool:
        await line.reader.read(1)  # the client has left, or asks for the next page
        await line.send(answer_bytes(Response(html_page("too late"))))
        return True

    site.behave("/late", late, host=HOST)
    lay_out(site, ["/late"], neighbours=True)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *HASTY, "--per-host", "1", "--delay", "0.1", *at_host(site))
    assert_healthy(crawled, site)
    assert_neighbours(crawled, site)
    assert crawled.page(site.at("/late", HOST)).error == "FIRST_BYTE_TIMEOUT"


def test_lines_that_die_between_requests_cost_no_page(tmp_path: Path, site: Site) -> None:
    """A server that closes after each second answer without a word: all pages are there, without a retry."""

    async def behave(line: Line, request: Request) -> bool:
        await line.send(answer_bytes(Response(html_page(request.path))))
        return line.asked < 2

    paths = [f"/{number}" for number in range(60)]
    for path in paths:
        site.behave(path, behave, host=HOST)
    lay_out(site, paths)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site))
    assert_healthy(crawled, site)
    for path in paths:
        page = crawled.page(site.at(path, HOST))
        assert page.title == path, (page, crawled.details[page.url])


def test_retries_follow_the_one_table(tmp_path: Path, site: Site) -> None:
    """errors.POLICIES: what may pass is tried again as often as --retries says, what cannot is not.

    No request is sent again behind our back: each waits its turn (promise 2), and `attempts` counts it.
    """
    again = ("reset_before_answer", "short_body", "random_bytes", "close_before_answer", "reset_mid_body")
    once = ("endless_headers", "status_999")
    for kind in (*again, *once):
        site.misbehave(f"/{kind}", kind, host=HOST)
    lay_out(site, [f"/{kind}" for kind in (*again, *once)])
    crawled = crawl(
        tmp_path, [site.at("/", HOST)], *FAST, "--retries", "1", "--per-host", "1", "--delay", "0.25", *at_host(site)
    )
    assert_healthy(crawled, site)
    assert site.hurry_s(0.25, HOST) < 0.2
    for kind in (*again, *once):
        attempts = 2 if kind in again else 1
        page = crawled.page(site.at(f"/{kind}", HOST))
        assert (page.attempts, site.asked(f"/{kind}")) == (attempts, attempts), page


def test_without_a_delay_no_page_is_asked_more_often_than_retries_allow(tmp_path: Path, site: Site) -> None:
    """What is lost on a connection that was used before is an attempt like any other, and counted."""
    kinds = ("reset_before_answer", "close_before_answer", "dies_on_reuse")
    paths = [f"/{kind}/{number}" for kind in kinds for number in range(4)]
    for path in paths:
        site.misbehave(path, path.split("/")[1], host=HOST)
    lay_out(site, paths, neighbours=True)
    options = ("--delay", "0", "--per-host", "2", "--retries", "1", "--sitemaps", "no")
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options, *at_host(site))
    assert_healthy(crawled, site)
    assert_neighbours(crawled, site)
    for url, page in crawled.pages.items():
        assert site.asked(url.partition(site.at("", HOST))[2]) <= page.attempts <= 2, page


# --- listeners and TLS

Greeting = Callable[[Line], Awaitable[bool]]


class H2Tls(Tls):
    """A server that agrees on HTTP/2."""

    def context(self) -> ssl.SSLContext:
        context = super().context()
        context.set_alpn_protocols(["h2"])
        return context


def _says(words: bytes, then: str = "close") -> Greeting:
    async def greet(line: Line) -> bool:
        await line.send(words)
        if then == "hang":
            return await line.hang()
        await line.settle(0.2)
        return await line.reset() if then == "reset" else False

    return greet


def _floods(first: bytes, piece: bytes) -> Greeting:
    """Frames without end, as fast as they are taken."""

    async def greet(line: Line) -> bool:
        await line.send(SETTINGS + first)
        return await line.pour(piece, limit_b=50_000_000)

    return greet


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


SETTINGS = _frame(4, 0, 0)
STATUS_200 = b"\x88"  # an entry of HPACK's own table
ENDED = (BAD, CUT, "CONNECTION_LOST", "EMPTY_ANSWER", "HEADERS_TOO_LARGE", "FIRST_BYTE_TIMEOUT", "READ_TIMEOUT")
GOODBYE = b"\0\0\x08\7\0\0\0\0\0" + b"\0\0\0\0" + b"\0\0\0\2"
H2_LIES: dict[str, tuple[Greeting, tuple[str, ...]]] = {
    "h2-plain.test": (_says(answer_bytes(Response(html_page("x")))), (BAD, "CONNECTION_LOST")),
    "h2-garbage.test": (_says(b"\xff" * 200), (BAD, "CONNECTION_LOST")),
    "h2-goodbye.test": (_says(SETTINGS + GOODBYE), (BAD, "CONNECTION_LOST", "EMPTY_ANSWER")),
    "h2-closes.test": (_says(b""), (BAD, "CONNECTION_LOST", "EMPTY_ANSWER")),
    "h2-resets.test": (_says(SETTINGS, "reset"), (BAD, "CONNECTION_LOST", "EMPTY_ANSWER")),
    "h2-stalls.test": (_says(SETTINGS, "hang"), ("FIRST_BYTE_TIMEOUT", "READ_TIMEOUT")),
    "h2-headers-only.test": (
        _says(SETTINGS + b"\0\0\x01\1\4\0\0\0\1\x88", "hang"),  # ":status: 200", and no end of the stream
        ("READ_TIMEOUT", "FIRST_BYTE_TIMEOUT"),
    ),
    "h2-short.test": (
        _says(SETTINGS + b"\0\0\x01\1\4\0\0\0\1\x88" + b"\0\0\5\0\0\0\0\0\1hello"),
        (CUT, BAD, "CONNECTION_LOST"),
    ),
    "h2-pings.test": (_floods(b"", _frame(6, 0, 0, b"12345678") * 200), ENDED),
    "h2-settings.test": (_floods(b"", _frame(4, 0, 0, b"\0\4\0\0\0\x64") * 200), ENDED),
    "h2-continuation.test": (_floods(_frame(1, 0, 1, STATUS_200), _frame(9, 0, 1, b"\x40\1a\1b" * 2_000)), ENDED),
    "h2-table-bomb.test": (
        _floods(_frame(1, 0, 1, STATUS_200 + b"\x40\1a\x7f\xe1\x1f" + b"x" * 4_096), _frame(9, 0, 1, b"\xbe" * 8_000)),
        ENDED,
    ),
    "h2-empty-data.test": (_floods(_frame(1, 4, 1, STATUS_200), _frame(0, 0, 1) * 500), ENDED),
    "h2-no-window.test": (_floods(_frame(1, 4, 1, STATUS_200), _frame(8, 0, 1, b"\0\0\0\0") * 100), ENDED),
    "h2-pushes.test": (_floods(b"", _frame(5, 4, 1, b"\0\0\0\2\x82\x87\x84") * 50), ENDED),
    "h2-strange.test": (_floods(b"", _frame(77, 0, 0, b"x" * 100) * 100), ENDED),
    "h2-no-status.test": (_says(SETTINGS + _frame(1, 4, 1, b"\x40\1a\1b") + _frame(0, 1, 1, b"hi")), ENDED),
    "h2-no-end.test": (_says(SETTINGS + b"\0\0\x01\1\0\0\0\0\1\x88", "hang"), ("FIRST_BYTE_TIMEOUT", "READ_TIMEOUT")),
}


@pytest.fixture
def listeners(authority: Authority, no_leaks: None) -> Iterator[Callable[..., Site]]:
    """Makes TLS servers that misbehave as soon as the handshake is over."""
    running: list[Site] = []

    def make(host: str, greeting: Greeting) -> Site:
        good = authority.issue(host, [host])
        site = Site(host=host, tls=H2Tls(good.certificate, good.key))
        site._on_connect = greeting
        running.append(site.start())
        return site

    yield make
    for one in running:
        one.close()


def test_broken_listeners_and_broken_tls(
    tmp_path: Path,
    site: Site,
    authority: Authority,
    listeners: Callable[..., Site],
    tls_site: Callable[[str, str], Site],
) -> None:
    """Whole servers that are broken: each seed has its cause, the good one its pages, and no answer is borrowed."""
    wanted: dict[str, tuple[str, ...]] = {}
    options: list[str] = ["--ca", str(authority.certificate)]
    for kind, expected in MISBEHAVIOURS.items():
        if expected.group in ("connections", "tls") and expected.listener:
            host = f"{kind.replace('_', '-')}.test"
            wanted[site.misbehave("/", kind, host=host)] = (*expected.outcomes, "CONNECT_TIMEOUT")
            options += at_host(site, host)
    for kind, expected in TLS_KINDS.items():
        host = f"{kind.replace('_', '-')}.test"
        one = tls_site(kind, host)
        one.page("/")
        wanted[one.at("/")] = tuple(expected.outcomes)
        options += at_host(one, host)
    for host, (greeting, outcomes) in H2_LIES.items():
        one = listeners(host, greeting)
        wanted[one.at("/")] = outcomes
        options += at_host(one, host)
    lay_out(site, [])
    crawled = crawl(tmp_path, [site.at("/", HOST), *wanted], *HASTY, *options, *at_host(site))
    pages = {url: crawled.page(url) for url in wanted}
    early = next(url for url in wanted if "speaks-first" in url)
    site.refused.remove("a TLS greeting on a plain port")  # plain_on_https
    del crawled.pages[early]  # what it says before it is asked may well be taken for its answer
    assert_healthy(crawled, site)
    for url, outcomes in wanted.items():
        assert outcome_of(pages[url]) in outcomes, (pages[url], outcomes, crawled.details.get(url))
        assert pages[url].state != "C" or pages[url].title == "/" or url == early
