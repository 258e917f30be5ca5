"""Texts: the patterns that are looked for in them."""
