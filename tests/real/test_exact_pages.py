"""Exact page sets of real documentation served by a real nginx (R2, R3, E9): nothing missing, nothing more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Weft
from nginx import DOCUMENTATION, Nginx

from weft.url import host_of


def test_debian_documentation_is_found_exactly(weft: Weft, nginx_folder: Callable[..., Nginx]) -> None:
    """All packages in one crawl, each a site of its own, scope host: the 200 HTML pages of each."""
    packages = {
        name: place for name, place in DOCUMENTATION.items() if place.pages is not None and Path(place.folder).is_dir()
    }
    if not packages:
        pytest.skip("none of the Debian documentation packages is installed")
    hosts = {f"{name.replace('.', '-')}.test": place for name, place in packages.items()}
    server = nginx_folder({host: place.folder for host, place in hosts.items()})
    seeds = [server.at(place.start, host) for host, place in hosts.items()]
    ended = weft(
        "crawl",
        *seeds,
        "-o",
        "docs",
        "--resolve",
        "*.test=127.0.0.1",
        "--delay",
        "0",
        "--per-host",
        "8",
        "--quiet",
        timeout=300,
    )
    assert ended.code == 0, ended.stderr
    pages = [json.loads(line) for line in weft("pages", "docs", timeout=300).stdout.splitlines()]
    html = Counter(host_of(page["url"]) for page in pages if page["status"] == 200 and page["type"] == "text/html")
    assert html == {host: place.pages for host, place in hosts.items()}
    checked = weft("check", "docs", timeout=300)
    assert checked.code == 0, checked.stdout + checked.stderr
