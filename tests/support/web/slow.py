"""Misbehaviour in time: answers that hang, drip, or never end."""

from __future__ import annotations

import asyncio

from web.kinds import ANSWER, CHUNKED, SLOW, chunked, head_of, own_page, raw_kind, sized, wire_kind
from web.server import Line, Request

# --- slow

raw_kind("hang_before_answer", SLOW, lambda body: b"", "never says a word", group="slow", end="hang")
raw_kind("hang_mid_headers", SLOW, lambda body: head_of()[:-2], "stops inside the headers", group="slow", end="hang")
raw_kind(
    "hang_after_headers",
    ("READ_TIMEOUT",),
    lambda body: head_of("Content-Length: 1000"),
    "stops after the headers",
    group="slow",
    end="hang",
)
raw_kind(
    "hang_mid_body",
    ("READ_TIMEOUT",),
    lambda body: sized(body)[:-20],
    "stops inside the body",
    group="slow",
    end="hang",
)
raw_kind(
    "hang_without_length",
    ("READ_TIMEOUT",),
    lambda body: head_of() + body,
    "all is said, but the line stays open",
    group="slow",
    end="hang",
)
raw_kind(
    "hang_mid_chunk",
    ("READ_TIMEOUT",),
    lambda body: CHUNKED + chunked(body) + b"ff\r\nabc",
    "stops inside a chunk",
    group="slow",
    end="hang",
)
raw_kind(
    "hang_after_body",
    (ANSWER,),
    lambda body: sized(body, "Connection: close"),
    "complete, then silent: nobody waits",
    group="slow",
    end="hang",
    status=200,
)
raw_kind(
    "hang_after_continue",
    SLOW,
    lambda body: b"HTTP/1.1 100 Continue\r\n\r\n",
    "100, then silence",
    group="slow",
    end="hang",
)


@wire_kind("drip_headers", (*SLOW, "HEADERS_TOO_LARGE"), "a byte of header a second", group="slow", timeout=True)
async def _drip_headers(line: Line, request: Request) -> bool:
    await line.drip(head_of("X-Slow: " + "x" * 10_000))
    return False


@wire_kind("drip_body", ("READ_TIMEOUT",), "a byte of body a second", group="slow", timeout=True)
async def _drip_body(line: Line, request: Request) -> bool:
    body = own_page(request.path) + b" " * 10_000
    await line.send(head_of(f"Content-Length: {len(body)}"))
    await line.drip(body)
    return False


@wire_kind("drip_chunks", ("READ_TIMEOUT",), "a chunk of one byte a second, for ever", group="slow", timeout=True)
async def _drip_chunks(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + chunked(own_page(request.path)))
    return await line.pour(b"1\r\nx\r\n", limit_b=6 * 3_600, pause_s=line.drip_pause_s)


@wire_kind(
    "drip_fast_enough", ("READ_TIMEOUT", ANSWER), "never idle, never done: 100 bytes a tick", group="slow", timeout=True
)
async def _drip_fast_enough(line: Line, request: Request) -> bool:
    await line.send(head_of() + own_page(request.path))
    return await line.pour(b"<p>" + b"w" * 97, limit_b=1 << 20, pause_s=line.drip_pause_s / 20)


@wire_kind("slow_answer", (ANSWER,), "half a second to think, then all is well", group="slow", status=200)
async def _slow_answer(line: Line, request: Request) -> bool:
    await asyncio.sleep(0.5)
    await line.send(sized(own_page(request.path)))
    return True


@wire_kind("endless_body", (ANSWER,), "a body without end, at full speed", group="slow", status=200, truncated=True)
async def _endless_body(line: Line, request: Request) -> bool:
    await line.send(head_of() + own_page(request.path))
    return await line.pour(b"<p>and on and on</p>\n" * 3_000)


@wire_kind("endless_chunks", (ANSWER,), "chunks without end, at full speed", group="slow", status=200, truncated=True)
async def _endless_chunks(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + chunked(own_page(request.path)))
    return await line.pour(chunked(b"<p>and on and on</p>\n" * 3_000, 60_000))


@wire_kind("endless_blanks", (ANSWER,), "white space without end", group="slow", status=200, truncated=True)
async def _endless_blanks(line: Line, request: Request) -> bool:
    await line.send(head_of() + own_page(request.path))
    return await line.pour(b" \n" * 30_000)
