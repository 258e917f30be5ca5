"""What rendering has brought: of one page, and of a whole crawl with the templates that ``auto`` has learnt of."""

from __future__ import annotations

import msgspec

from weft.derive.body import answer_of_visit, body_of
from weft.derive.read import StoredCrawl
from weft.errors import SpecError, WeftError
from weft.fetch.browser.choice import Template, template_of
from weft.spec import RenderMode

TEMPLATES_SHOWN = 100
GIVEN_UP = "'the browser could not render the page%'"
"""How the note of a page begins that could not be rendered."""


class TemplateSays(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the pages of one template; ``rendered`` is what was decided, null for too few samples."""

    example: str
    rendered: bool | None
    samples: int
    gained: int
    skipped: int
    late: int  # pages to which rendering brought something after others had been left out

    @property
    def sentence(self) -> str:
        brought = f"rendering brought links or text to {self.gained:,} of {self.samples:,} pages of its template"
        if self.rendered is None:
            return f"{brought}, which is too few to decide"
        return f"{brought}, so the others are {'rendered, too' if self.rendered else 'taken as they are received'}"


class PageRendering(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a page was rendered, what that brought, and why."""

    rendered: bool
    requests: int = 0
    took_ms: int = 0
    new_links: int = 0
    new_text: int = 0
    note: str | None = None
    template: TemplateSays | None = None


class CrawlRendering(msgspec.Struct, frozen=True, kw_only=True):
    """Rendered pages of a crawl: how many, how many of them gained something, and the templates with most pages."""

    pages: int
    gained: int
    failed: int  # the browser could not render them
    requests: int
    templates: list[TemplateSays]


def rendering_of_crawl(crawl: StoredCrawl) -> CrawlRendering | None:
    """The sums of a crawl; None where nothing was to be rendered."""
    db = crawl.connection
    pages, gained, failed, requests = db.execute(_SUMS).fetchone()
    rows = db.execute(f"{_TEMPLATES} ORDER BY samples + skipped DESC, key LIMIT ?", (TEMPLATES_SHOWN,))
    templates = [_says(Template(*row)) for row in rows]
    if not pages and not templates:
        return None
    return CrawlRendering(
        pages=pages, gained=gained or 0, failed=failed or 0, requests=requests or 0, templates=templates
    )


def rendering_of_page(crawl: StoredCrawl, page: int) -> PageRendering | None:
    """What came of rendering a page; None in a crawl without rendering, and for what is no page that was answered."""
    try:
        mode = crawl.spec.browser.render
    except (SpecError, OSError):
        return None
    row = crawl.connection.execute("SELECT visit FROM page WHERE id = ? AND state = 'C'", (page,)).fetchone()
    if mode is RenderMode.NO or row is None or row[0] is None:
        return None
    template = _template_of(crawl, row[0]) if mode is RenderMode.AUTO else None
    found = crawl.connection.execute(_PAGE, row).fetchone()
    if found is None:
        return PageRendering(rendered=False, template=template)
    requests, took_ms, new_links, new_text, note, is_kept = found
    return PageRendering(
        rendered=bool(is_kept), requests=requests, took_ms=took_ms, new_links=new_links, new_text=new_text, note=note,
        template=template,
    )  # fmt: skip


def _template_of(crawl: StoredCrawl, visit: int) -> TemplateSays | None:
    answer = answer_of_visit(crawl, visit)
    if answer is None:
        return None
    try:
        key = template_of(answer.url, body_of(crawl, answer))
    except WeftError:  # its body is not kept
        return None
    row = crawl.connection.execute(f"{_TEMPLATES} WHERE key = ?", (key,)).fetchone()
    return None if row is None else _says(Template(*row))


def _says(template: Template) -> TemplateSays:
    return TemplateSays(
        example=template.example, rendered=template.decided, samples=template.samples, gained=template.gained,
        skipped=template.skipped, late=template.late,
    )  # fmt: skip


_TEMPLATES = "SELECT key, example, samples, gained, skipped, late FROM template"
_PAGE = (
    f"SELECT requests, took_ms, new_links, new_text, note, note IS NULL OR note NOT LIKE {GIVEN_UP} FROM rendering"
    " WHERE visit = ?"
)
_SUMS = (
    f"SELECT count(*), sum(new_links > 0 OR new_text > 200), sum(note LIKE {GIVEN_UP}), sum(requests) FROM rendering"
)
