"""What people came for: facts of files, taken out of answers. Pure functions."""
