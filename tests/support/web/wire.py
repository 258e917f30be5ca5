"""Misbehaviour on the wire: cut answers, wrong lengths, chunks, first lines and headers."""

from __future__ import annotations

import asyncio
import gzip
import random

from web.kinds import (
    ANSWER,
    BAD,
    CHUNKED,
    CUT,
    LAST,
    LOST,
    SLOW,
    chunked,
    good_kind,
    head_of,
    own_page,
    poison_answer,
    raw_kind,
    sized,
    wire_kind,
)
from web.server import POISON, Line, Request

# --- wire: cut off

raw_kind("reset_before_answer", LOST, lambda body: b"", "reset as soon as the request is read", end="reset")
raw_kind("close_before_answer", LOST, lambda body: b"", "closed as soon as the request is read")
raw_kind("reset_mid_status_line", (*LOST, *BAD), lambda body: b"HTTP/1.", "reset inside the first line", end="reset")
raw_kind("close_mid_status_line", (*LOST, *BAD), lambda body: b"HTTP/1.1 20", "closed inside the first line")
raw_kind("reset_mid_headers", (*LOST, *BAD), lambda body: head_of()[:-6], "reset inside the headers", end="reset")
raw_kind("close_mid_headers", (*LOST, *BAD, *CUT), lambda body: head_of("Content-Length: 9")[:-9], "headers never end")
raw_kind(
    "reset_mid_body",
    ("CONNECTION_LOST", *CUT),
    lambda body: sized(body)[:-50],
    "reset with 50 bytes missing",
    end="reset",
)
raw_kind("short_body", CUT, lambda body: sized(body)[:-50], "closed with 50 bytes of the promised length missing")
raw_kind("no_body", CUT, lambda body: sized(body)[: -len(body)], "a length, then closed with no body at all")
raw_kind(
    "reset_without_length",
    ("CONNECTION_LOST", *CUT),
    lambda body: head_of("Connection: close") + body[:-50],
    "a body that ends with the connection is cut by a reset",
    end="reset",
)

# --- wire: more than was asked for; the next answer on the line must not be taken from it

good_kind("long_body", lambda body: sized(body) + POISON.encode() * 20, "bytes past the length, kept alive")
good_kind(
    "long_body_is_answer",
    lambda body: sized(body) + poison_answer(),
    "a whole second answer past the length (response splitting)",
)
good_kind(
    "poison_after_chunks",
    lambda body: CHUNKED + chunked(body) + LAST + poison_answer(),
    "a whole second answer after the last chunk",
)
raw_kind(
    "poison_after_204",
    (ANSWER,),
    lambda body: b"HTTP/1.1 204 No Content\r\n\r\n" + poison_answer(),
    "204 has no body; what follows is no answer to anybody",
    end="keep",
    status=204,
)
good_kind(
    "zero_length_with_body",
    lambda body: head_of("Content-Length: 0") + poison_answer(),
    "length 0, then a second answer",
    judged=False,
)
raw_kind(
    "smuggling_length_and_chunks",
    (ANSWER, *BAD),
    lambda body: (
        head_of(f"Content-Length: {len(body) + 400}", "Transfer-Encoding: chunked")
        + chunked(body)
        + LAST
        + poison_answer()
    ),
    "both lengths: chunks win, and the line is never used again (RFC 9112, 6.3)",
    end="keep",
)
raw_kind(
    "smuggling_chunks_and_length",
    (ANSWER, *BAD),
    lambda body: head_of("Transfer-Encoding: chunked", "Content-Length: 3") + chunked(body) + LAST + poison_answer(),
    "the same, the other way round",
    end="keep",
)


# Once the next request is on its way no client can tell this answer from the right one: pause between requests.
@wire_kind("second_answer_later", (ANSWER,), "an answer nobody asked for, a moment after the right one", status=200)
async def _second_answer_later(line: Line, request: Request) -> bool:
    await line.send(sized(own_page(request.path)))
    await asyncio.sleep(0.01)
    await line.send(poison_answer())
    return True


