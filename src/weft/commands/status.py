"""weft status: how far a crawl is."""

from __future__ import annotations

import argparse

import msgspec

from weft.derive.read import StoredCrawl
from weft.observe import human_bytes, human_seconds


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        status = crawl.status()
    if args.json:
        print(msgspec.json.encode(status).decode())
        return 0
    why = f" ({status.stop_reason})" if status.stop_reason and status.stop_reason != status.state else ""
    print(
        f"{status.folder}: {status.state}{why}, {human_seconds(status.elapsed_s)} at {status.pages_per_s:,.1f} pages a second"
    )
    print(
        f"  pages {status.pages:,}  links {status.links:,}  hosts {status.hosts:,}  received {human_bytes(status.bytes)}"
    )
    print(f"  known {status.known:,}: waiting {status.waiting:,}, running {status.running:,}, completed {status.completed:,},"
          f" errors {status.errors:,}, refused {status.refused:,}")  # fmt: skip
    if status.bugs:
        print(
            f"  {status.bugs} pages met a bug in weft: sqlite3 {status.folder}/crawl.db 'SELECT url, traceback FROM bug'"
        )
    return 0
