"""Storing: what is kept of a crawl. All of it is written inside the transaction of the tick.

1. ``warc`` has the answers: flushed before the transaction begins.
2. ``visits`` appends a row for each attempt, with its links and the place of its answer.
3. ``state`` keeps what the next run has to know: cookies, budgets of traps, how far the run is.
4. ``origins`` keeps robots.txt.
5. ``bodies`` and ``copies`` know which bodies and texts were met before.
"""
