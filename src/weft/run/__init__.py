"""One run of a folder, from its plan to its results. It sees crawls and what is derived from them.

1. ``session`` plans: reads the seeds, compares the specification with that of the folder, makes the folder ready.
2. ``session`` runs: event loop, signals, the crawl.
3. ``ending`` finds near-duplicates, where they are wanted.
4. ``results`` writes graphs and what plugins make.

``signals`` makes the process fit for whatever it was started in.
"""
