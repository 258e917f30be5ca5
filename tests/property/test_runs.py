"""The URLs that were seen, as sorted runs with filters: a dictionary, whatever is put in."""

from __future__ import annotations

import contextlib
import sqlite3
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import native
from weft.db.connection import ROWS_AT_ONCE, insert
from weft.db.schema import MIGRATIONS
from weft.frontier import runs as runs_module
from weft.frontier.runs import CHUNK_ENTRIES, FAN_IN, Runs, empty_filter, look_everywhere, look_up
from weft.frontier.seen import fingerprint_of

FINGERPRINTS = st.one_of(
    st.integers(0, (1 << 64) - 1),
    st.integers(0, 3).map(lambda low: 5 << 40 | low),  # of one prefix: they cannot be told apart by a chunk's id
    st.sampled_from([0, 1, (1 << 64) - 1, (1 << 63) - 1, 1 << 63]),
)


def memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for migrate in MIGRATIONS:
        migrate(connection)
    return connection


@pytest.mark.parametrize("count", [0, 1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE + 7])
def test_rows_that_are_inserted_together_are_all_there(count: int) -> None:
    rows = [(number, f"http://a.test/{number}", number if number % 3 else None) for number in range(1, count + 1)]
    connection = memory()
    insert(connection, "url(id, text, page)", iter(rows))
    assert connection.execute("SELECT id, text, page FROM url ORDER BY rowid").fetchall() == rows
    connection.close()


@settings(max_examples=60)
@given(
    batches=st.lists(st.dictionaries(FINGERPRINTS, st.integers(1, 1 << 40), min_size=1, max_size=30), max_size=40),
    others=st.lists(FINGERPRINTS, max_size=30),
    small=st.booleans(),
)
def test_runs_are_a_dictionary(batches: list[dict[int, int]], others: list[int], small: bool) -> None:
    """Whatever is added is found, before, while and after it is merged, and after a start anew; nothing else is."""
    known: dict[int, int] = {}
    with contextlib.closing(memory()) as connection, pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(runs_module, "CHUNK_ENTRIES", 3)
            patch.setattr(runs_module, "_CHUNKS_READ_AT_ONCE", 2)
        runs = Runs(connection)
        for upto, batch in enumerate(batches, 1):
            new = {one: number for one, number in batch.items() if one not in known}
            known |= new
            if new:
                runs.add(new, 0, upto)
            runs.tidy(5)
            asked = [*known, *others]
            assert runs.find(asked) == {one: known[one] for one in asked if one in known}
        runs = Runs(connection)  # a merge that was under way begins anew
        assert runs.find([*known, *others]) == {one: known[one] for one in (*known, *others) if one in known}
        runs.tidy(10**6)
        assert runs.find(list(known)) == known
        for one in (*known, *others):
            assert runs.find_one(one) == known.get(one)
            assert look_everywhere(connection, one) == ({known[one]} if one in known else set())
        (count,) = connection.execute("SELECT count(*) FROM seen_run").fetchone()
        assert count < FAN_IN * 3


def test_runs_grow_by_levels_and_stay_small() -> None:
    """Runs become few and large, each entry is stored once, in about twelve bytes."""
    with contextlib.closing(memory()) as connection:
        runs = Runs(connection)
        for start in range(0, 70_000, 1_000):
            entries = {fingerprint_of(str(number), 7): number + 1 for number in range(start, start + 1_000)}
            runs.add(entries, 0, start + 1_000)
            runs.tidy(6_000)
        runs.tidy(10**6)
        levels = dict(connection.execute("SELECT level, count(*) FROM seen_run GROUP BY level").fetchall())
        assert levels == {2: 1, 0: 6}
        chunks, size = connection.execute(
            "SELECT count(*), sum(length(fingerprints) + length(ids)) FROM seen"
        ).fetchone()
        assert size == 70_000 * 12
        assert chunks <= 64_000 / CHUNK_ENTRIES + 1 + 6 * 3
        assert runs.upto == 70_000
        found = runs.find([fingerprint_of(str(number), 7) for number in range(0, 140_000, 7)])
        assert sorted(found.values()) == [number + 1 for number in range(0, 70_000, 7)]


def test_small_runs_do_not_wait_for_the_merge_of_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run is one more filter to ask for every link: a long merge is laid aside for a short one."""
    monkeypatch.setattr(runs_module, "CHUNK_ENTRIES", 10)
    monkeypatch.setattr(runs_module, "_CHUNKS_READ_AT_ONCE", 1)
    with contextlib.closing(memory()) as connection:
        runs = Runs(connection)
        number = 0

        def add(count: int, level: int) -> None:
            nonlocal number
            entries = {fingerprint_of(str(number + one), 7): number + one + 1 for one in range(count)}
            number += count
            runs.add(entries, 0, number, level)

        def levels() -> dict[int, int]:
            return dict(connection.execute("SELECT level, count(*) FROM seen_run GROUP BY level").fetchall())

        for _ in range(FAN_IN):
            add(5_000, 2)
        most = 0
        for _ in range(FAN_IN * 5):
            add(100, 0)
            runs.tidy(600)
            most = max(most, levels().get(0, 0))
        assert levels()[2] == FAN_IN, "the long merge is still under way"
        assert levels()[1] >= 4 and most < FAN_IN * 2
        runs.tidy(10**6)
        assert levels() == {3: 1, 1: 5}
        found = runs.find([fingerprint_of(str(one), 7) for one in range(0, 2 * number, 11)])
        assert sorted(found.values()) == [one + 1 for one in range(0, number, 11)]


def test_filters_let_little_through() -> None:
    """Nearly all that is new is known to be new without a look at the disk."""
    words = empty_filter(10_000)
    native.fill_filter(words, array("Q", [fingerprint_of(str(number), 1) for number in range(10_000)]))
    (passed,) = native.filter_hits([fingerprint_of(str(number), 1) for number in range(10_000, 30_000)], [words])
    assert len(passed) < 20_000 * 0.02


def test_wide_ids() -> None:
    """Past four billion URLs ids take eight bytes."""
    with contextlib.closing(memory()) as connection:
        Runs(connection).add({5: 1 << 33, 9: 2}, 0, 1 << 33)
        assert look_up(connection, 1, [5, 9, 7]) == {5: 1 << 33, 9: 2}
