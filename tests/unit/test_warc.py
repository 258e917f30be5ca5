"""What was fetched is kept so that every WARC tool reads it back byte for byte (E3, promises 1, 9, 10)."""

from __future__ import annotations

import base64
import errno
import gzip
import hashlib
import io
import os
import random
import re
import resource
import shutil
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from archives import HTML, NOW, REQUEST, URL, head, verified, write, writer
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from weft.errors import FolderError, StoreError
from weft.store.warc import writer as warc
from weft.store.warc.reader import Record, read_record
from weft.store.warc.recovery import recover
from weft.store.warc.writer import Exchange, RevisitOf, payload_digest, record_ids

GOLDEN = """\
WARC/1.1
WARC-Type: warcinfo
WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>
WARC-Date: 2026-01-02T03:04:05Z
WARC-Filename: weft-main-20260102030405-00001.warc.gz
WARC-Block-Digest: sha1:3CPD6CFUTGQHX2MLFSOEMSNXP26YDY7P
Content-Type: application/warc-fields
Content-Length: 156

software: weft/0.0
format: WARC File Format 1.1
conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
robots: obey


WARC/1.1
WARC-Type: response
WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000002>
WARC-Date: 2026-01-02T03:04:05Z
WARC-Target-URI: http://example.org/page?x=1
WARC-IP-Address: 192.0.2.1
WARC-Payload-Digest: sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N
WARC-Truncated: length
WARC-Block-Digest: sha1:6OPQWLRWV3EH7KR5CNYE64XBCKES2CMN
Content-Type: application/http; msgtype=response
Content-Length: 99

HTTP/1.1 200 OK
Content-Type: text/html
X-Crawler-Content-Length: 999
Content-Length: 5

hello

WARC/1.1
WARC-Type: request
WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000003>
WARC-Date: 2026-01-02T03:04:05Z
WARC-Target-URI: http://example.org/page?x=1
WARC-IP-Address: 192.0.2.1
WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000002>
WARC-Block-Digest: sha1:JTVR7O3CLAMDRLXHSH4SKVHH7HMF4NCJ
Content-Type: application/http; msgtype=request
Content-Length: 63

GET /page?x=1 HTTP/1.1
Host: example.org
User-Agent: weft



"""


@pytest.mark.parametrize("block_digests", [True, False])
def test_golden(tmp_path: Path, block_digests: bool) -> None:
    """Exact bytes, with clock and ids given."""
    wanted = GOLDEN if block_digests else re.sub("WARC-Block-Digest: .*\n", "", GOLDEN)
    one = writer(tmp_path, block_digests=block_digests)
    place = one.write_exchange(
        Exchange(URL, NOW, REQUEST, head(b"Content-Length: 999"), b"hello", "192.0.2.1", truncated="length")
    )
    one.close()
    path = tmp_path / "weft-main-20260102030405-00001.warc.gz"
    assert gzip.decompress(path.read_bytes()).decode() == wanted.replace("\n", "\r\n")
    assert one.positions() == {path.name: (path.stat().st_size, True)}
    assert place.file == path.name
    with path.open("rb") as file:
        file.seek(place.offset)
        assert gzip.decompress(file.read(place.length)).startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")


def test_digest_is_what_everyone_else_computes() -> None:
    for data in (b"", b"hello", HTML):
        assert payload_digest(data) == "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def test_record_ids_are_version_8_uuids_and_no_two_are_equal() -> None:
    found = set()
    for _ in range(50):
        new_id = record_ids(os.urandom(10))
        for _ in range(3):
            identity = uuid.UUID(new_id().removeprefix("urn:uuid:"))
            assert (identity.version, identity.variant) == (8, uuid.RFC_4122)
            found.add(identity)
    assert len(found) == 150


