"""Words for people and for machines.

``dates`` and ``human`` write moments and numbers, ``safe`` makes text safe for terminals, CSV and XML, ``patterns``
compiles regular expressions at their first use, ``version`` is weft's own.
"""
