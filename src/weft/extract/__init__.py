"""What people came for: main texts and keywords of pages, items, facts of files. Pure functions."""
