"""Stored documents are read at the end of a run, in a process of its own with bounds on time and memory."""

from __future__ import annotations

import contextlib
import selectors
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from weft.errors import FolderError
from weft.extract.document_process import ANSWER, FRAME
from weft.extract.documents import MAX_REFERENCE, Document
from weft.fetch.decode import decode_body
from weft.records import LinkKind, Links
from weft.store.documents import StoredDocument
from weft.store.warc.reader import read_record
from weft.url import Resolver

MEMORY_B: Final = 1_000_000_000  # of address space
TIME_S: Final = 120.0  # for one document


class DocumentProcess:
    """Reads one document after the other; where one ends its process, or takes too long, the next has a new one."""

    def __init__(self, time_s: float = TIME_S, memory_b: int = MEMORY_B) -> None:
        self._time_s = time_s
        self._memory_b = memory_b
        self._process: subprocess.Popen[bytes] | None = None

    def read_stored(self, archive: Path, document: StoredDocument) -> Document:
        """What a document in the archive says."""
        try:
            record = read_record(archive / document.file, document.offset, document.length)
        except FolderError as error:
            return Document(problem=str(error))
        body = decode_body(record.body, encodings_of(document.headers), document.size).body
        return self.read(body, document.type)

    def read(self, body: bytes, media: str) -> Document:
        """What a document says. Never raises for what it holds."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        name = media.encode()
        with contextlib.suppress(BrokenPipeError):  # it has died: the answer will be missing
            process.stdin.write(FRAME.pack(len(name), len(body)))
            process.stdin.write(name)
            process.stdin.write(body)
            process.stdin.flush()
        answer = self._answer(process)
        if isinstance(answer, bytes):
            return msgspec.json.decode(answer, type=Document)
        self.close()
        return Document(problem=answer)

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes | str:
        """The answer of the process, or why there is none."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._time_s):
                return f"it was not read within {self._time_s:g} s"
        head = process.stdout.read(ANSWER.size)
        if len(head) < ANSWER.size:
            return "the process that read it died"
        return process.stdout.read(ANSWER.unpack(head)[0])

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "weft.extract.document_process", str(self._memory_b)]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            process.communicate()


def links_of_document(references: Sequence[str], url: str) -> Links:
    """The links of the document with this URL; what leads nowhere is left out."""
    resolve, links = Resolver(url).resolve, Links()
    for reference in references:
        target = resolve(reference)
        if target is not None and len(target[0]) <= MAX_REFERENCE:
            links.add(target[0], LinkKind.DOCUMENT.value, fragment=target[1])
    return links


def encodings_of(headers: str) -> list[str]:
    """The content encodings of an answer by its head."""
    lines = (line.partition(":") for line in headers.splitlines()[1:])
    return [value.strip() for name, _, value in lines if name.strip().lower() == "content-encoding"]