@wire_kind("many_answers", (ANSWER,), "twenty answers to one question", status=200)
async def _many_answers(line: Line, request: Request) -> bool:
    await line.send(sized(own_page(request.path)) + poison_answer() * 20)
    return True


# --- wire: chunks

raw_kind(
    "broken_chunk_size",
    (*BAD, *CUT),
    lambda body: CHUNKED + chunked(body) + b"zz\r\nabc\r\n" + LAST,
    "a chunk size that is no number",
    end="keep",
)
raw_kind(
    "negative_chunk_size",
    (*BAD, *CUT),
    lambda body: CHUNKED + chunked(body) + b"-5\r\nabcde\r\n" + LAST,
    "a negative chunk size",
    end="keep",
)
raw_kind(
    "huge_chunk_size",
    (*BAD, *CUT, ANSWER),
    lambda body: CHUNKED + b"FFFFFFFFFFFFFFFFF\r\n" + body,
    "a chunk size of more than 64 bits",
)
raw_kind("chunk_too_long", CUT, lambda body: CHUNKED + b"%x\r\n%s" % (len(body) + 500, body), "closed inside a chunk")
raw_kind("missing_last_chunk", CUT, lambda body: CHUNKED + chunked(body), "closed before the last chunk")
raw_kind(
    "chunk_without_line_end",
    (*BAD, *CUT),
    lambda body: CHUNKED + b"5\r\nabcdeXX5\r\nabcde\r\n" + LAST,
    "no line end after a chunk's data",
    end="keep",
)
raw_kind(
    "empty_chunk_line",
    (*BAD, *CUT, ANSWER),
    lambda body: CHUNKED + b"\r\n" + chunked(body) + LAST,
    "an empty line where a size should be",
    end="keep",
)
raw_kind(
    "chunk_size_with_0x",
    (*BAD, *CUT, ANSWER),
    lambda body: CHUNKED + b"0x5\r\nabcde\r\n" + LAST + poison_answer(),
    "0x before a size: 5 for some, 0 for others",
    end="keep",
)
good_kind(
    "chunk_extensions",
    lambda body: CHUNKED + chunked(body, extension=b';a=1;b="x;y"') + LAST,
    "chunk extensions are legal",
)
raw_kind(
    "chunk_extension_huge",
    (ANSWER, *BAD),
    lambda body: CHUNKED + b"5;" + b"x" * 1_000_000 + b"\r\nabcde\r\n" + LAST,
    "an extension of a megabyte",
)
good_kind(
    "chunk_trailers",
    lambda body: CHUNKED + chunked(body) + b"0\r\nX-Sum: 1\r\nContent-Length: 3\r\n\r\n",
    "trailers are legal and change nothing",
)
raw_kind(
    "chunk_bare_lf",
    (ANSWER, *BAD, *CUT),
    lambda body: CHUNKED + b"%x\n%s\n0\n\n" % (len(body), body),
    "bare line feeds around chunks",
)
good_kind("tiny_chunks", lambda body: CHUNKED + chunked(body, 1) + LAST, "a chunk for each byte")
raw_kind(
    "chunked_in_http10",
    (ANSWER, *BAD),
    lambda body: head_of("Transfer-Encoding: chunked", version="HTTP/1.0") + chunked(body) + LAST,
    "HTTP/1.0 knows no chunks",
)
raw_kind(
    "unknown_transfer_encoding",
    (ANSWER, *BAD),
    lambda body: head_of("Transfer-Encoding: nonsense") + body,
    "a transfer encoding nobody knows",
)
raw_kind(
    "chunked_not_last",
    (ANSWER, *BAD),
    lambda body: head_of("Transfer-Encoding: chunked, identity") + chunked(body) + LAST,
    "chunked is not the last encoding: the body ends with the connection",
)
raw_kind("chunked_but_is_not", (*BAD, *CUT), lambda body: CHUNKED + body, "says chunked, sends a plain body")
raw_kind(
    "transfer_gzip",
    (ANSWER, *BAD),
    lambda body: head_of("Transfer-Encoding: gzip, chunked") + chunked(gzip.compress(body)) + LAST,
    "gzip as a transfer encoding, not asked for",
    end="keep",
)


