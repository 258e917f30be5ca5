"""The command line.

1. ``main`` finds the command, and turns whatever fails into one sentence and an exit code.
2. ``arguments`` reads the words.
3. ``commands`` has a module for each command, with a function ``run``.
4. ``running`` shows a run of a crawl: ``screen`` and ``progress`` have the displays.
5. ``machine`` prints JSON.
"""
