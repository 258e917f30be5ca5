"""What is kept of every URL while statistics are made: a few bytes each, whatever the number of links."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from weft.judge.admit import FILES

ANSWERED, BROKEN, START, REDIRECTS, REDIRECTED_TO, LISTED = 1, 2, 4, 8, 16, 32
"""Bits of ``Known.flags``: the page was answered; it cannot be had; a seed; it redirects; a redirect leads to it;
it stands in the list compared with."""

LONGEST_CHAIN = 100
_NO_FILE = 0
_SAME = {"JPEG": "JPG", "JPE": "JPG", "JFIF": "JPG", "TIF": "TIFF", "SVGZ": "SVG"}
_IMAGES = sorted({_SAME.get(name, name) for name in FILES["images"].upper().split()})
_DOCUMENTS = FILES["documents"].upper().split()
_NAMES = ["", *_IMAGES, *_DOCUMENTS]
_CLASSES = {name: number for number, name in enumerate(_NAMES) if name}
_CLASSES |= {odd: _CLASSES[usual] for odd, usual in _SAME.items()}
_FIRST_DOCUMENT = 1 + len(_IMAGES)
_TYPES = {
    "application/pdf": "PDF",
    "application/msword": "DOC",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
    "application/vnd.ms-powerpoint": "PPT",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PPTX",
    "application/vnd.ms-excel": "XLS",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "XLSX",
    "application/vnd.oasis.opendocument.text": "ODT",
    "application/rtf": "RTF",
    "application/epub+zip": "EPUB",
    "application/postscript": "PS",
    "image/png": "PNG",
    "image/jpeg": "JPG",
    "image/gif": "GIF",
    "image/svg+xml": "SVG",
    "image/webp": "WEBP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
}
_LONGEST = max(map(len, _CLASSES))


class Known:
    """Arrays by the id of a URL. A spelling of a page has what its page has."""

    def __init__(self, last: int) -> None:
        size = last + 1
        self.last = last
        self.site = array("I", bytes(4 * size))  # 0: no page
        self.flags = bytearray(size)
        self.file = bytearray(size)  # which kind of file its name, or its type, says it is
        self.node = array("I", bytes(4 * size))  # the node of the graph that stands for it; 0: none
        self.leads_to = array("I", bytes(4 * size))  # the page that a redirect leads to
        self.in_links = array("I", bytes(4 * size))

    def with_flag(self, flag: int) -> Iterator[int]:
        """The ids that have a flag."""
        return (number for number, flags in enumerate(self.flags) if flags & flag)

    def chain(self, page: int) -> tuple[list[int], bool]:
        """The pages that redirects lead through, the first and the last included, and whether they never end.

        What goes on for more than a hundred hops counts as endless: no browser follows it either.
        """
        way, seen = [page], {page}
        while following := self.leads_to[way[-1]]:
            way.append(following)
            if following in seen or len(way) > LONGEST_CHAIN:
                return way, True
            seen.add(following)
        return way, False


def file_class(url: str, media: str | None) -> int:
    """Which kind of file a URL is: by the type it was answered with, else by the ending of its path; 0: none known."""
    if media is not None and media in _TYPES:
        return _CLASSES[_TYPES[media]]
    end = url.find("?")
    dot = url.rfind(".", max(0, (len(url) if end < 0 else end) - _LONGEST - 1), len(url) if end < 0 else end)
    if dot < 0:
        return _NO_FILE
    return _CLASSES.get(url[dot + 1 : len(url) if end < 0 else end].upper(), _NO_FILE)


def is_document(file: int) -> bool:
    return file >= _FIRST_DOCUMENT


def image_name(file: int) -> str:
    """``PNG``, ``JPG`` ... of an image that a page shows; UNKNOWN where neither name nor type tells."""
    return _NAMES[file] if 1 <= file < _FIRST_DOCUMENT else "UNKNOWN"


def document_name(file: int) -> str:
    return _NAMES[file]
