"""The frontier: which URLs are known, which of them wait, and whose turn it is.

1. ``discovery`` is offered URLs: seeds, links, entries of sitemaps. Each text gets an id, each key a page (``known``).
2. The judge is asked about each new page. An admitted page joins the queue of its site (``heads``, ``sites``).
3. ``leases`` gives leases for the sites whose turn has come, by their clocks (``polite``) and by robots.txt (the gate).
4. Requests start and end, and the clocks of site and address are set.
5. ``settling`` writes how each lease ended, inside the transaction of the tick. What failed for a passing reason waits.
6. The links of the page are offered: back to 1.

``sql`` puts these together. Invariants: a page is in one state; a URL is leased once; ``take`` writes nothing.
"""
