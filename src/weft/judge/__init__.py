"""Judging: which URLs belong to the crawl, and which pages are the same.

1. ``admit`` asks ``scope``, the user's patterns, and the kind of the link.
2. ``traps`` has budgets against sites without end; they are learnt from what was answered.
3. ``sketch`` makes a few numbers of a text, ``likeness`` compares them.
4. ``duplicates`` says of a page that came whether it is a duplicate.

A refusal has a ``Reason``. Pure, but for the budgets and what was met, which are handed in or kept here.
"""
