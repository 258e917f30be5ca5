"""Scores of pages by the links of a whole graph."""