@wire_kind("endless_trailers", ("HEADERS_TOO_LARGE", *BAD, *CUT, *SLOW, ANSWER), "trailers that never end")
async def _endless_trailers(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + chunked(own_page(request.path)) + b"0\r\n")
    return await line.pour(b"X-Trailer: " + b"t" * 1_000 + b"\r\n", limit_b=64 << 20)


# --- wire: lengths

raw_kind("negative_length", BAD, lambda body: head_of("Content-Length: -5") + body, "a negative length")
raw_kind("nonsense_length", (*BAD, ANSWER), lambda body: head_of("Content-Length: many") + body, "a length in words")
raw_kind(
    "plus_length", (*BAD, ANSWER), lambda body: head_of(f"Content-Length: +{len(body)}") + body, "a length with a sign"
)
raw_kind("empty_length", (*BAD, ANSWER), lambda body: head_of("Content-Length: ") + body, "an empty length")
raw_kind(
    "hex_length",
    (*BAD, *CUT, ANSWER),
    lambda body: head_of(f"Content-Length: {len(body):#x}") + body,
    "a length in hex",
)
raw_kind("huge_length", (*BAD, *CUT), lambda body: head_of(f"Content-Length: {10**30}") + body, "a length of 10^30")
raw_kind(
    "overflow_length",
    (*BAD, *CUT),
    lambda body: head_of(f"Content-Length: {2**64 + len(body)}") + body,
    "a length that is right modulo 2^64",
)
raw_kind(
    "large_length",
    (*CUT, ANSWER),
    lambda body: head_of(f"Content-Length: {10**12}") + body,
    "a terabyte promised: nobody reserves it; refused by its size or found cut",
)
good_kind(
    "duplicate_length",
    lambda body: head_of(f"Content-Length: {len(body)}", f"Content-Length: {len(body)}") + body,
    "twice the same length",
)
raw_kind(
    "conflicting_length",
    (*BAD, *CUT),
    lambda body: head_of(f"Content-Length: {len(body)}", f"Content-Length: {len(body) + 9}") + body + poison_answer(),
    "two lengths that differ (RFC 9112, 6.3: discard, close)",
    end="keep",
)
raw_kind(
    "conflicting_length_shorter",
    (*BAD, *CUT),
    lambda body: head_of(f"Content-Length: {len(body)}", "Content-Length: 3") + body,
    "the second one shorter",
    end="keep",
)
raw_kind(
    "list_length",
    (ANSWER, *BAD),
    lambda body: head_of(f"Content-Length: {len(body)}, {len(body)}") + body,
    "a list of equal lengths",
    end="keep",
)
raw_kind(
    "list_length_conflicting",
    (*BAD, *CUT),
    lambda body: head_of(f"Content-Length: {len(body)}, 3") + body,
    "a list of different lengths",
    end="keep",
)

# --- wire: the first line

