"""How an answer that is a file is read: its type by its content, the size of an image, what a style sheet needs."""

from __future__ import annotations

from weft.crawl.conclude import conclude_file
from weft.crawl.marks import ParseMark
from weft.extract.images import image_size
from weft.judge.files import WantedFiles
from weft.parse.content import charset_of, decode, field_that_counts, file_type
from weft.parse.style import style_links
from weft.records import FILE, PAGE, Concluded, Fetched, FileFacts, Links


class FileReader:
    """Reads answers that are files. The file is marked while it is read, as pages are."""

    def __init__(self, wanted: WantedFiles, mark: ParseMark, max_links: int) -> None:
        self._max_links = max_links
        self._wanted = wanted
        self._mark = mark

    def concluded(self, done: Concluded, answer: Fetched) -> Concluded:
        """The conclusion of an answer; where it is a file, as that of a file."""
        lease = done.lease
        if lease.purpose is FILE:
            media = self._type_of(answer) if answer.body else ""
        elif lease.purpose is PAGE and done.is_stored_2xx and self._wanted.has_type(done.facts.type or ""):
            media = self._type_of(answer) if answer.body else ""
            if media and not self._wanted.has_type(media):  # it lies about its type
                return done
        else:
            return done
        with self._mark.of(lease.url):
            width, height = image_size(answer.body) if media.startswith("image/") else (None, None)
            links = self._needed(answer, media, lease.url)
        return conclude_file(done, answer, media, FileFacts(width=width, height=height), links)

    def _needed(self, answer: Fetched, media: str, url: str) -> Links | None:
        """What a style sheet needs, where that is asked for."""
        if media != "text/css" or not self._wanted.has_assets or answer.truncated or answer.status >= 300:
            return None
        charset = charset_of(field_that_counts(answer.header_values("content-type"))) or "utf-8"
        return style_links(decode(answer.body, charset), url, charset, self._max_links)

    @staticmethod
    def _type_of(answer: Fetched) -> str:
        return file_type(field_that_counts(answer.header_values("content-type")), answer.body)
