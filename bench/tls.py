"""TLS with many hosts: how many handshakes a crawl asks for, and what it costs.

    python bench/tls.py                   500 hosts with certificates of their own, 10 pages each
    python bench/tls.py --hosts 40 --pages 3

Once with a server that keeps connections open, once with one that closes them after each answer; then sessions have to
be taken up again. Handshakes are counted by the server. Needs the ``openssl`` command, 3.0 or newer.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from process import command_of, cost_of, environment, teller, use_source_tree

use_source_tree()

from tlsweb import TlsHosts  # noqa: E402 - found only now


def measured(args: argparse.Namespace, say: Callable[[str], None]) -> dict[str, object]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="weft-tls-") as name:
        place = Path(name)
        certificates, folder, log, seeds = (place / part for part in ("certificates", "crawl", "log", "seeds"))
        certificates.mkdir()
        for closing in (False, True):
            shutil.rmtree(folder, ignore_errors=True)
            with TlsHosts(certificates, args.hosts, args.pages, closing=closing) as web:
                seeds.write_text("\n".join(web.seeds), encoding="utf-8")
                words = [*command_of(args.weft), "crawl", str(seeds), "-o", str(folder), "--ca", str(web.authority)]
                words += ["--resolve", "*.test=127.0.0.1", "--delay", "0", "--processes", "1", "--quiet"]
                cost = cost_of([*words, "--trap-hosts-per-domain", "0"], log, environment())
            if cost.exit_code:
                sys.exit(f"exit code {cost.exit_code}: {log.read_text(encoding='utf-8', errors='replace')[-500:]}")
            row = {"closing": closing, "cpu_s": cost.cpu_s, "hosts": args.hosts, **web.counts}
            rows.append(row)
            say(
                f"{'closed after each answer' if closing else 'kept open':25} {row['requests']:,} requests to"
                f" {args.hosts:,} hosts: {row['full']:,} full handshakes, {row['resumed']:,} resumed,"
                f" {1000 * cost.cpu_s / web.counts['requests']:.2f} ms CPU a request"
            )
    return {"rows": rows}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--pages", type=int, default=10, help="of each host (default: 10)")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    args = parser.parse_args(given)
    found = measured(args, teller(args.json))
    if args.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
