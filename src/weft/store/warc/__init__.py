"""The archive: answers as they came, in WARC files.

1. ``archive`` chooses the record for a visit: exchange, revisit of a payload kept before, or metadata of a failure.
2. ``heads`` makes heads sound for replay; ``writer`` writes the records, and flushes them once a tick.
3. ``cdxj`` makes the index at the end of a run.
4. ``recovery`` cuts the files to what was committed, at the next start; ``losses`` says what a missing part means.
5. ``reader`` reads a record back by its place.
"""
