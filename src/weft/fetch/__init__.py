"""Fetching: one lease in, one outcome out, within every bound.

1. ``robots`` says whether the origin lets the URL be asked (``gate``), and how far apart.
2. ``resolve`` finds addresses, and refuses those that a public crawl may not connect to.
3. ``http`` asks: connects to exactly these addresses, sends the head, reads within the bounds of time and size.
4. ``decode`` takes the content encoding off, and counts.
5. ``cookies`` keeps what the answer sets, for its origin alone.

The outcome is ``Fetched``, of any status, or ``Failure`` with its cause. ``sitemaps`` reads what some answers are.
"""
