"""Main texts of real pages: articles that people have marked, and manuals of which nothing may be lost (E14).

The floors are a little below what was measured. Where one falls, a change has made main texts worse.
"""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from shingles import mean_of, score_of
from turbohtml import parse

from weft.extract.main_text import read_main_text
from weft.parse.text import document_of

ROOT = Path(__file__).resolve().parents[2]
ARTICLES = ROOT.parent / "shared" / "pages" / "articles.zip"
MANUALS = Path("/usr/share/doc")
LEAST_F1 = 0.97
PAGES = 8
"""How many pages of each manual are read, always the same."""


class Manual(NamedTuple):
    """A manual of a Debian package: its pages, the elements that hold their text, and furniture within these."""

    pages: str
    text: str
    furniture: str
    precision: float = 0.95
    recall: float = 0.995


BOOKS = {
    "postgresql-doc-15": Manual("html/*.html", "body", ".navheader,.navfooter"),
    "debian-handbook": Manual("html/*/*.html", "body", "#banner,.docnav"),
    "installation-guide-amd64": Manual("*/*.html", "body", ".navheader,.navfooter"),
    "harden-doc": Manual("html/*/*.html", "body", ".docnav"),
    "python-django-doc": Manual("html/**/*.html", "#yui-main", ".nav,#global-nav,.headerlink", precision=0.9),
    "python3.11": Manual("html/**/*.html", "[role=main]", ".headerlink"),
    "nodejs": Manual("api/*.html", "#apicontent", ".mark,#gtoc", precision=0.85),
    "debian-policy": Manual("policy.html/*.html", "[role=main]", ".headerlink"),
}


@pytest.mark.skipif(not ARTICLES.exists(), reason="the marked articles are not at ../shared/pages")
def test_main_texts_of_articles() -> None:
    with zipfile.ZipFile(ARTICLES) as archive:
        scores = []
        for line in archive.read("articles.jsonl").decode().splitlines():
            article = json.loads(line)
            document = document_of(archive.read(article["file"]), "text/html")
            assert document is not None
            scores.append(score_of(article["body"], read_main_text(document, article["url"]).text))
    assert len(scores) == 93
    assert mean_of(scores).f1 >= LEAST_F1


@pytest.mark.parametrize("package", BOOKS)
def test_nothing_of_a_manual_is_lost(package: str) -> None:
    manual = BOOKS[package]
    paths = sorted(path for path in (MANUALS / package).glob(manual.pages) if 1_500 < path.stat().st_size < 400_000)
    if not paths:
        pytest.skip(f"the Debian package with {MANUALS / package} is not installed")
    scores = []
    for path in random.Random(5).sample(paths, min(PAGES, len(paths))):
        body = path.read_bytes()
        wanted = parse(body)
        wanted.remove(f"script,style,template,noscript,button,input,select,{manual.furniture}")
        marked = "\n".join(element.to_text() for element in wanted.select(manual.text))
        document = document_of(body, "text/html")
        assert document is not None
        scores.append(score_of(marked, read_main_text(document, f"https://manual.test/{path.name}").text))
    mean = mean_of(scores)
    assert mean.recall >= manual.recall, sorted(scores, key=lambda score: score.recall)[:3]
    assert mean.precision >= manual.precision, sorted(scores)[:3]
