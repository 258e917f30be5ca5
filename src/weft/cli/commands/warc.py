"""weft warc check: whether WARC and WACZ files of any program are sound."""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.cli.machine import print_json
from weft.cli.main import DONE, FAILED
from weft.cli.progress import ShownProgress
from weft.derive.check.warc_file import WarcReport, check_warc
from weft.errors import SpecError
from weft.text.human import counted, human_bytes
from weft.text.safe import shown

_SHOWN = 20


def run(args: argparse.Namespace) -> int:
    if args.action != "check":
        raise SpecError(f"warc: {args.action!r} is nothing it does: weft warc check FILE")
    with ShownProgress("reading") as progress:
        reports = [check_warc(Path(name), progress) for name in args.files]
    for report in reports:
        if args.json:
            print_json(report)
        else:
            _tell(report)
    return FAILED if any(report.wrong for report in reports) else DONE


def _tell(report: WarcReport) -> None:
    for problem in report.problems[:_SHOWN]:
        print(shown(f"{problem.file} at {problem.offset}: {problem.kind}: {problem.detail}"))
    if report.wrong > _SHOWN:
        print(f"{report.wrong - _SHOWN:,} more (--json lists the first thousand)")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.records.items())
    said = counted(report.wrong, "problem") if report.wrong else "sound"
    print(shown(f"{report.file}: {said}; {kinds or 'no record'}; {human_bytes(report.bytes)}"))
