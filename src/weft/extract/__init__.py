"""What people came for: the main text of pages, their keywords, and items. Pure functions over a page."""
