"""The database file: who opens it, and which tables are in it."""
