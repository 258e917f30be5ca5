"""The site whose crawl lies in ``folders``, killed half way, for each version whose folders must still be read.

``python tests/support/old_folder.py NAME`` makes ``folders/NAME.zip`` with the weft of this tree.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from command import ROOT, Weft, run_weft
from stored import build
from web import Site

FOLDERS = ROOT / "tests" / "support" / "folders"
SEED = "http://folder.test/"
OPTIONS = ("--retries", "0", "--max-depth", "3", "--per-host", "1", "--quiet")
VISITS_BEFORE_THE_KILL = 7


def serve(site: Site) -> str:
    """Has the site stand behind a proxy, so that its URLs have no port; the address of that proxy."""
    build(site)
    site.robots("User-agent: *\nAllow: /private/open\nDisallow: /private\nSitemap: /sitemap.xml\n")
    entry = f"<url><loc>{SEED}mapped</loc></url>"
    urlset = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entry}</urlset>'
    site.file("/sitemap.xml", urlset.encode(), "application/xml")
    return site.url


def make(name: str) -> None:
    """Crawls the site until some URLs were tried, kills the crawl and packs its folder."""
    with tempfile.TemporaryDirectory() as made, Site() as site, Weft(Path(made)) as weft:
        folder = Path(made, "crawl")
        running = weft.start("crawl", SEED, "-o", folder, "--proxy", serve(site), *OPTIONS, "--delay", "0.3")
        while _visits(folder) < VISITS_BEFORE_THE_KILL and running.poll() is None:
            time.sleep(0.1)
        weft.kill(running)
        running.wait()
        shutil.make_archive(str(FOLDERS / name), "zip", made, "crawl")


def _visits(folder: Path) -> int:
    rows = run_weft("pages", folder, "--format", "jsonl", cwd=Path.cwd()).out if folder.exists() else b""
    return len(rows.splitlines())


if __name__ == "__main__":
    make(sys.argv[1])
