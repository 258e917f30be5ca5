"""Queries in the encoding of the page that holds the link, as browsers send them.

The encoders are those of the WHATWG Encoding Standard, made of Python's codecs where the two agree and corrected where
they do not. Only queries need them: every other part of a URL is UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

_KEPT = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")
"""Bytes that stay as they are: not in the special-query percent-encode set."""

_SINGLE_BYTE = {
    "ibm866": "cp866",
    "iso-8859-1": "cp1252",
    "iso-8859-8-i": "iso8859_8",
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "latin1": "cp1252",
    "macintosh": "mac_roman",
    "us-ascii": "cp1252",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    **{f"iso-8859-{part}": f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"windows-125{page}": f"cp125{page}" for page in range(9)},
}

_Encoder = Callable[[str], "bytes | None"]


def is_utf8(encoding: str) -> bool:
    """Whether queries of a page in this encoding are sent in UTF-8: the case for UTF-16 and unknown names too."""
    if encoding in ("utf-8", "UTF-8"):
        return True
    name = encoding.lower()
    return name not in _SINGLE_BYTE and name not in _MULTI_BYTE and name != "iso-2022-jp"


def encode_query(text: str, encoding: str = "utf-8") -> str:
    """The query percent-encoded after encoding; what the encoding lacks becomes ``&#NNN;``, percent-encoded."""
    name = encoding.lower()
    if name == "iso-2022-jp":
        return "".join(_iso_2022_jp(text))
    encode = _encoder(name)
    return text.translate({ord(char): _escaped(encode(char), char) for char in set(text)})


def _escaped(encoded: bytes | None, char: str) -> str:
    if encoded is None:
        return f"%26%23{ord(char)}%3B"
    return "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in encoded)


def _encoder(name: str) -> _Encoder:
    """A function from a character to its bytes, or to None where the encoding lacks it."""
    if name in _SINGLE_BYTE:
        return lambda char: _single_byte(char, _SINGLE_BYTE[name])
    return _MULTI_BYTE.get(name, _utf8)


def _utf8(char: str) -> bytes:
    return char.encode("utf-8", "replace") if char < "\ud800" or char > "\udfff" else b"\xef\xbf\xbd"


def _by_codec(char: str, codec: str) -> bytes | None:
    try:
        return char.encode(codec)
    except UnicodeEncodeError:
        return None


def _single_byte(char: str, codec: str) -> bytes | None:
    if codec == "koi8_u" and char in "ўЎ":  # the web's KOI8-U is KOI8-RU here
        return b"\xae" if char == "ў" else b"\xbe"
    encoded = _by_codec(char, codec)
    if encoded is None and "\x80" <= char <= "\x9f" and codec.startswith("cp"):
        # Microsoft's holes are filled with the C1 control of the same number.
        byte = char.encode("latin-1")
        return byte if byte.decode(codec, "replace") == "\ufffd" else None
    return encoded


def _big5(char: str) -> bytes | None:
    encoded = _by_codec(char, "big5hkscs") or _by_codec(char, "cp950")
    # The Hong Kong rows below A1 are read and never written.
    return None if encoded is None or 0x80 <= encoded[0] < 0xA1 else encoded


def _gb18030(char: str) -> bytes | None:
    return None if char == "\ue5e5" else _by_codec(char, "gb18030")


def _gbk(char: str) -> bytes | None:
    if char == "€":
        return b"\x80"
    encoded = _gb18030(char)
    return encoded if encoded is None or len(encoded) <= 2 else None


def _shift_jis(char: str) -> bytes | None:
    if char in "¥‾":
        return b"\\" if char == "¥" else b"~"
    encoded = _by_codec(char, "cp932")
    if encoded is None or (len(encoded) == 1 and encoded > b"\xdf") or "\ue000" <= char <= "\uf8ff":
        return None  # user-defined characters are read and never written
    return encoded


def _jis_0208(char: str) -> bytes | None:
    """Row and cell of JIS X 0208 with the vendors' rows, from 0x2121 up."""
    encoded = _shift_jis(char)
    if encoded is None or len(encoded) != 2:
        return None
    lead, trail = encoded
    row = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 2
    cell = trail - (0x40 if trail < 0x7F else 0x41)
    if cell >= 94:
        row, cell = row + 1, cell - 94
    return bytes((row + 0x21, cell + 0x21)) if row < 94 else None


def _euc_jp(char: str) -> bytes | None:
    if char < "\x80" or char in "¥‾":
        return _shift_jis(char)
    if "\uff61" <= char <= "\uff9f":
        return bytes((0x8E, ord(char) - 0xFF61 + 0xA1))
    pair = _jis_0208(char)
    return pair and bytes(byte | 0x80 for byte in pair)


_MULTI_BYTE: dict[str, _Encoder] = {
    "big5": _big5,
    "euc-jp": _euc_jp,
    "euc-kr": lambda char: _by_codec(char, "cp949"),
    "gb18030": _gb18030,
    "gbk": _gbk,
    "shift_jis": _shift_jis,
    "x-user-defined": lambda char: (
        bytes((ord(char) - 0xF700,)) if "\uf780" <= char <= "\uf7ff" else _by_codec(char, "ascii")
    ),
}

_ASCII, _ROMAN, _JIS = "%1B(B", "%1B(J", "%1B$B"
_SHIFTS = dict.fromkeys(map(ord, "\x0e\x0f\x1b"), "\ufffd")  # would change the state; the standard writes them so
_HALF_WIDTH = dict(
    zip(
        range(0xFF61, 0xFFA0),
        "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜",
        strict=True,
    )
)


def _iso_2022_jp(text: str) -> Iterator[str]:
    """The pieces of the query in the one encoding that has states (Encoding Standard, 12.2.2)."""
    state = _ASCII
    for char in text.translate(_HALF_WIDTH | _SHIFTS):
        if char < "\x80":
            wanted = _ROMAN if state == _ROMAN and char not in "\\~" else _ASCII
            encoded: bytes | None = char.encode("ascii")
        elif char in "¥‾":
            wanted, encoded = _ROMAN, _shift_jis(char)
        else:
            encoded = _jis_0208(char)
            wanted = _JIS if encoded else _ASCII if state == _JIS else state
        if wanted != state:
            yield wanted
            state = wanted
        yield _escaped(encoded, char)
    if state != _ASCII:
        yield _ASCII