@pytest.mark.parametrize(("compress", "block_digests"), [(True, False), (False, False), (True, True)])
def test_exchange_comes_back(tmp_path: Path, compress: bool, block_digests: bool) -> None:
    one = writer(tmp_path, compress=compress, block_digests=block_digests)
    places = [write(one, f"http://example.org/{n}", body=HTML * n) for n in range(4)]
    failed = one.write_metadata("http://gone.example/", NOW, {"cause": "DNS_NOT_FOUND", "detail": "a\r\nb\0c"})
    one.close()
    for n, place in enumerate(places):
        for length in (place.length, None):
            record = read_record(tmp_path / place.file, place.offset, length)
            block = payload_digest(head(), HTML * n) if block_digests else None
            assert record.headers.get("WARC-Block-Digest") == block
            assert (record.type, record.http_head, record.body) == ("response", head(), HTML * n)
            assert record.headers["WARC-Payload-Digest"] == place.digest == payload_digest(HTML * n)
    record = read_record(tmp_path / failed.file, failed.offset, failed.length)
    assert (record.type, record.http_head, record.body) == (
        "metadata",
        b"",
        b"cause: DNS_NOT_FOUND\r\ndetail: a b c\r\n",
    )
    kinds = [seen.type for seen in verified(tmp_path / failed.file)]
    assert kinds == ["warcinfo", *["response", "request"] * 4, "metadata"]


def test_no_request_record_without_a_request(tmp_path: Path) -> None:
    one = writer(tmp_path)
    place = one.write_exchange(Exchange(URL, NOW, b"", head(), b"x"))
    one.close()
    assert [seen.type for seen in verified(tmp_path / place.file)] == ["warcinfo", "response"]


def stored(tmp_path: Path, given_head: bytes, body: bytes, http_version: str = "1.1") -> Record:
    one = writer(tmp_path)
    place = one.write_exchange(Exchange(URL, NOW, REQUEST, given_head, body, "::1", http_version))
    one.close()
    assert [seen.payload for seen in verified(tmp_path / place.file)][1] == body
    return read_record(tmp_path / place.file, place.offset, place.length)


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ([b"Content-Length: 5"], [b"Content-Length: 5"]),
        ([], []),
        ([b"Transfer-Encoding: chunked"], [b"X-Crawler-Transfer-Encoding: chunked", b"Content-Length: 5"]),
        ([b"tRANSFER-eNCODING :chunked"], [b"X-Crawler-tRANSFER-eNCODING :chunked", b"Content-Length: 5"]),
        ([b"Content-Length: 7"], [b"X-Crawler-Content-Length: 7", b"Content-Length: 5"]),
        (
            [b"Content-Length: 5", b"X: y", b"content-length: 6"],
            [b"X-Crawler-Content-Length: 5", b"X: y", b"X-Crawler-content-length: 6", b"Content-Length: 5"],
        ),
    ],
)
def test_length_headers_tell_the_truth(tmp_path: Path, lines: list[bytes], kept: list[bytes]) -> None:
    """The transfer encoding is off the payload, so no header may send a replay looking for chunks."""
    assert stored(tmp_path, head(*lines), b"hello").http_head == head(*kept)


def test_length_of_an_answer_without_body_is_left_alone(tmp_path: Path) -> None:
    given_head = head(b"Content-Length: 7", first=b"HTTP/1.1 304 Not Modified")
    assert stored(tmp_path, given_head, b"").http_head == given_head


def test_http2(tmp_path: Path) -> None:
    record = stored(tmp_path, head(first=b"HTTP/2 200 "), b"hello", "2")
    assert record.http_head == head(first=b"HTTP/1.1 200 ")
    assert record.headers["WARC-Protocol"] == "h2"


