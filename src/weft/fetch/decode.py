"""Content encodings taken off a body, bounded while they run (promise 6).

Servers lie about encodings, cut bodies short and send bombs. None of that is an error here: ``decode_body`` always
returns the bytes that a reader can use, says whether they were cut at the bound, and what was odd. A decoder never
holds more than the bound plus one chunk of output, whatever the input, and its work is linear in input plus bound.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from isal import isal_zlib

MAX_LAYERS = 4
ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_IsalError: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub names an instance, not the class

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW = 31, 15, -15  # the window bits by which zlib tells its three containers apart
_MAX_GZIP_MEMBERS = 4_096  # bgzip makes 160 of 10 MB; a member a byte or two long is an attack on our time
_MAX_ZSTD_FRAMES = 4_096
_MAX_ZSTD_BLOCKS = 200_000
_ZSTD_WINDOW_B = 8 << 20  # RFC 9659: no larger window in HTTP
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte of 0x50 to 0x5f
_CHUNK_B = 1 << 18
_BROTLI_SLICE_B = 1 << 14
_SLICE_B = 1 << 12  # input fed at once where a decoder is expected to fail
_TEXT_SAMPLE_B = 64
_CONTROL_CHARACTERS = bytes(set(range(32)) - set(b"\t\n\f\r\x1b"))


class Decoded(NamedTuple):
    """A body without its content encodings; ``problem`` is empty where nothing was odd."""

    body: bytes
    truncated: bool  # cut at the bound: more would have come
    problem: str


class _Piece(msgspec.Struct, frozen=True):
    """What one compressed stream gave: its output, where it ended in the input, and how."""

    out: bytes
    end: int
    state: str  # one of the four below


_DONE, _EARLY, _OVER, _BROKEN = "done", "ends early", "over the bound", "is damaged"


def decode_body(wire: bytes, content_encoding: Sequence[str], max_b: int) -> Decoded:
    """The body with all its encodings taken off, at most ``max_b`` bytes of it.

    ``content_encoding`` holds the values of the Content-Encoding headers in order; each may list several, in the
    order in which they were applied (RFC 9110 section 8.4). An encoding that is unknown, or that the body does not
    have, leaves the body as it is.
    """
    if not content_encoding or not wire:
        return _plain(wire, max_b)
    if len(content_encoding) == 1 and content_encoding[0] == "gzip" and max_b > 0:
        return _gunzip(wire, max_b)
    layers = _layers(content_encoding)
    if len(layers) > MAX_LAYERS:
        return _plain(wire, max_b, f"{len(layers)} content encodings on each other, at most {MAX_LAYERS} are taken off")
    if max_b <= 0:
        return _plain(wire, max_b)
    body, truncated, problems = wire, False, []
    for name in reversed(layers):
        decoder = _DECODERS.get(name)
        if decoder is None:
            problems.append(f"unknown content encoding {name[:40]!r}")
            continue
        body, cut, problem = decoder(body, max_b)
        truncated = truncated or cut
        if problem:
            problems.append(problem)
    body, cut, _ = _plain(body, max_b)
    return Decoded(body, truncated or cut, "; ".join(problems))


def _layers(values: Sequence[str]) -> list[str]:
    names = [name.strip().lower() for value in values for name in value.split(",")]
    return [name for name in names if name and name != "identity"]


def _plain(wire: bytes, max_b: int, problem: str = "") -> Decoded:
    if len(wire) <= max_b:
        return Decoded(wire, False, problem)
    return Decoded(wire[: max(max_b, 0)], True, problem)


def _looks_like_text(wire: bytes) -> bool:
    """Whether the first bytes hold no control character: next to impossible for compressed data of that length."""
    sample = wire[:_TEXT_SAMPLE_B]
    return len(sample.translate(None, _CONTROL_CHARACTERS)) == len(sample)


def _finished(out: bytes, max_b: int, name: str, state: str) -> Decoded:
    """The result of a decoder that was allowed one byte more than ``max_b``, to see whether more would come."""
    if len(out) > max_b:
        return Decoded(out[:max_b], True, "")
    return Decoded(out, False, "" if state == _DONE else f"{name} data {state}")


# gzip and deflate


def _gunzip(wire: bytes, max_b: int) -> Decoded:
    stream = isal_zlib.decompressobj(_GZIP)
    try:
        body = stream.decompress(wire, max_b + 1)
    except _IsalError:
        if wire[:2] != _GZIP_MAGIC:
            return _plain(wire, max_b, "declared gzip, but the body is not")
        return _gunzip_members(wire, max_b)
    if stream.eof and not stream.unused_data and len(body) <= max_b:
        return Decoded(body, False, "")
    if len(body) > max_b:
        return Decoded(body[:max_b], True, "")
    if stream.eof:
        return _gunzip_members(wire, max_b)
    if not body and wire[:2] != _GZIP_MAGIC[: len(wire)]:
        return _plain(wire, max_b, "declared gzip, but the body is not")
    return _finished(body, max_b, "gzip", _EARLY)


def _gunzip_members(wire: bytes, max_b: int) -> Decoded:
    """All members of a gzip body (RFC 1952 section 2.2), up to the first that is none."""
    view = memoryview(wire)
    outs: list[bytes] = []
    left, position, state = max_b + 1, 0, _DONE
    for _ in range(_MAX_GZIP_MEMBERS):
        piece = _inflate(view, position, _GZIP, left)
        outs.append(piece.out)
        left -= len(piece.out)
        position, state = piece.end, piece.state
        if state != _DONE or wire[position : position + 2] != _GZIP_MAGIC:
            break
    if state == _DONE and position < len(wire):
        state = f"is followed by {len(wire) - position} other bytes"
    return _finished(b"".join(outs), max_b, "gzip", state)


def _undeflate(wire: bytes, max_b: int) -> Decoded:
    """``deflate`` as it is found: with the zlib container (RFC 9110), raw, or in truth gzip."""
    if wire[:2] == _GZIP_MAGIC:  # as raw deflate these bytes would be a block of the reserved type
        decoded = _gunzip(wire, max_b)
        return decoded._replace(problem=decoded.problem or "declared deflate, but the body is gzip")
    view = memoryview(wire)
    best: _Piece | None = None
    if len(wire) >= 2 and wire[0] & 15 == 8 and int.from_bytes(wire[:2]) % 31 == 0:
        best = _inflate(view, 0, _ZLIB, max_b + 1)
    if best is None or best.state == _BROKEN:
        raw = _inflate(view, 0, _RAW, max_b + 1)
        if best is None or raw.state == _DONE or len(raw.out) > len(best.out):
            best = raw
    if best.state in (_BROKEN, _EARLY) and _looks_like_text(wire):
        return _plain(wire, max_b, "declared deflate, but the body is not")
    return _finished(best.out, max_b, "deflate", best.state)


def _inflate(view: memoryview, start: int, wbits: int, budget: int) -> _Piece:
    """One stream that begins at ``start``, at most ``budget`` (at least 1) bytes of its output.

    Input is fed in slices, so that the rest of a body is not copied once for each of a thousand members.
    """
    stream = isal_zlib.decompressobj(wbits)
    outs: list[bytes] = []
    left, position, step = budget, start, _SLICE_B
    while position < len(view):
        piece = view[position : position + step]
        try:
            out = stream.decompress(piece, left)
        except _IsalError:
            return _inflate_what_came(view, start, wbits, budget)
        outs.append(out)
        left -= len(out)
        position += len(piece)
        if stream.eof:
            return _Piece(b"".join(outs), position - len(stream.unused_data), _DONE)
        if left <= 0:
            return _Piece(b"".join(outs), position, _OVER)
        step = min(step * 2, _CHUNK_B)
    return _Piece(b"".join(outs), position, _EARLY)


def _inflate_what_came(view: memoryview, start: int, wbits: int, budget: int) -> _Piece:
    """The same for a stream known to be damaged: all output before the damage.

    A decoder that raises takes the output of that call with it, so the call that failed is repeated byte by byte
    from a copy of the state before it.
    """
    stream = zlib.decompressobj(wbits)
    outs: list[bytes] = []
    left, position, step = budget, start, _SLICE_B
    while position < len(view):
        piece = view[position : position + step]
        before = stream.copy() if step > 1 else stream
        try:
            out = stream.decompress(piece, left)
        except zlib.error:
            if step == 1:
                return _Piece(b"".join(outs), position, _BROKEN)
            stream, step = before, 1
            continue
        outs.append(out)
        left -= len(out)
        position += len(piece)
        if stream.eof:
            return _Piece(b"".join(outs), position - len(stream.unused_data), _DONE)
        if left <= 0:
            return _Piece(b"".join(outs), position, _OVER)
    return _Piece(b"".join(outs), position, _EARLY)


# brotli


def _unbrotli(wire: bytes, max_b: int) -> Decoded:
    piece = _brotli_stream(wire, max_b + 1, bytewise_from=len(wire))
    if piece.state == _BROKEN:
        piece = _brotli_stream(wire, max_b + 1, bytewise_from=piece.end)
    if piece.state in (_BROKEN, _EARLY) and _looks_like_text(wire):  # brotli has no magic number to tell by
        return _plain(wire, max_b, "declared br, but the body is not")
    state = piece.state
    if state == _DONE and piece.end < len(wire):
        state = f"is followed by {len(wire) - piece.end} other bytes"
    return _finished(piece.out, max_b, "br", state)


def _brotli_stream(wire: bytes, budget: int, bytewise_from: int) -> _Piece:
    """The stream's output; where it is damaged, ``end`` is the start of the slice of input that the decoder refused.

    A refused slice takes its output with it. Fed byte by byte from there, all that came before the damage is kept.
    """
    import brotli  # type: ignore[import-untyped, unused-ignore]

    stream = brotli.Decompressor()
    outs: list[bytes] = []
    position = 0
    while position < len(wire):
        end = min(position + _BROTLI_SLICE_B, bytewise_from) if position < bytewise_from else position + 1
        try:
            for out in _brotli_drain(stream, wire[position:end], budget):
                outs.append(out)
                budget -= len(out)
        except brotli.error:
            return _Piece(b"".join(outs), position, _BROKEN)
        position = end
        if stream.is_finished():
            return _Piece(b"".join(outs), position, _DONE)
        if budget <= 0:
            return _Piece(b"".join(outs), position, _OVER)
    return _Piece(b"".join(outs), position, _EARLY)


def _brotli_drain(stream: Any, piece: bytes, budget: int) -> Iterator[bytes]:
    """What a slice of input gives, chunk by chunk, until it is used up or the budget is.

    The decoder may pass its limit by a block of its own, so the limit stays small. It may also have taken all its
    input and still hold output, and ``can_accept_more_data`` does not tell; an answer below the limit does.
    """
    while True:
        limit = min(budget, _CHUNK_B)
        out: bytes = stream.process(piece, output_buffer_limit=limit)
        yield out
        budget -= len(out)
        if budget <= 0 or stream.is_finished() or (len(out) < limit and stream.can_accept_more_data()):
            return
        piece = b""


# zstd


def _unzstd(wire: bytes, max_b: int) -> Decoded:
    """All frames (RFC 8878) of a body; frames that hold no content are skipped."""
    if not _is_zstd_magic(wire[:4]):
        return _plain(wire, max_b, "declared zstd, but the body is not")
    outs: list[bytes] = []
    left, position, state = max_b + 1, 0, _DONE
    view = memoryview(wire)
    for _ in range(_MAX_ZSTD_FRAMES):
        frame = view[position:]
        end = _zstd_frame_end(frame)
        if wire[position : position + 4] == _ZSTD_MAGIC:
            piece = _zstd_frame(frame if end is None else frame[:end], left)
            outs.append(piece.out)
            left -= len(piece.out)
            state = piece.state
        if state == _DONE and end is None:
            state = _EARLY
        if state != _DONE or end is None:
            break
        position += end
        if not _is_zstd_magic(wire[position : position + 4]):
            break
    if state == _DONE and position < len(wire):
        state = f"is followed by {len(wire) - position} other bytes"
    return _finished(b"".join(outs), max_b, "zstd", state)


def _is_zstd_magic(start: bytes) -> bool:
    return start == _ZSTD_MAGIC or (len(start) == 4 and start[0] & 0xF0 == 0x50 and start[1:] == _ZSTD_SKIPPABLE)


def _zstd_frame_end(frame: memoryview) -> int | None:
    """How long the frame at the start is, or None where the input ends before it does (RFC 8878 section 3.1)."""
    if len(frame) < 8:
        return None
    if frame[0] & 0xF0 == 0x50:
        end = 8 + int.from_bytes(frame[4:8], "little")
        return end if end <= len(frame) else None
    descriptor = frame[4]
    single_segment = descriptor >> 5 & 1
    content_size_b = (single_segment, 2, 4, 8)[descriptor >> 6]
    position = 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size_b
    for _ in range(_MAX_ZSTD_BLOCKS):
        if position + 3 > len(frame):
            return None
        block = int.from_bytes(frame[position : position + 3], "little")
        position += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)  # a run-length block is one byte
        if block & 1:
            end = position + (4 if descriptor & 4 else 0)
            return end if end <= len(frame) else None
    return None


def _zstd_frame(frame: memoryview, budget: int) -> _Piece:
    """The content of one frame; a damaged one is read again in small steps, up to the damage."""
    import zstandard

    outs: list[bytes] = []
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_B)
    for step in (_CHUNK_B, 512):
        outs, left = [], budget
        reader = decoder.stream_reader(frame)
        try:
            while left > 0 and (out := reader.read(min(step, left))):
                outs.append(out)
                left -= len(out)
        except (zstandard.ZstdError, MemoryError):
            continue
        return _Piece(b"".join(outs), len(frame), _DONE if left > 0 else _OVER)
    return _Piece(b"".join(outs), 0, _BROKEN)


_DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
