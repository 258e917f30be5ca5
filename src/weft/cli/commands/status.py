"""weft status: how far a crawl is."""

from __future__ import annotations

import argparse

from weft.cli.machine import print_json
from weft.derive.read import StoredCrawl
from weft.text.human import counted, human_bytes, human_seconds


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        status = crawl.status()
    if args.json:
        print_json(status)
        return 0
    why = f" ({status.stop_reason})" if status.stop_reason and status.stop_reason != status.state else ""
    pace = f"{human_seconds(status.elapsed_s)} at {status.pages_per_s:,.1f} pages a second"
    print(f"{status.folder}: {status.state}{why}, {pace}")
    received = human_bytes(status.bytes)
    print(f"  pages {status.pages:,}  links {status.links:,}  hosts {status.hosts:,}  received {received}")
    print(
        f"  known {status.known:,}: waiting {status.waiting:,}, running {status.running:,},"
        f" completed {status.completed:,}, errors {status.errors:,}, refused {status.refused:,},"
        f" by robots.txt {status.robots_refused:,}"
    )
    if status.bugs:
        query = f"sqlite3 {status.folder}/crawl.db 'SELECT url, traceback FROM bug'"
        print(f"  {counted(status.bugs, 'page')} met a bug in weft: {query}")
    return 0