@pytest.mark.parametrize(
    ("given_head", "kept"),
    [
        (b"HTTP/1.1 200 OK\nA: b\n\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200\r\n\r\n", b"HTTP/1.1 200\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\td\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b c d\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n \r\nA: b\r\n\xa0\r\nC: d\r\n\r\n", b"HTTP/1.1 200 OK \r\nA: b\r\nC: d\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\rC: d\0e\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b C: d e\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Crawler-Bad-Header: no colon\r\n\r\n"),
        (b"ICY 200 OK\r\n\r\n", b"HTTP/1.1 200 \r\nX-Crawler-Status-Line: ICY 200 OK\r\n\r\n"),
        (b"", b"HTTP/1.1 000 \r\nX-Crawler-Status-Line: \r\n\r\n"),
    ],
)
def test_broken_heads_are_repaired(tmp_path: Path, given_head: bytes, kept: bytes) -> None:
    """Every reader finds the payload where it is, and what was wrong is still to be seen."""
    record = stored(tmp_path, given_head, b"the body\r\n\r\nof it")
    assert (record.http_head, record.body) == (kept, b"the body\r\n\r\nof it")


LINE_ENDS = "\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"


def test_nothing_breaks_out_of_a_record(tmp_path: Path) -> None:
    """CR and LF in any value stay inside it (promise 9)."""
    evil = "x" + LINE_ENDS + "\u2028\x85\udc80é"
    one = writer(tmp_path)
    where = RevisitOf(URL + evil, NOW, "sha1:" + evil)
    sent = evil.encode("utf-8", "replace")
    one.write_exchange(Exchange(URL + evil, NOW, sent, head(), b"", evil, evil, evil), lambda _: where)
    one.write_metadata(URL + evil, NOW, {evil: evil, "": ""})
    one.close()
    (path,) = tmp_path.iterdir()
    text = gzip.decompress(path.read_bytes()).decode()
    assert re.findall(r"^WARC/1.1\r\nWARC-Type: \w+", text, re.MULTILINE) == [
        f"WARC/1.1\r\nWARC-Type: {kind}" for kind in ("warcinfo", "revisit", "request", "metadata")
    ]
    assert [seen.type for seen in verified(path)] == ["warcinfo", "revisit", "request", "metadata"]
    assert all(seen.url is None or "\n" not in seen.url for seen in verified(path))


HEAD_PARTS = [b"HTTP/1.1 200 OK", b"HTTP/1.1 404", b"HTTP/2 200", b"Content-Length: 5", b"Transfer-Encoding: chunked"]
HEAD_PARTS += [
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b"\0",
    b":",
    b"A: b",
    b"WARC/1.1",
    b"\xa0",
    b"\x85",
    b"\x1c",
    b"\xff",
]
any_head = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(HEAD_PARTS),
        max_size=14,
    ).map(b"".join),
)


@given(
    url=st.text(max_size=60).map("http://example.org/".__add__),
    request=any_head,
    response=any_head,
    body=st.one_of(st.binary(max_size=300), st.sampled_from([b"", b"\r\n\r\n", bytes(200_000), os.urandom(100_000)])),
    truncated=st.sampled_from([None, "length", "time", "disconnect"]),
)
@settings(max_examples=250)
def test_any_exchange_round_trips(
    tmp_path_factory: pytest.TempPathFactory,
    url: str,
    request: bytes,
    response: bytes,
    body: bytes,
    truncated: str | None,
) -> None:
    folder = tmp_path_factory.mktemp("warc")
    try:
        one = writer(folder)
        place = one.write_exchange(Exchange(url, NOW, request, response, body, truncated=truncated))
        after = write(one)
        one.close()
        seen = verified(folder / place.file)
        assert [record.type for record in seen] == [
            "warcinfo", "response", *["request"] * bool(request), "response", "request"
        ]  # fmt: skip
        assert seen[1].payload == body
        assert read_record(folder / place.file, place.offset, place.length).body == body
        assert read_record(folder / after.file, after.offset).body == HTML
    finally:
        shutil.rmtree(folder)


def test_large_body(tmp_path: Path) -> None:
    body = random.Random(1).randbytes(12_000_000) + bytes(12_000_000)
    assert stored(tmp_path, head(), body).body == body


