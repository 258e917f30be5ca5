"""The items of a stored crawl: listed, extracted again, forgotten."""
