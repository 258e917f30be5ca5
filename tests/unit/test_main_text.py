"""Main texts (E14): what is kept of a page and what is not, its Markdown, its metadata, its language.

``tests/support/marked_pages`` are pages of our own, written after pages of many kinds: between ``<!--wanted-->`` and
``<!--end-->`` stands the part that a reader wants. Real pages are in ``tests/real/test_main_texts.py``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from shingles import score_of
from turbohtml import parse

from weft.extract.language import detected_language, stem_of, stop_words
from weft.extract.main_text import MainText, read_main_text, read_plain_text
from weft.extract.main_text.names import Role, role_of
from weft.records import PageText

SUPPORT = Path(__file__).resolve().parents[1] / "support"
MARKED = sorted(SUPPORT.glob("marked_pages/*.html"))
ARTICLES = {"article-among-others.html", "article-news.html", "article-plain.html"}
LEAST_PRECISION = 0.9
PROSE = "A sentence that is long enough to count as prose, and says as little as it can. "


def read(markup: str, url: str = "https://web.test/news/story.html", keywords: int = 0) -> MainText:
    return read_main_text(parse(markup.encode()), url, keywords=keywords)


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
def test_a_page_keeps_all_that_a_reader_wants(path: Path) -> None:
    markup = path.read_text()
    found = read(markup, f"https://web.test/{path.name}")
    assert found.is_article == (path.name in ARTICLES)
    wanted = parse(f"<body>{' '.join(re.findall('(?s)<!--wanted-->(.*?)<!--end-->', markup))}")
    if found.is_article:
        wanted.remove("h1")  # the title is no part of the text of an article
    score = score_of(wanted.to_text(), found.text)
    assert score.recall == 1.0, found.text
    assert score.precision >= LEAST_PRECISION, found.text


def test_there_are_marked_pages() -> None:
    assert len(MARKED) >= 15


def test_captions_stand_in_the_markdown_of_an_article_only() -> None:
    found = read((MARKED[0].parent / "article-news.html").read_text())
    assert "Photo: A. Brandt" not in found.text
    assert "Photo: A. Brandt" in found.markdown
    assert "![The tram](https://web.test/news/tram.jpg)" in found.markdown


def test_markdown_has_structure_and_absolute_links() -> None:
    found = read(
        f"""<head><base href="/docs/"></head><body><main><h2>Setup</h2><p>{PROSE}<a href="x?a=1">See</a>
        <a href="#here">here</a> <a href="../y">up</a></p><ul><li>one<ol><li>two</li></ol></li></ul>
        <pre>a =  1\n  b</pre><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
        <img src="data:image/gif;base64,R0lGOD" data-src="late.png" alt="late"><img alt="nothing">a&nbsp;b</main>"""
    )
    assert "## Setup" in found.markdown
    assert "[See](https://web.test/docs/x?a=1)" in found.markdown
    assert "[here](https://web.test/docs/#here)" in found.markdown
    assert "[up](https://web.test/y)" in found.markdown
    assert "- one\n  1. two" in found.markdown
    assert "```\na =  1\n  b\n```" in found.markdown
    assert "| A | B |\n| --- | --- |\n| 1 | 2 |" in found.markdown
    assert "![late](https://web.test/docs/late.png)" in found.markdown
    assert "nothing" not in found.markdown
    assert "a b" in found.markdown
    assert "See" in found.text
    assert "http" not in found.text


def test_hidden_text_is_no_text_unless_it_is_nearly_all() -> None:
    hidden = f'<div style="display: none">{PROSE * 3}hidden words</div>'
    assert "hidden words" not in read(f"<body><article><p>{PROSE * 9}</p></article>{hidden}").text
    assert "hidden words" in read(f"<body><p>Short.</p>{hidden}").text


def test_a_forum_is_no_article_though_its_contributions_are_called_so() -> None:
    post = f'<div class="post-content"><p>{PROSE * 4}</p></div><div class="comment">a remark on number {{}}</div>'
    found = read("<body>" + "".join(post.format(number) for number in range(4)))
    assert not found.is_article
    assert all(f"a remark on number {number}" in found.text for number in range(4))


def test_the_home_page_of_a_site_is_no_article() -> None:
    markup = f'<meta property="og:type" content="article"><body><div class="comment">{PROSE}</div><p>{PROSE * 5}'
    assert read(markup).is_article
    assert not read(markup, "https://web.test/").is_article
    assert not read(markup, "https://web.test").is_article


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("sidebar", Role.FURNITURE), ("main-nav", Role.FURNITURE), ("siteFooter", Role.FURNITURE),
        ("nav_top", Role.FURNITURE), ("widget ads", Role.FURNITURE), ("relatedPosts", Role.BESIDE),
        ("post-comments", Role.BESIDE), ("article-body", Role.MAIN), ("storyBody", Role.MAIN),
        ("entry-content clearfix", Role.MAIN), ("headline", Role.UNKNOWN), ("has-sidebar", Role.UNKNOWN),
        ("downloads", Role.UNKNOWN), ("navy", Role.UNKNOWN), ("shadow", Role.UNKNOWN),
        ("slider-nav-light", Role.BESIDE),
        ("", Role.UNKNOWN),
    ],
)  # fmt: skip
def test_names_are_compared_word_by_word(name: str, role: Role) -> None:
    assert role_of(name) is role


# ---- metadata


def test_metadata_come_from_json_ld_first() -> None:
    found = read(
        """<head><title>t</title><meta property="og:title" content="og"><meta name=author content="meta">
        <script type="application/ld+json">{"@graph": [{"@type": "WebPage", "name": "x"}, {"@type": ["NewsArticle"],
        "headline": " The  headline ", "author": [{"name": "A. One"}, {"name": "B. Two"}, {"name": "A. One"}],
        "datePublished": "2026-02-03T04:05:06Z"}]}</script></head><body><h1>h</h1>"""
    )
    metadata = found.metadata
    assert (metadata.title, metadata.author) == ("The headline", "A. One, B. Two")
    assert metadata.published == "2026-02-03T04:05:06Z"
    assert metadata.opengraph == {"og:title": "og"}
    assert metadata.json_ld[0]["@graph"][0]["name"] == "x"  # type: ignore[index, call-overload]


def test_metadata_without_json_ld() -> None:
    found = read(
        """<meta property="og:title" content="From OpenGraph"><meta name="author" content="By Ann Other">
        <meta property="article:published_time" content="on 2026-02-03 04:05"><meta name="description" content="d">"""
    ).metadata
    assert (found.title, found.author, found.published, found.description) == (
        "From OpenGraph", "Ann Other", "2026-02-03T04:05", "d",
    )  # fmt: skip
    seen = read("""<h1>Seen</h1><a rel=author href=/x>Bo Th</a><time datetime="2026-01-02">yesterday</time>""").metadata
    assert (seen.title, seen.author, seen.published) == ("Seen", "Bo Th", "2026-01-02")
    assert read('<meta name=author content="https://web.test/people/x">').metadata.author == ""


@pytest.mark.parametrize("broken", ['{"@type": "NewsArticle", "headline": ', "[" * 100_000, "[NaN]", "", '"\\ud800"'])
def test_broken_json_ld_is_passed_over(broken: str) -> None:
    good = '<script type="application/ld+json">{"@type": "Article", "headline": "good"}</script>'
    found = read(f'<script type="application/ld+json">{broken}</script>{good}').metadata
    assert found.title == "good"


def test_a_row_of_the_database_holds_it_all() -> None:
    found = read((MARKED[0].parent / "article-news.html").read_text(), keywords=5)
    row = found.stored()
    again = MainText.of_row(msgspec.convert(list(msgspec.structs.astuple(row)), PageText), 5)
    assert (again.text, again.markdown, again.language) == (found.text, found.markdown, "en")
    assert again.is_article
    assert again.keywords == found.keywords
    for name in ("title", "author", "published", "description", "json_ld", "opengraph"):
        assert getattr(again.metadata, name) == getattr(found.metadata, name), name


# ---- hostile pages


@pytest.mark.parametrize(
    "markup",
    [
        '<div class="sidebar">' * 480 + ("<p>" + PROSE) * 20_000,
        "<div class=nav>" * 480 + f"<a href=x>{PROSE}</a>" * 20_000,
        "<blockquote>" * 480 + "x<br>" * 20_000,
        "<table>" + f"<tr><td colspan=1000 rowspan=1000>{PROSE}" * 2_000,
        "<p>" + "a" * 2_000_000,
        "<p>" + "a-" * 500_000,
    ],
    ids=["deep prose", "deep links", "quotes", "spans", "a long word", "hyphens"],
)
def test_a_page_made_to_cost_time_keeps_its_text(markup: str) -> None:
    found = read(f"<body>{markup}", keywords=3)
    assert found.text
    assert found.markdown


def test_the_work_for_one_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.extract.main_text import effort

    markup = f"<body><article><p>{PROSE * 9}</p></article><div class=comments><p>{PROSE * 3} and a remark</p></div>"
    assert "and a remark" not in read(markup).text
    monkeypatch.setattr(effort, "_SPARE", 0)
    monkeypatch.setattr(effort, "_TIMES_READ", 1)
    assert "and a remark" in read(markup).text  # nothing was judged, nothing is lost


@pytest.mark.parametrize("markup", ["", "<p>", "<frameset><frame src=x></frameset>", "<title>only</title>", "\0"])
def test_pages_without_a_text(markup: str) -> None:
    found = read(markup, keywords=3)
    assert found.text.strip() == ""


# ---- languages

SENTENCES: dict[str, str] = json.loads((SUPPORT / "sentences.json").read_text())
"""A sentence or two in each language."""


@pytest.mark.parametrize("language", SENTENCES)
def test_languages_are_told_by_letters_and_stop_words(language: str) -> None:
    assert detected_language(SENTENCES[language]) == language


@pytest.mark.parametrize("text", ["", "42", "xyz", "qwe rty uio asd fgh jkl zxc vbn", "1 2 3 " * 100])
def test_a_text_that_says_nothing_has_no_language(text: str) -> None:
    assert detected_language(text) is None


def test_what_the_page_says_of_its_language_comes_first() -> None:
    body = f"<body><p>{SENTENCES['de']}</p>"
    assert read(f"<html>{body}").language == "de"
    assert read(f'<html lang="sl">{body}').language == "sl"
    assert read_main_text(parse(f'<html lang="sl">{body}'), "https://web.test/a", language="fr").language == "fr"
    assert read_plain_text(SENTENCES["ru"]).language == "ru"


@pytest.mark.parametrize("language", ["sl", "ru", "el", "fa", "en", "de", "fr", "es", "it", "pt", "nl", "pl"])
def test_the_languages_of_the_seeds_and_the_large_ones_have_stop_words(language: str) -> None:
    assert len(stop_words(language)) > 100
    assert stop_words(f"{language}-XX") == stop_words(language)


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", "crawl crawls crawled crawling"), ("de", "spinne spinnen"), ("ru", "закон закона законы"),
        ("el", "νόμος νόμου"), ("fr", "pages page"), ("sl", "mesto mesta mestu mestom mestih"),
        ("sl", "pajek pajka"),
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(language: str, forms: str) -> None:
    stems = {stem_of(form, language) for form in forms.split()}
    assert len(stems) == (2 if forms == "pajek pajka" else 1), stems  # Slovene: endings only, no fleeting vowels


def test_a_language_without_a_stemmer_leaves_words_as_they_are() -> None:
    assert stem_of("słowa", "xx") == "słowa"
