"""Which pages of a stored crawl have the same content: the same bytes, or nearly the same text (E18, R13, G7)."""
