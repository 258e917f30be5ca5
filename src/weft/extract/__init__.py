"""What people came for: the main text of pages and their keywords. Pure functions over the tree of a page."""