raw_kind("http_09", BAD, lambda body: body, "a body with no head, as in 1991")
raw_kind("garbage_status_line", BAD, lambda body: b"I am a teapot\r\n\r\n" + body, "words where a status should be")
raw_kind("status_0", BAD, lambda body: b"HTTP/1.1 0 Zero\r\nContent-Length: 0\r\n\r\n", "status 0")
raw_kind("status_99", BAD, lambda body: b"HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n", "two digits")
raw_kind(
    "status_099",
    (*BAD, ANSWER, *SLOW, *LOST),
    lambda body: b"HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
    "three digits below 100",
)
raw_kind(
    "status_999", (*BAD, ANSWER), lambda body: sized(body, status="999 Request Denied"), "status 999, seen in the wild"
)
raw_kind("status_2000", (*BAD, ANSWER), lambda body: sized(body, status="2000 OK"), "four digits")
raw_kind("status_word", BAD, lambda body: sized(body, status="OK 200"), "reason and status swapped")
raw_kind("status_missing", BAD, lambda body: b"HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "no status")
good_kind("no_reason", lambda body: sized(body, status="200"), "no reason phrase")
good_kind("reason_binary", lambda body: sized(body, status="200 \xff\xfe\x1b[31m"), "bytes and escapes as reason")
raw_kind(
    "reason_huge",
    (ANSWER, *BAD, "HEADERS_TOO_LARGE"),
    lambda body: sized(body, status="200 " + "O" * 500_000),
    "a reason phrase of half a megabyte",
)
raw_kind(
    "version_2_0",
    (*BAD, ANSWER),
    lambda body: b"HTTP/2.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body),
    "a version that has no first line",
)
raw_kind("version_9_9", (*BAD, ANSWER), lambda body: b"HTTP/9.9 200 OK\r\n\r\n" + body, "a version of the future")
raw_kind(
    "version_1_0",
    (ANSWER,),
    lambda body: b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + body,
    "HTTP/1.0, body until close",
    status=200,
)
raw_kind("version_lower_case", (*BAD, ANSWER), lambda body: b"http/1.1 200 OK\r\n\r\n" + body, "lower case")
raw_kind("icy", (*BAD, ANSWER), lambda body: b"ICY 200 OK\r\n\r\n" + body, "a radio station")
raw_kind("leading_line_ends", (*BAD, ANSWER), lambda body: b"\r\n\r\n" + sized(body), "empty lines first")
raw_kind("leading_garbage", (*BAD,), lambda body: b"\x00\x01\x02garbage" + sized(body), "bytes before the first line")
raw_kind("bare_line_feeds", (ANSWER,), lambda body: sized(body).replace(b"\r\n", b"\n"), "line feeds only", status=200)
raw_kind("random_bytes", BAD, lambda body: random.Random(7).randbytes(5_000), "random bytes")
raw_kind("tls_alert", BAD, lambda body: b"\x15\x03\x01\x00\x02\x02\x46", "a TLS alert on a plain port")
raw_kind("ssh_banner", BAD, lambda body: b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "another protocol")
raw_kind("smtp_banner", BAD, lambda body: b"220 mail.test ESMTP ready\r\n", "a mail server")
raw_kind(
    "http2_frames", BAD, lambda body: b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18, "HTTP/2 nobody agreed on"
)

# --- wire: headers

raw_kind(
    "header_without_colon", (ANSWER, *BAD), lambda body: sized(body, "this line has no colon"), "no colon", end="keep"
)
raw_kind("header_empty_name", (ANSWER, *BAD), lambda body: sized(body, ": nameless"), "no name", end="keep")
raw_kind(
    "header_blank_before_colon",
    (ANSWER, *BAD),
    lambda body: sized(body, "X-Odd : 1"),
    "blank before the colon",
    end="keep",
)
raw_kind(
    "header_folded",
    (ANSWER, *BAD),
    lambda body: sized(body, "X-Long: one\r\n two\r\n\tthree"),
    "folded lines",
    end="keep",
)
raw_kind(
    "header_folded_first",
    (ANSWER, *BAD),
    lambda body: b"HTTP/1.1 200 OK\r\n folded: first\r\n" + sized(body)[17:],
    "a folded line with nothing before it",
)
raw_kind("header_nul", (ANSWER, *BAD), lambda body: sized(body, "X-Nul: a\0b"), "NUL in a value", end="keep")
raw_kind(
    "header_bare_cr",
    (ANSWER, *BAD),
    lambda body: sized(body, "X-Cr: a\rSet-Cookie: sneaked=1"),
    "CR inside a value",
    end="keep",
)
good_kind(
    "header_binary",
    lambda body: sized(body, "X-Bin: \xff\xfe\x80\x1b]0;owned\x07"),
    "bytes and terminal escapes in a value",
)
raw_kind(
    "header_long_line",
    (ANSWER, "HEADERS_TOO_LARGE"),
    lambda body: sized(body, "X-Long: " + "x" * 60_000),
    "a line of 60 KB",
    end="keep",
)
raw_kind(
    "header_very_long_line",
    ("HEADERS_TOO_LARGE", *BAD, ANSWER),
    lambda body: sized(body, "X-Long: " + "x" * 2_000_000),
    "a line of 2 MB",
)
raw_kind(
    "headers_many",
    (ANSWER, "HEADERS_TOO_LARGE", *BAD),
    lambda body: sized(body, *(f"X-{n}: {n}" for n in range(3_000))),
    "three thousand lines",
    end="keep",
)
raw_kind(
    "no_headers",
    (ANSWER,),
    lambda body: b"HTTP/1.1 200 OK\r\n\r\n" + body,
    "none at all: the body ends with the line",
    status=200,
)
good_kind(
    "duplicate_types",
    lambda body: sized(body, "Content-Type: image/png", "Content-Type: text/plain"),
    "three content types",
    judged=False,
)
good_kind(
    "date_nonsense",
    lambda body: sized(body, "Date: yesterday", "Last-Modified: Fri, 99 Foo 20222"),
    "dates that are none (T8)",
)


@wire_kind("endless_headers", ("HEADERS_TOO_LARGE",), "header lines without end")
async def _endless_headers(line: Line, request: Request) -> bool:
    await line.send(head_of()[:-2])
    return await line.pour(b"".join(b"X-%d: %s\r\n" % (n, b"h" * 200) for n in range(100)), limit_b=64 << 20)


@wire_kind("endless_header_line", ("HEADERS_TOO_LARGE", *BAD), "one header line without end")
async def _endless_header_line(line: Line, request: Request) -> bool:
    await line.send(head_of()[:-2] + b"X-Endless: ")
    return await line.pour(b"h" * 16_384, limit_b=64 << 20)


@wire_kind("endless_status_line", ("HEADERS_TOO_LARGE", *BAD), "a first line without end")
async def _endless_status_line(line: Line, request: Request) -> bool:
    await line.send(b"HTTP/1.1 200 ")
    return await line.pour(b"O" * 16_384, limit_b=64 << 20)


# --- wire: interim answers and connection lies

good_kind("one_continue", lambda body: b"HTTP/1.1 100 Continue\r\n\r\n" + sized(body), "100 first")
good_kind(
    "early_hints",
    lambda body: b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n" + sized(body),
    "103 first",
)
raw_kind(
    "switching_protocols",
    (*BAD, ANSWER, *LOST, *CUT),
    lambda body: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "an upgrade nobody asked for",
)
good_kind(
    "connection_close_kept",
    lambda body: sized(body, "Connection: close") + poison_answer(),
    "says close, stays open and goes on talking",
)
raw_kind(
    "keep_alive_closed",
    (ANSWER,),
    lambda body: sized(body, "Connection: keep-alive", "Keep-Alive: timeout=99"),
    "says keep-alive, closes at once",
    status=200,
)
raw_kind(
    "keep_alive_reset",
    (ANSWER,),
    lambda body: sized(body, "Connection: keep-alive"),
    "says keep-alive, then resets",
    end="reset",
    status=200,
)


@wire_kind("endless_continue", ("HEADERS_TOO_LARGE", *BAD, *SLOW), "100 Continue for ever", timeout=True)
async def _endless_continue(line: Line, request: Request) -> bool:
    return await line.pour(b"HTTP/1.1 100 Continue\r\n\r\n" * 20, limit_b=64 << 20, pause_s=0.001)


@wire_kind("dies_on_reuse", (ANSWER,), "answers once, reads the next request of the line, and resets", status=200)
async def _dies_on_reuse(line: Line, request: Request) -> bool:
    await line.send(sized(own_page(request.path)))
    await line.reader.read(1)
    return await line.reset()
