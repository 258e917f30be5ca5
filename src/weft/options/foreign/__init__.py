"""Settings of other programs, read as they are."""
