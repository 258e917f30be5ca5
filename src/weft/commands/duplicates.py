"""weft duplicates: pages with the same content, and how alike they are."""

from __future__ import annotations

import argparse
import re

from weft.commands.progress import Shown
from weft.derive.duplicates.find import Duplicate, Duplicates
from weft.derive.duplicates.verdicts import settings_of
from weft.derive.read import StoredCrawl
from weft.derive.rows import Column, write_rows
from weft.errors import SpecError
from weft.judge.likeness import Likeness
from weft.spec import Duplicates as Settings

COLUMNS = (
    Column("kind", ("kind",), 5),
    Column("alike", ("similarity",), 8, right=True),
    Column("page", ("page",)),
    Column("duplicate of", ("duplicate_of",)),
)
DEFAULT_THRESHOLD = 0.99
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{0,15})?|\.\d{1,15}", re.ASCII)


def run(args: argparse.Namespace) -> int:
    threshold = None if args.threshold is None else threshold_of(args.threshold)
    with StoredCrawl(args.folder) as crawl, Shown() as progress:
        like = _likeness(settings_of(crawl), threshold, args.minhash, args.similarity)
        found = Duplicates(crawl, like, progress)
        rows = found.rows(found.pairs() if args.pairs else found.clusters())
        write_rows(rows, Duplicate, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0


def threshold_of(text: str) -> float:
    """The number that was given, from 0 to 1; ``SpecError`` for any other."""
    number = float(text) if _NUMBER.fullmatch(text.strip()) else -1.0
    if not 0 <= number <= 1:
        raise SpecError(f"--threshold: {text!r} is not a number from 0 to 1 such as 0.99")
    return number


def _likeness(settings: Settings, threshold: float | None, minhash: str | None, similarity: str | None) -> Likeness:
    """As asked; what was not asked is as the crawl had it."""
    if threshold is None:
        threshold = settings.near if settings.near is not None else DEFAULT_THRESHOLD
    similarity = similarity or (settings.similarity if minhash is None else "jaccard")
    if similarity == "signature" and minhash == "fast":
        raise SpecError("--similarity signature compares what --minhash classic keeps: leave --minhash fast out")
    minhash = "classic" if similarity == "signature" else minhash or settings.minhash
    return Likeness(threshold, minhash, similarity)
