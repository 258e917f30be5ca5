"""One run of a folder, from its plan to its results."""
