"""The database file, SQLite.

1. ``connection`` opens it: one writer, readers that never hold a snapshot, transactions, sentences for its errors.
2. ``schema`` has the tables and the migrations.
"""
