"""WARC files of other programs, and broken ones: what can be read is read, and the rest is named with its place."""

from __future__ import annotations

import gzip
import io
import json
import random
from base64 import b32encode
from hashlib import sha1
from pathlib import Path
from zlib import crc32

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st

from weft.store.warc.foreign import AnyRecord, Problem, records_of

BODIES = [b"one", b"two" * 2_000, b"", b"four\r\n\r\nWARC/1.0 is no record", random.Random(1).randbytes(70_000)]


def written(packed: bool, bodies: list[bytes] = BODIES) -> bytes:
    """A file as other programs write it."""
    said = b"software: other\r\n"
    records = [record("warcinfo", "", "application/warc-fields", said, b"")]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    for number, body in enumerate(bodies):
        records.append(record("response", f"http://example.org/{number}", "application/http", head, body))
    return b"".join(gzip.compress(one) if packed else one for one in records)


def record(kind: str, url: str, media: str, head: bytes, body: bytes) -> bytes:
    digest = b32encode(sha1(body).digest()).decode()
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        "WARC-Date: 2020-01-01T00:00:00Z",
        f"WARC-Record-ID: <urn:uuid:{crc32(url.encode())}>",
        f"WARC-Payload-Digest: sha1:{digest}",
        f"Content-Type: {media}",
        f"Content-Length: {len(head) + len(body)}",
        *([f"WARC-Target-URI: {url}"] if url else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + head + body + b"\r\n\r\n"


def read(content: bytes, **settings: int) -> tuple[list[AnyRecord], list[Problem]]:
    found = list(records_of(io.BytesIO(content), **settings))
    return [one for one in found if isinstance(one, AnyRecord)], [one for one in found if isinstance(one, Problem)]


def bodies_of(records: list[AnyRecord]) -> list[bytes]:
    return [record.block.partition(b"\r\n\r\n")[2] for record in records if record.type == "response"]


@pytest.mark.parametrize("form", ["by records", "as a whole", "plain"])
def test_files_of_other_programs_in_every_packing(form: str) -> None:
    content = written(form == "by records")
    records, problems = read(gzip.compress(content) if form == "as a whole" else content)
    assert not problems
    assert bodies_of(records) == BODIES
    if form == "by records":
        assert all(content[record.offset : record.offset + 2] == b"\x1f\x8b" for record in records)
    elif form == "plain":
        assert all(content[record.offset :].startswith(b"WARC/") for record in records)


def test_urls_in_angle_brackets_and_lines_without_carriage_return() -> None:
    content = b"WARC/0.18\nWARC-Type: resource\nWARC-Target-URI: <http://a.test/>\nContent-Length: 2\n\nhi\n\n"
    (record,), problems = read(content)
    assert (record.url, record.block, problems) == ("http://a.test/", b"hi", [])


@pytest.mark.parametrize("packed", [True, False])
def test_a_file_cut_anywhere_gives_all_records_before_the_cut(packed: bool) -> None:
    content = written(packed)
    ends = [*[record.offset for record in read(content)[0]][1:], len(content)]
    for cut in range(1, len(content), 397):
        records, problems = read(content[:cut])
        whole = sum(end <= cut for end in ends)
        assert len(records) in (whole, whole + 1)  # the last one lacks nothing but the empty lines behind it
        assert len(problems) == (0 if cut in ends or len(records) > whole else 1), cut


def test_damage_costs_the_records_that_it_hits() -> None:
    content = bytearray(written(True))
    offsets = [record.offset for record in read(bytes(content))[0]]
    middle = (offsets[-1] + len(content)) // 2
    content[middle : middle + 50] = bytes(50)
    content += written(True)
    records, problems = read(bytes(content))
    assert bodies_of(records) == [*BODIES[:-1], *BODIES]
    assert {problem.offset for problem in problems} == {offsets[-1]}


def test_junk_between_records_is_told_and_passed() -> None:
    one = written(True)
    records, problems = read(one + b"junk" * 99 + one)
    assert bodies_of(records) == BODIES * 2
    assert [problem.offset for problem in problems] == [len(one)]
    one = written(False)
    records, problems = read(one + b"junk" * 99 + b"\r\n\r\n" + one)
    assert bodies_of(records) == BODIES * 2
    assert [problem.kind for problem in problems] == ["NO_RECORD"]


@pytest.mark.parametrize(("said", "kept"), [("1", 4), ("99999999", 1), ("-5", 4), ("nonsense", 4)])
def test_a_wrong_length_is_told(said: str, kept: int) -> None:
    content = written(False, [b"a" * 50] * 4)
    wrong = content.replace(b"Content-Length: ", b"Content-Length: " + said.encode() + b"\r\nX: ", 2)
    wrong = wrong.replace(b"Content-Length: " + said.encode() + b"\r\nX: ", b"Content-Length: ", 1)
    records, problems = read(wrong)
    assert len(problems) == 1
    assert len(records) == kept


def test_a_bomb_is_not_held_in_memory() -> None:
    record = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: %d\r\n\r\n" % (200 << 20)
    bomb = gzip.compress(record + bytes(200 << 20) + b"\r\n\r\n", 1)
    records, problems = read(bomb + written(True), max_block_b=1 << 20)
    assert [problem.kind for problem in problems] == ["TOO_LARGE"]
    assert bodies_of(records) == BODIES


@given(st.binary(max_size=400), st.booleans())
def test_nothing_that_a_file_holds_is_fatal(junk: bytes, packed: bool) -> None:
    for content in (junk, b"WARC/1.0\r\n" + junk, gzip.compress(b"WARC/1.0\r\n" + junk), written(packed)[:300] + junk):
        list(records_of(io.BytesIO(content)))


# --- the command


def test_a_sound_file_is_sound(tmp_path: Path) -> None:
    file = tmp_path / "x.warc.gz"
    file.write_bytes(written(True))
    ended = call("warc", "check", file, "--json")
    report = json.loads(ended.stdout)
    assert (ended.code, report["wrong"], report["records"]) == (0, 0, {"response": 5, "warcinfo": 1})


def test_every_problem_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "x.warc"
    file.write_bytes(written(False).replace(b"two", b"tvo", 1))
    ended = call("warc", "check", file)
    assert ended.code == 1
    assert "DIGEST: the payload of http://example.org/1" in ended.stdout
    file.write_bytes(written(False)[:-40])
    assert "CUT" in call("warc", "check", file).stdout


def test_digests_of_chunked_bodies(tmp_path: Path) -> None:
    """Some programs digest the payload with its chunks, some without; both are right."""
    import hashlib

    for payload in (b"3\r\nabc\r\n0\r\n\r\n", b"abc"):
        digest = hashlib.sha256(payload).hexdigest()
        block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        head = (
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:a>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
            f"WARC-Target-URI: http://a.test/\r\nContent-Type: application/http\r\n"
            f"WARC-Payload-Digest: sha256:{digest}\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        file = tmp_path / "x.warc"
        file.write_bytes(head.encode() + block + b"\r\n\r\n")
        assert call("warc", "check", file).code == 0


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.wacz").write_bytes(b"no zip")
    for name in ("none.warc", "x.wacz"):
        ended = call("warc", "check", tmp_path / name)
        assert (ended.code, len(ended.stderr.splitlines())) == (2, 1)
    assert call("warc", "mend", tmp_path / "none.warc").code == 2
