"""weft show: one stored page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from weft.derive.body import Answer, answer_of, body_of, never_answered, page_of, rendered_of
from weft.derive.nearest import nearest_urls
from weft.derive.read import Page, StoredCrawl
from weft.errors import WeftError
from weft.text.human import command, counted
from weft.text.safe import piped_text, shown, shown_text


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        url = crawl.whole_url(args.url)
        page_id = crawl.page_id(url)
        page = crawl.page_by_id(page_id) if page_id is not None else None
        if page_id is None or page is None:
            raise WeftError(_not_known(crawl, url))
        answer = answer_of(crawl, page_id)
        if not (args.headers or args.body or args.text or args.markdown or args.rendered):
            print("\n".join(shown(line) for line in _summary(page, answer)))
            return 0
        if answer is None:
            raise WeftError(f"{page.url} was never asked ({command('why', crawl.folder.path, page.url)} tells more)")
        if args.headers:
            _print_headers(answer)
        elif args.rendered:
            _print_rendered(rendered_of(crawl, answer))
        elif args.body:
            _print_body(body_of(crawl, answer), answer)
        elif args.text:
            _print_text(_visible_text_of(*page_of(crawl, answer)))
        else:
            _print_text(_markdown_of(crawl, answer))
    return 0


def _not_known(crawl: StoredCrawl, url: str) -> str:
    near = nearest_urls(crawl, url)
    like = f"; like it are: {', '.join(near)}" if near else ""
    return f"{url} is no page of the crawl in {crawl.folder.path}{like}"


def _print_headers(answer: Answer) -> None:
    if answer.head is None:
        raise never_answered(answer)
    if sys.stdout.isatty():
        print(shown_text(answer.head).rstrip("\n"))
    else:
        sys.stdout.buffer.write(answer.head.encode("latin-1", "replace"))


def _print_body(body: bytes, answer: Answer) -> None:
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(body)
        return
    from weft.parse.content import charset_of, decode, field_that_counts, sniff_encoding

    content_type = field_that_counts(answer.header_values("content-type"))
    if b"\0" in body[:65_536] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise WeftError(
            f"the body of {answer.url} is no text ({content_type}, {counted(len(body), 'byte')}):"
            " send it to a file with > FILE"
        )
    print(shown_text(decode(body, sniff_encoding(body, charset_of(content_type)))))


def _print_rendered(html: bytes) -> None:
    if sys.stdout.isatty():
        print(shown_text(html.decode("utf-8", "replace")))
    else:
        sys.stdout.buffer.write(html)


def _visible_text_of(body: bytes, content_type: str | None) -> str:
    from weft.parse.text import visible_text

    return visible_text(body, content_type)


def _markdown_of(crawl: StoredCrawl, answer: Answer) -> str:
    from weft.derive.texts import main_text_of

    if answer.status is None:
        raise never_answered(answer)
    found = main_text_of(crawl, answer.visit)
    if found is None:
        raise WeftError(f"the body of {answer.url} is no text")
    return found.markdown


def _print_text(text: str) -> None:
    if sys.stdout.isatty():
        print(shown_text(text))
    else:
        sys.stdout.buffer.write(piped_text(text).encode("utf-8", "replace") + (b"" if text.endswith("\n") else b"\n"))


def _summary(page: Page, answer: Answer | None) -> Iterator[str]:
    outcome = str(page.status) if page.status is not None else page.error or page.reason or "not asked yet"
    yield page.url
    detail = f" ({answer.detail})" if answer is not None and answer.detail else ""
    yield f"  {'state':<12}{page.state or 'refused'}, {outcome}{detail}"
    shown_fields = {
        "title": page.title,
        "type": _kind(page),
        "language": page.language,
        "description": page.description,
        "size": f"{counted(page.size, 'byte')} ({page.size_wire or 0:,} received)" if page.size is not None else None,
        "fetched": f"{page.fetched_at} in {page.response_ms} ms from {page.ip}"
        if page.fetched_at is not None
        else None,
        "protocol": f"HTTP/{page.http_version}" if page.http_version is not None else None,
        "modified": page.last_modified,
        "redirect to": page.redirect_to,
        "canonical": page.canonical,
        "duplicate of": page.duplicate_of,
        "found on": page.found_on,
        "depth": str(page.depth),
        "links": f"{page.out_links:,}, {page.external_links:,} of them to other sites" if page.status else None,
        "says": ", ".join(word for word in ("noindex", "nofollow") if getattr(page, word)) or None,
        "key": page.key if page.key != page.url else None,
        "stored": f"warc/{answer.file} at {answer.offset}" if answer is not None and answer.file is not None else None,
    }
    for name, text in shown_fields.items():
        if text:
            yield f"  {name:<12}{text}"


def _kind(page: Page) -> str | None:
    cut = ", cut at --max-size" if page.truncated else ""
    return f"{page.type}{f', {page.encoding}' if page.encoding else ''}{cut}" if page.type else None
