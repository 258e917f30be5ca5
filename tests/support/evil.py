"""A crawl of a site whose texts try to break out of the page that shows them."""

from __future__ import annotations

from pathlib import Path

from command import run_weft
from web import Response, Site

EVIL = (
    "</script><script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "<!--<script>",
    "]]><svg onload=window.pwned=1>",
    "left \u202e thgir \u2066 \u200f",
    "nul \x00 bell \x07 line \u2028 end",
    "&lt;b&gt; & <b>bold</b>",
)


def build_evil(site: Site) -> None:
    """A site that tries to write into the report: by titles, anchors, URLs and languages."""
    links: list[str | tuple[str, str]] = []
    for number, words in enumerate(EVIL):
        body = f"<html lang='\"><script>window.pwned=1</script>'><title>{words.replace('<', '&lt;')}</title>x{number}"
        site.respond(f"/{number}", Response(body=body.encode("utf-8", "replace")))
        links += [f"/{number}", (f"/gone/{number}/'\"><script>window.pwned=1</script>", words.replace("<", "&lt;"))]
    site.respond("/type", Response(body=b"x", headers=[("Content-Type", "text/<script>window.pwned=1</script>")]))
    links += ["/type", "http://evil.test/%22%3E%3Cscript%3E", "javascript:window.pwned=1", "/a'b\"c"]
    site.page("/", links, title="start")


def crawl_evil(folder: Path) -> Path:
    with Site() as site:
        build_evil(site)
        run = run_weft("crawl", site.at("/"), "-o", "evil", "--delay", "0", "--quiet", "--retries", "0", cwd=folder)
        assert run.code == 0, run.stderr
    return folder / "evil"