def test_revisit(tmp_path: Path) -> None:
    """An identical payload is named, not stored again."""
    one = writer(tmp_path)
    first = write(one)
    second = write(one, "http://example.org/copy", revisit=RevisitOf(URL, NOW, first.digest))
    one.close()
    assert second.length < first.length and second.digest == first.digest
    record = read_record(tmp_path / second.file, second.offset, second.length)
    assert (record.type, record.http_head, record.body) == ("revisit", head(), b"")
    assert record.headers["WARC-Payload-Digest"] == first.digest
    assert record.headers["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert record.headers["WARC-Refers-To-Target-URI"] == URL
    assert record.headers["WARC-Refers-To-Date"] == "2026-01-02T03:04:05Z"
    assert len(verified(tmp_path / second.file)) == 5


def test_rotation(tmp_path: Path) -> None:
    one = writer(tmp_path, max_file_b=20_000)
    places = [write(one, body=random.Random(n).randbytes(6_000)) for n in range(7)]
    assert [closed for _, closed in one.positions().values()] == [True, True]  # the third is not on disk yet
    one.flush()
    assert [closed for _, closed in one.positions().values()] == [True, True, False]
    one.close()
    assert sorted(one.positions()) == sorted({place.file for place in places})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"weft-main-20260102030405-{n:05d}.warc.gz" for n in (1, 2, 3)
    ]
    for path in tmp_path.iterdir():
        assert verified(path)[0].type == "warcinfo"
        assert one.positions()[path.name] == (path.stat().st_size, True)
        assert path.stat().st_size < 30_000
    for n, place in enumerate(places):
        assert read_record(tmp_path / place.file, place.offset, place.length).body == random.Random(n).randbytes(6_000)


def test_files_are_made_late_and_never_shared(tmp_path: Path) -> None:
    one, two = writer(tmp_path), writer(tmp_path)
    assert list(tmp_path.iterdir()) == [] and one.positions() == {}
    one.close()
    assert list(tmp_path.iterdir()) == []
    assert write(one).file != write(two).file
    assert one.positions() == {}  # nothing on disk yet
    one.close()
    two.close()
    two.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert write(one).file not in {path.name for path in tmp_path.iterdir() if path.stat().st_size}
    one.close()


def test_buffer_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "_WRITE_AT_B", 50_000)
    one = writer(tmp_path)
    for n in range(20):
        write(one, body=random.Random(n).randbytes(10_000))
    (size_b, closed) = one.positions()["weft-main-20260102030405-00001.warc.gz"]
    assert size_b > 100_000 and not closed
    one.close()


def test_prefix_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="prefix"):
        writer(tmp_path, prefix="../x")


def test_recover(tmp_path: Path) -> None:
    """After a kill every file ends where the database says, and no other file of ours is left (promise 1)."""
    one = writer(tmp_path, prefix="a")
    place = write(one)
    one.flush()
    committed = {name: size_b for name, (size_b, _) in one.positions().items()}
    write(one)
    one.flush()
    with (tmp_path / place.file).open("ab") as file:
        file.write(b"half a record")
    lost = write(writer(tmp_path, prefix="b")).file
    keep = ["index.cdxj", "mine.warc.gz", "weft-notes.warc.gz"]
    for name in keep:
        (tmp_path / name).write_bytes(b"x")
    assert recover(tmp_path, committed) == []
    assert not (tmp_path / lost).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([place.file, *keep])
    assert [seen.type for seen in verified(tmp_path / place.file)] == ["warcinfo", "response", "request"]
    assert read_record(tmp_path / place.file, place.offset).body == HTML
    assert recover(tmp_path, committed) == []
    os.truncate(tmp_path / place.file, 100)
    damaged = {**committed, "weft-a-20260102030405-00007.warc.gz": 5, "../elsewhere.warc.gz": 0}
    assert recover(tmp_path, damaged) == ["../elsewhere.warc.gz", place.file, "weft-a-20260102030405-00007.warc.gz"]
    assert (tmp_path / place.file).stat().st_size == 100
    assert recover(tmp_path / "never made", {}) == []


