"""What people came for: main texts, keywords and items of pages, facts of files. Pure functions."""
