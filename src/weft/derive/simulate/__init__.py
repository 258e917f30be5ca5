"""Crawls in memory: which pages an order fetches first, over a graph that is known as a whole (P4).

The strategies are the crawler's own (``weft.frontier.order``); only the web is a graph, and nothing is asked.
"""
