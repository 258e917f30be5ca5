"""Deriving: whatever is made from a stored crawl. It reads, in short statements, while the crawl may still run.

1. ``read`` is the stored crawl: pages, links, numbers.
2. ``why`` tells the story of a URL, with the sentences of ``explanations``; ``check`` proves a folder consistent.
3. ``duplicates``, ``graph``, ``stats``, ``diff`` and ``broken`` work something out of it.
4. ``rows``, ``table`` and ``report`` write it down, ``chosen`` as far as the user wants it.
"""
