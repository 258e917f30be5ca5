"""What people came for: main texts and keywords of pages, facts of files. Pure functions."""
