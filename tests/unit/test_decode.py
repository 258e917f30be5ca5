"""Content encodings are taken off within bounds, and what servers do wrong costs nothing but a note (E2, promise 6)."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import random
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli  # type: ignore[import-untyped, unused-ignore]
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_http import OPS

from weft.fetch.decode import Decoded, decode_body

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors" / "http_compressed.jsonl"
PAGE = b"<!DOCTYPE html><html><head><title>A page</title></head><body>" + b"".join(
    b'<p class="x%d">paragraph %d of <a href="/page/%d.html">many</a></p>\n' % (n % 7, n, n * n) for n in range(400)
)
ROOM_B = 10_000_000


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def zstd_streamed(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(data) + stream.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate, zlib": ("deflate", zlib.compress),
    "deflate, raw": ("deflate", raw_deflate),
    "br": ("br", lambda data: brotli.compress(data, quality=5)),
    "zstd, sized": ("zstd", zstandard.ZstdCompressor().compress),
    "zstd, checksum": ("zstd", zstandard.ZstdCompressor(write_checksum=True).compress),
    "zstd, no size": ("zstd", zstd_streamed),
}
each_encoder = pytest.mark.parametrize(("name", "encode"), ENCODERS.values(), ids=ENCODERS.keys())


def vector_cases() -> list[dict[str, object]]:
    if not VECTORS.exists():
        return []
    return [json.loads(line) for line in VECTORS.read_text().splitlines()]


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not beside this repository")
@pytest.mark.parametrize("case", vector_cases(), ids=lambda case: str(case["id"]))
def test_vectors(case: dict[str, dict[str, object]]) -> None:
    """Every case of http_compressed.jsonl, without exceptions."""
    given_input = dict(case["input"])
    given_input["body"] = base64.b64decode(str(given_input["body_b64"]))
    assert OPS[str(case["op"])](given_input) == case["expected"]


@each_encoder
@pytest.mark.parametrize("data", [b"", b"x", PAGE, bytes(300_000), random.Random(1).randbytes(700_000)])
def test_round_trip(name: str, encode: Callable[[bytes], bytes], data: bytes) -> None:
    assert decode_body(encode(data), [name], ROOM_B) == Decoded(data, False, "")


@each_encoder
@given(data=st.binary(max_size=3000), max_b=st.integers(0, 4000))
@settings(max_examples=40)
def test_bound_is_exact(name: str, encode: Callable[[bytes], bytes], data: bytes, max_b: int) -> None:
    """Never more than the bound, and ``truncated`` exactly when something was cut (promise 6)."""
    decoded = decode_body(encode(data), [name], max_b)
    assert decoded.body == data[:max_b]
    if max_b:
        assert decoded.truncated == (len(data) > max_b)
    assert decoded.problem == ""


@pytest.mark.parametrize("values", [[], [""], ["identity"], ["Identity, "], [" , ,"]])
def test_no_encoding(values: list[str]) -> None:
    assert decode_body(PAGE, values, ROOM_B) == Decoded(PAGE, False, "")
    assert decode_body(PAGE, values, 100) == Decoded(PAGE[:100], True, "")
    assert decode_body(PAGE, values, 0) == Decoded(b"", True, "")
    assert decode_body(b"", values, 0) == Decoded(b"", False, "")


def test_empty_body_of_any_encoding() -> None:
    """A 304 or 204 may name an encoding and has no body."""
    for name in ("gzip", "deflate", "br", "zstd", "gzip, br", "nonsense"):
        assert decode_body(b"", [name], ROOM_B) == Decoded(b"", False, "")


@pytest.mark.parametrize(
    "values", [["gzip, br"], ["gzip", "br"], ["GZIP ,\tBr"], ["identity, gzip", "", "br, identity"]]
)
def test_stacked(values: list[str]) -> None:
    """Encodings are listed in the order they were applied, in one header or in several."""
    assert decode_body(brotli.compress(gzip.compress(PAGE)), values, ROOM_B) == Decoded(PAGE, False, "")


def test_at_most_four_layers() -> None:
    wire = PAGE
    for _ in range(4):
        wire = gzip.compress(wire)
    assert decode_body(wire, ["gzip, gzip", "gzip, gzip"], ROOM_B) == Decoded(PAGE, False, "")
    wire = gzip.compress(wire)
    decoded = decode_body(wire, ["gzip"] * 5, ROOM_B)
    assert decoded.body == wire and "5 content encodings" in decoded.problem
    assert "100000 content encodings" in decode_body(wire, ["gzip," * 100_000], ROOM_B).problem


@pytest.mark.parametrize("name", ["compress", "x-compress", "utf-8", "none", "aws-chunked", "\x1b[31m" + "x" * 999])
def test_unknown_encoding(name: str) -> None:
    decoded = decode_body(PAGE, [name], ROOM_B)
    assert decoded.body == PAGE and decoded.problem.startswith("unknown content encoding")
    assert decoded.problem.isprintable() and len(decoded.problem) < 300
    assert decode_body(PAGE, [name], 10).body == PAGE[:10]


def test_unknown_encoding_beside_a_known_one() -> None:
    decoded = decode_body(gzip.compress(PAGE), ["gzip, none"], ROOM_B)
    assert decoded.body == PAGE and "none" in decoded.problem


@pytest.mark.parametrize("name", ["gzip", "x-gzip", "deflate", "br", "zstd", "gzip, gzip"])
@pytest.mark.parametrize("body", [PAGE, b"hello", b"{}", b"\xef\xbb\xbf<html>", "žluťoučký kůň".encode()])
def test_plain_body_under_a_false_label(name: str, body: bytes) -> None:
    decoded = decode_body(body, [name], ROOM_B)
    assert decoded.body == body and "but the body is not" in decoded.problem
    assert decode_body(body, [name], 3).body == body[:3]


def test_encoded_once_declared_twice() -> None:
    decoded = decode_body(gzip.compress(PAGE), ["gzip", "gzip"], ROOM_B)
    assert decoded.body == PAGE and decoded.problem


def test_gzip_declared_deflate() -> None:
    decoded = decode_body(gzip.compress(PAGE), ["deflate"], ROOM_B)
    assert decoded.body == PAGE and "gzip" in decoded.problem


@each_encoder
def test_cut_short(name: str, encode: Callable[[bytes], bytes]) -> None:
    """What came is kept: always a beginning of the page, and said to be incomplete."""
    wire = encode(PAGE)
    for cut in range(1, len(wire), max(1, len(wire) // 50)):
        decoded = decode_body(wire[:cut], [name], ROOM_B)
        assert PAGE.startswith(decoded.body) or decoded.body == wire[:cut]
        assert not decoded.truncated
        assert decoded.problem
    if not name.startswith("zstd"):  # its blocks are all or nothing, and this page is one block
        assert len(decode_body(wire[: len(wire) // 2], [name], ROOM_B).body) > len(PAGE) // 4


def test_zstd_cut_between_blocks() -> None:
    data = random.Random(2).randbytes(400_000)
    decoded = decode_body(zstd_streamed(data)[:300_000], ["zstd"], ROOM_B)
    assert data.startswith(decoded.body) and len(decoded.body) >= 2 * 131_072 and "early" in decoded.problem


@each_encoder
def test_damaged(name: str, encode: Callable[[bytes], bytes]) -> None:
    """A flipped byte anywhere: no exception, no more than the bound, and most of what came before it is there."""
    data = bytes(random.Random(3).choices(b"abcdefgh <>/", k=30_000))
    wire = encode(data)
    for place in range(0, len(wire), max(1, len(wire) // 60)):
        broken = bytearray(wire)
        broken[place] ^= 0x55
        decoded = decode_body(bytes(broken), [name], 40_000)
        assert len(decoded.body) <= 40_000
        if name in ("gzip", "br") and place > len(wire) // 2:
            assert decoded.body[:10_000] == data[:10_000]


def test_checksum_wrong() -> None:
    """All of the body is there although the trailer lies."""
    wire = gzip.compress(PAGE)
    decoded = decode_body(wire[:-8] + b"\0" * 8, ["gzip"], ROOM_B)
    assert decoded == Decoded(PAGE, False, "gzip data is damaged")
    decoded = decode_body(zlib.compress(PAGE)[:-4] + b"\0" * 4, ["deflate"], ROOM_B)
    assert decoded == Decoded(PAGE, False, "deflate data is damaged")


def test_several_members_and_frames() -> None:
    assert decode_body(b"".join(map(gzip.compress, (PAGE, b"", PAGE))), ["gzip"], ROOM_B).body == PAGE * 2
    assert decode_body(gzip.compress(PAGE) * 2, ["gzip"], len(PAGE) + 5) == Decoded(PAGE + PAGE[:5], True, "")
    assert decode_body(gzip.compress(PAGE) * 2, ["gzip"], len(PAGE) * 2) == Decoded(PAGE * 2, False, "")
    skipped = b"\x5a\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"nothing"
    frames = skipped + zstd_streamed(PAGE) + skipped + zstandard.compress(PAGE)
    assert decode_body(frames, ["zstd"], ROOM_B) == Decoded(PAGE * 2, False, "")
    assert decode_body(frames, ["zstd"], len(PAGE)) == Decoded(PAGE, True, "")


@each_encoder
@pytest.mark.parametrize("tail", [b"\0\0", b"garbage after it", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"])
def test_trailing_bytes(name: str, encode: Callable[[bytes], bytes], tail: bytes) -> None:
    decoded = decode_body(encode(PAGE) + tail, [name], ROOM_B)
    assert decoded.body == PAGE and not decoded.truncated


@functools.cache
def bomb(name: str) -> bytes:
    return ENCODERS[name][1](bytes(20_000_000))


@pytest.mark.parametrize("name", ENCODERS)
def test_bomb(name: str) -> None:
    """The bound holds while decoding runs, not only at the end (promise 6)."""
    wire, max_b = bomb(name), 3_000_000
    tracemalloc.start()
    try:
        decoded = decode_body(wire, [ENCODERS[name][0]], max_b)
        _, peak_b = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decoded == Decoded(bytes(max_b), True, "")
    assert peak_b < 4 * max_b  # the pieces, their join, the cut copy; brotli's and zstd's window is not Python's


def test_stacked_bombs() -> None:
    for kind in ("gzip", "br", "zstd, no size"):
        inner, outer = ENCODERS[kind]
        decoded = decode_body(outer(outer(bomb(kind))), [f"{inner}, {inner}, {inner}"], 1_000_000)
        assert decoded.truncated and decoded.body == bytes(1_000_000)
    quine_like = decode_body(gzip.compress(gzip.compress(bomb("gzip")) * 30_000), ["gzip"] * 4, 100_000)
    assert len(quine_like.body) <= 100_000


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_million_tiny_streams(name: str) -> None:
    """Linear in time: neither the rest of the body is copied per member, nor are members without end followed."""
    one = gzip.compress(b"") if name == "gzip" else zstandard.compress(b"a")
    decoded = decode_body(one * 500_000, [name], ROOM_B)
    assert len(decoded.body) < 10_000 and "followed by" in decoded.problem


def test_zstd_window_is_bounded() -> None:
    """RFC 9659: a frame that asks for more than 8 MB of window is refused, not allocated."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    wire = stream.compress(bytes(20_000_000)) + stream.flush()
    assert decode_body(wire, ["zstd"], ROOM_B) == Decoded(b"", False, "zstd data is damaged")


@given(
    wire=st.binary(max_size=400),
    start=st.sampled_from([b"", b"\x1f\x8b\x08", b"\x1f\x8b\x08\x1f", b"\x78\x9c", b"\x28\xb5\x2f\xfd", b"\x0b"]),
    names=st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd", "compress"]), min_size=1, max_size=5),
    max_b=st.integers(-1, 1000),
)
@settings(max_examples=400)
def test_any_bytes(wire: bytes, start: bytes, names: list[str], max_b: int) -> None:
    decoded = decode_body(start + wire, names, max_b)
    assert len(decoded.body) <= max(max_b, 0)
    assert decoded.problem.isprintable()
