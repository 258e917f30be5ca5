"""Workers: the pipeline of the crawl in other processes.

1. ``choice`` decides which processes ask: the crawl's own, workers, or both (``combined``).
2. ``fork_server`` forks workers when ``launcher`` wants them, from a process that has nothing to inherit.
3. ``pool`` gives leases to workers, as ``lease_book`` says, over sockets (``messages``).
4. ``worker`` asks, processes and archives, and reports.
5. A worker that dies is replaced; ``suspects`` remembers the pages that were there.
"""
