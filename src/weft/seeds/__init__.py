"""Where a crawl begins.

1. ``lists`` reads start addresses: URLs, hosts, files of them.
2. ``hosts`` reads lists of sites with settings of their own (R1).
"""
