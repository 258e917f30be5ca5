"""A mirror with rewritten links, opened from disk in a real browser: no request leaves it, styles apply, links work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import chromium
import nginx
import pytest
from command import call

pytestmark = pytest.mark.skipif(chromium.program() is None, reason="Chromium is not installed")

ASSETS = ("--match", "name", "--follow", "+style,+image,+script", "--sitemaps", "no")


def test_a_manual_is_browsed_from_disk(nginx_docs: Callable[[str], nginx.Nginx], tmp_path: Path) -> None:
    """Django's manual; its styles import each other, so what lies beside them is given as start addresses, too."""
    server = nginx_docs("python-django-doc")
    start = server.at("/index.html")
    options = ("--delay", "0", "--per-host", "8", "--quiet", *ASSETS)
    static = Path(nginx.DOCUMENTATION["python-django-doc"].folder) / "_static"
    assets = [server.at(f"/_static/{path.name}") for path in sorted(static.iterdir()) if path.is_file()]
    assert call("crawl", start, *assets, "-o", tmp_path / "c", *options).code == 0
    made = call("export", tmp_path / "c", "--as", "mirror", "--to", tmp_path / "m", "--rewrite-links", "--json")
    assert made.code == 0, made.stderr
    files = dict(line.split("\t") for line in (tmp_path / "m" / "files.tsv").read_text().splitlines()[1:])
    styles = [path for path in files.values() if path.endswith(".css")]
    assert styles, "the crawl brought no style"
    with chromium.Chromium() as browser:
        for url in [start, *[one for one in files if one.endswith(".html")][1:6]]:
            browser.open(tmp_path / "m" / files[url])
            links = json.loads(browser.run(_LINKS))
            inner = [link for link in links if link.startswith("file:")]
            assert inner
            for link in inner:
                assert browser_file(link).is_file(), f"{url}: {link}"
            assert browser.run(_STYLED), f"{url}: no style is applied"
            assert not [asked for asked in browser.asked if not asked.startswith(("file:", "data:"))]


def browser_file(link: str) -> Path:
    from urllib.parse import unquote, urlsplit

    return Path(unquote(urlsplit(link).path))


_LINKS = "JSON.stringify([...document.querySelectorAll('a[href]')].map(a => a.href))"
_STYLED = "[...document.styleSheets].some(s => s.href && s.href.startsWith('file:'))"
