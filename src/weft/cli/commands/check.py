"""weft check: is everything in a crawl's folder consistent?"""

from __future__ import annotations

import argparse

from weft.cli.machine import print_json
from weft.cli.progress import ShownProgress
from weft.derive.check import Report, check_folder
from weft.derive.read import StoredCrawl
from weft.text.human import counted, human_bytes
from weft.text.safe import shown


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl, ShownProgress("checking") as progress:
        report = check_folder(crawl, progress)
    if args.json:
        print_json(report)
    else:
        _tell(report)
    return 0 if report.consistent else 1


def _tell(report: Report) -> None:
    for problem in report.problems:
        print(shown(f"{problem.kind}: {problem.about}"))
    for kind, number in report.counts.items():
        told = sum(problem.kind == kind for problem in report.problems)
        if told < number:
            print(f"{kind}: {number - told:,} more of this kind")
    for note in report.notes:
        print(shown(f"note: {note}"))
    looked_at = (
        f"{counted(report.pages, 'page')}, {counted(report.visits, 'visit')}, {counted(report.links, 'link')},"
        f" {counted(report.warc_records, 'record')} in {counted(report.warc_files, 'WARC file')}"
        f" ({human_bytes(report.warc_bytes)}), {counted(report.index_lines, 'line')} of the index"
    )
    if report.consistent:
        print(shown(f"{report.folder} is consistent: {looked_at}"))
    else:
        problems = counted(sum(report.counts.values()), "problem")
        print(shown(f"{report.folder} is NOT consistent: {problems} in {looked_at}"))
