"""The site whose crawl lies in ``folders``, killed half way, for each version whose folders must still be read.

``python tests/support/old_folder.py NAME`` makes ``folders/NAME.zip`` with the weft of this tree.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stored import ROOT, build, run_weft
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
    with tempfile.TemporaryDirectory() as made, Site() as site:
        folder = Path(made, "crawl")
        command = [sys.executable, "-m", "weft", "crawl", SEED, "-o", str(folder), "--proxy", serve(site), *OPTIONS]
        running = subprocess.Popen([*command, "--delay", "0.3"])
        while _visits(folder) < VISITS_BEFORE_THE_KILL and running.poll() is None:
            time.sleep(0.1)
        running.send_signal(signal.SIGKILL)
        running.wait()
        shutil.make_archive(str(FOLDERS / name), "zip", made, "crawl")


def _visits(folder: Path) -> int:
    rows = run_weft("pages", folder, "--format", "jsonl", cwd=Path.cwd()).stdout if folder.exists() else b""
    return len(rows.splitlines())


if __name__ == "__main__":
    make(sys.argv[1])
