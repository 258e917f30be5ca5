"""The program: what happens to a page, from its lease to its place in the store."""
