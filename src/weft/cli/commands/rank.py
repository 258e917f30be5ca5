"""weft rank: PageRank, HITS, in-links and path cost of every page of a crawl, kept in its database."""

from __future__ import annotations

import argparse

from weft.cli.machine import print_json
from weft.cli.progress import ShownProgress
from weft.derive.rank.kept import rank_crawl
from weft.derive.read import StoredCrawl
from weft.text.human import counted
from weft.text.safe import shown

_SHOWN = 10


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl, ShownProgress() as progress:
        ranking = rank_crawl(crawl, _SHOWN, progress)
    if args.json:
        print_json(ranking)
        return 0
    print(f"{counted(ranking.pages, 'page')}, {counted(ranking.links, 'link')}; the best by PageRank:\n")
    print(" pagerank  rank  in-links  authority       hub  path cost  url")
    for url, row in ranking.best:
        cost = "-" if row.path_cost is None else f"{row.path_cost:,}"
        scores = f"{row.pagerank:9.6f} {row.rank:5d} {row.in_links:9,} {row.authority:10.6f} {row.hub:9.6f} {cost:>10}"
        print(shown(f"{scores}  {url}"))
    return 0
