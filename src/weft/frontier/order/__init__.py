"""Which page next: one small pure strategy a module, for the crawl's frontier and for ``weft simulate`` alike.

``table`` finds a strategy by its name; ``interface`` says what a strategy is, and how its scores become priorities.
"""
