"""The archive: answers as they came, in WARC files."""
