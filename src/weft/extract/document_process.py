"""The process that reads documents: ``python -m weft.extract.document_process``. It may die of one; others go on.

Frames on its standard input: the length of the type and of the body, then both. On its standard output, for each: the
length of a ``Document`` as JSON, then that.
"""

from __future__ import annotations

import struct
import sys
from typing import IO, Final

import msgspec

from weft.extract.documents import read_document

FRAME: Final = struct.Struct(">IQ")
ANSWER: Final = struct.Struct(">Q")


def main() -> None:
    """Reads documents until its input ends. The bound of memory is its first argument, in bytes."""
    _bound_memory(int(sys.argv[1]))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(FRAME.size):
        type_b, body_b = FRAME.unpack(head)
        media = source.read(type_b).decode()
        _send(sink, msgspec.json.encode(read_document(source.read(body_b), media)))


def _send(sink: IO[bytes], answer: bytes) -> None:
    sink.write(ANSWER.pack(len(answer)))
    sink.write(answer)
    sink.flush()


def _bound_memory(bound_b: int) -> None:
    try:
        import resource
    except ImportError:  # no such system: the bound of time holds
        return
    resource.setrlimit(resource.RLIMIT_AS, (bound_b, bound_b))


if __name__ == "__main__":
    main()
