"""Those who ask, read and archive: in the crawl's own process, or in several others (E6, T10)."""