def in_child(action: Callable[[], None]) -> int:
    """The exit status of a forked process that does it: limits set there end with it."""
    pid = os.fork()
    if not pid:
        code = 70
        try:
            action()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_file_limit_while_writing(tmp_path: Path) -> None:
    """A write that fails midway is one clear error; what was flushed before stays whole (promise 10)."""

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        one = writer(tmp_path)
        write(one)
        one.flush()
        before = one.positions()
        write(one, body=random.Random(1).randbytes(200_000))
        with pytest.raises(StoreError, match=r"weft-main-20260102030405-00001.warc.gz: file too large"):
            one.flush()
        with pytest.raises(StoreError):
            write(one)
        one.close()
        assert one.positions() == {name: (size_b, True) for name, (size_b, _) in before.items()}

    assert in_child(fill) == 0
    (path,) = tmp_path.iterdir()
    assert [seen.type for seen in verified(path)] == ["warcinfo", "response", "request"]


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"missing is gone: somebody has removed or moved it"):
        write(writer(tmp_path / "missing"))
    one = writer(tmp_path)
    write(one)
    os.close(one._fd)  # what a failing disk looks like: the descriptor is no good any more
    with pytest.raises(StoreError, match=os.strerror(errno.EBADF).lower()):
        one.flush()


def test_short_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system may take fewer bytes than it was given."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:1000]))
    monkeypatch.setattr(os, "writev", lambda fd, parts: real(fd, b"".join(parts)[:1000]))
    one = writer(tmp_path)
    place = write(one, body=random.Random(1).randbytes(9_999))
    one.close()
    assert len(verified(tmp_path / place.file)) == 3


def test_more_records_than_are_written_at_once(tmp_path: Path) -> None:
    one = writer(tmp_path)
    for n in range(1_025):
        place = write(one, f"http://example.org/{n}")
    one.close()
    assert len(verified(tmp_path / place.file)) == 1 + 2 * 1_025


def test_unreadable_records_are_a_clear_error(tmp_path: Path) -> None:
    one = writer(tmp_path)
    place = write(one)
    one.close()
    path = tmp_path / place.file
    for offset, length in [(place.offset + 1, None), (10**12, None), (-5, 10), (place.offset, 20), (2**70, 1), (0, -1)]:
        with pytest.raises(FolderError, match=r"warc\.gz"):
            read_record(path, offset, length)
    with pytest.raises(FolderError, match="cannot read"):
        read_record(tmp_path / "missing.warc.gz", 0)
    with pytest.raises(FolderError, match="larger than 1000 bytes"):
        read_record(path, place.offset, place.length, max_b=1_000)
    for junk in (
        b"",
        b"WARC/1.1",
        b"WARC/1.1\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 9\r\n\r\nx",
        b"\x1f\x8b",
        b"x" * 99,
    ):
        path.write_bytes(junk)
        for length in (len(junk), None):
            with pytest.raises(FolderError):
                read_record(path, 0, length)
    bomb = gzip.compress(b"WARC/1.1\r\nContent-Length: 99999999\r\n\r\n" + bytes(50_000_000))
    path.write_bytes(bomb)
    with pytest.raises(FolderError, match="larger than"):
        read_record(path, 0, None, max_b=1_000_000)


# Replay


def test_reading_from_memory_agrees(tmp_path: Path) -> None:
    """warcio finds the same records when it reads members one by one from our offsets."""
    one = writer(tmp_path)
    places = [write(one, f"http://example.org/{n}") for n in range(3)]
    one.close()
    data = (tmp_path / places[0].file).read_bytes()
    for n, place in enumerate(places):
        (record,) = ArchiveIterator(io.BytesIO(data[place.offset : place.offset + place.length]))
        assert record.rec_headers.get_header("WARC-Target-URI") == f"http://example.org/{n}"
