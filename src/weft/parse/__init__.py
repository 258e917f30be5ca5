"""Parsing: what a page says, from its bytes and headers alone. Pure, and bounded.

1. ``content`` tells the media type and the encoding.
2. ``html`` chooses: ``quick`` where the tags alone tell what the page says, else ``bounds`` and ``tree``.
3. ``elements`` and ``attributes`` say what single elements mean; ``directives`` knows robots and refresh.
4. ``collected`` keeps links, resolved and bounded, and facts, as ``Parsed``.
5. ``text`` gives the visible text, where it is asked for.
"""
