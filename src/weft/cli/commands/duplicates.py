"""weft duplicates: pages with the same content, and how alike they are."""

from __future__ import annotations

import argparse

from weft.cli.progress import ShownProgress
from weft.derive.duplicates.find import Duplicate, Duplicates
from weft.derive.duplicates.verdicts import settings_of
from weft.derive.read import StoredCrawl
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.errors import SpecError
from weft.judge.likeness import Likeness
from weft.options.values import read_fraction
from weft.spec import Duplicates as Settings
from weft.spec import MinHash, Similarity

COLUMNS = (
    Column("kind", ("kind",), 5),
    Column("alike", ("similarity",), 8, right=True),
    Column("page", ("page",)),
    Column("duplicate of", ("duplicate_of",)),
)
DEFAULT_THRESHOLD = 0.99


def run(args: argparse.Namespace) -> int:
    threshold = None if args.threshold is None else _threshold(args.threshold)
    with StoredCrawl(args.folder) as crawl, ShownProgress() as progress:
        minhash, similarity = args.minhash and MinHash(args.minhash), args.similarity and Similarity(args.similarity)
        like = _likeness(settings_of(crawl), threshold, minhash, similarity)
        found = Duplicates(crawl, like, progress)
        rows = found.rows(found.pairs() if args.pairs else found.clusters())
        write_rows(rows, Duplicate, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0


def _threshold(text: str) -> float:
    """The number that was given; ``SpecError`` for what is none from 0 to 1."""
    try:
        return read_fraction(text)
    except ValueError as error:
        raise SpecError(f"--threshold: {error}") from None


def _likeness(
    settings: Settings, threshold: float | None, minhash: MinHash | None, similarity: Similarity | None
) -> Likeness:
    """As asked; what was not asked is as the crawl had it."""
    if threshold is None:
        threshold = settings.near if settings.near is not None else DEFAULT_THRESHOLD
    similarity = similarity or (settings.similarity if minhash is None else Similarity.JACCARD)
    if similarity is Similarity.SIGNATURE and minhash is MinHash.FAST:
        raise SpecError("--similarity signature compares what --minhash classic keeps: leave --minhash fast out")
    minhash = MinHash.CLASSIC if similarity is Similarity.SIGNATURE else minhash or settings.minhash
    return Likeness(threshold, minhash, similarity)
