"""The vectors' operations on HTTP bodies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from weft.fetch.decode import decode_body
from weft.spec import Limits


def decode(input: dict[str, object]) -> object:
    """What ``http.decode_body`` expects: the body's hash, or for a bomb or a cut body what was made of it."""
    wire, given, max_b = input["body"], input.get("content_encoding") or "", input.get("max_bytes")
    assert isinstance(wire, bytes)
    codings = [str(value) for value in given] if isinstance(given, list) else [str(given)]
    max_b = max_b if isinstance(max_b, int) else Limits().max_size_b
    decoded = decode_body(wire, codings, max_b)
    if decoded.truncated:
        return {"max_bytes_respected": len(decoded.body) <= max_b}
    if decoded.problem:
        return {"keep_partial": bool(decoded.body), "len_min": min(len(decoded.body), 1)}
    found: dict[str, object] = {"sha1": hashlib.sha1(decoded.body).hexdigest(), "len": len(decoded.body)}
    if "," in ",".join(codings):
        found["note"] = "codings listed in order applied"
    return found


OPS: dict[str, Callable[[dict[str, object]], object]] = {"http.decode_body": decode}
