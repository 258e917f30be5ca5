"""Which links lead to files that are asked for: by the kind of the link, and by the extension of the URL."""

from __future__ import annotations

from typing import Final

from weft.records import LinkKind
from weft.spec import Files

_DOCUMENTS = "doc docm docx dot dotx odp ods odt pdf pps ppsx ppt pptm pptx rtf xls xlsb xlsm xlsx"
DOCUMENT_EXTENSIONS: Final = frozenset(_DOCUMENTS.split())
DOCUMENT_TYPES: Final = frozenset(
    {
        "application/msword",
        "application/pdf",
        "application/rtf",
        "application/vnd.ms-excel",
        "application/vnd.ms-excel.sheet.binary.macroenabled.12",
        "application/vnd.ms-excel.sheet.macroenabled.12",
        "application/vnd.ms-powerpoint",
        "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        "application/vnd.ms-word.document.macroenabled.12",
        "application/vnd.oasis.opendocument.presentation",
        "application/vnd.oasis.opendocument.spreadsheet",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
        "application/x-pdf",
        "text/rtf",
    }
)
_SHOWING: Final = frozenset({LinkKind.IMAGE, LinkKind.MEDIA, LinkKind.EMBED, LinkKind.SCRIPT, LinkKind.STYLE})
_ASSETS: Final = frozenset({LinkKind.SCRIPT, LinkKind.STYLE})
_FONTS: Final = frozenset({"eot", "otf", "ttc", "ttf", "woff", "woff2"})
_ICONS: Final = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "fluid-icon"})


class WantedFiles:
    """The files that a crawl asks for."""

    def __init__(self, files: Files) -> None:
        self.has_any = files.has_any
        self._images = files.images or files.assets
        self.has_assets = files.assets
        self._documents = files.documents
        self.extensions = frozenset(files.extensions) | (DOCUMENT_EXTENSIONS if files.documents else frozenset())

    def shows(self, kind: int, rel: str, extension: str) -> bool:
        """Whether a link of a page shows a file that is asked for."""
        if kind == LinkKind.IMAGE:
            return self._images or extension in self.extensions
        if kind == LinkKind.LINK:
            return self._images and not _ICONS.isdisjoint(rel.split())
        if self.has_assets and (kind in _ASSETS or (kind == LinkKind.MEDIA and extension in _FONTS)):
            return True
        return kind in _SHOWING and extension in self.extensions

    def has_type(self, media: str) -> bool:
        """Whether an answer of this media type is a file that is asked for, whatever its URL looks like."""
        return (self._documents and media in DOCUMENT_TYPES) or (self._images and media.startswith("image/"))
