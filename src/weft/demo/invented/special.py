"""What is no ordinary page: redirects, errors, short pages, files, traps."""

from __future__ import annotations

import hashlib
import re
from html import escape

from weft.demo.invented.nouns import FAMILIES, Answer, Spot, mix
from weft.demo.invented.pages import page_of
from weft.demo.invented.shape import Shape
from weft.demo.invented.words import LANGUAGES

_NOT_FOUND = b"<!doctype html>\n<html><head><title>404</title></head><body><h1>404</h1><p>Not here.</p></body></html>\n"
_GONE = b"<!doctype html>\n<html><head><title>410</title></head><body><h1>410</h1><p>Gone for good.</p></body></html>\n"
_BROKEN = b"<!doctype html>\n<html><head><title>500</title></head><body><h1>500</h1><p>Our fault.</p></body></html>\n"
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
IMAGE_SIZE = (1, 1)
"""Width and height of every image."""

_STATIC_TYPES = {
    "css": ("text/css", b"body { margin: 2em auto; max-width: 50em; }\n"),
    "js": ("text/javascript", b"document.documentElement.dataset.ready = '1';\n"),
    "png": ("image/png", _PNG),
    "mp3": ("audio/mpeg", b"ID3\x03\x00\x00\x00\x00\x00\x00"),
    "swf": ("application/x-shockwave-flash", b"FWS\x06\x0a\x00\x00\x00"),
}


def special_of(web: Shape, host: int, path: str, role: str, number: int, step: int) -> Answer:
    if role == "copy":
        return page_of(web, host, number, web.name(host, number)[0])
    if role == "near":
        return page_of(web, host, number, path, near=True)
    if role in ("redirect", "loop"):
        status, target = redirect_of(web, host, role, number, step)
        body = f'<!doctype html><title>moved</title><a href="{target}">moved</a>'.encode()
        return Answer(status, "text/html; charset=utf-8", (("Location", target),), body)
    if role == "missing":
        return Answer(410, "text/html; charset=utf-8", (), _GONE) if number % 45 == 4 else missing()
    if role == "broken":
        return Answer(500, "text/html; charset=utf-8", (), _BROKEN)
    if role == "text":
        return Answer(200, "text/plain; charset=utf-8", (), _notes(web, host, number).encode())
    if role == "document":
        return Answer(200, "application/pdf", (), _pdf(number))
    return _small(web, host, path, role, number)


def redirect_of(web: Shape, host: int, role: str, number: int, step: int) -> tuple[int, str]:
    """Status and target of one step of a chain."""
    draw = mix(web.salt(host), number * 4 + step)
    prefix = FAMILIES[role].path(number)
    if role == "loop":
        return 302, f"{prefix}/2" if step == 1 else prefix
    if step < web.steps(role, host, number):
        return (301, 302, 303, 307, 308)[draw % 5], f"{prefix}/{step + 1}"
    target = web.name(host, (draw >> 8) % web.limit(host, number))[0]
    return (301, 302, 307, 308)[draw % 4], target if draw & 32 else web.base(host) + target


def _notes(web: Shape, host: int, number: int) -> str:
    first, second = web.sentences(host % len(LANGUAGES))
    return f"Notes {number} of h{host}\n\n{first[number % 512]}, {second[host % 512]}.\n"


# --- short pages


def _small(web: Shape, host: int, path: str, role: str, number: int) -> Answer:
    """The pages beside the ordinary ones: short, each with a body of its own."""
    head = header = ""
    links = "".join(_small_tag(spot) for spot in small_spots(web, host, role, number))
    if role == "closed":
        head, header = ("", "nofollow") if number % 2 else ('<meta name="robots" content="nofollow">', "")
    text = f"<p>{_notes(web, host, number)} {role} {number}</p>"
    body = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{role} {number}</title>{head}'
        f"</head>\n<body><h1>{role} {number} of h{host}</h1>{text}{links}</body></html>\n"
    ).encode()
    return Answer(200, "text/html; charset=utf-8", (("X-Robots-Tag", header),) if header else (), body)


def small_spots(web: Shape, host: int, role: str, number: int) -> list[Spot]:
    spots: list[Spot] = []
    if role == "refresh":
        spots.append(
            (
                host,
                web.name(host, mix(web.salt(host), number ^ 0x4EF) % web.limit(host, number))[0],
                "refresh",
                "",
                "",
                "",
            )
        )
    spots.append((host, "/", "a", "Home", "", ""))
    if role == "closed":
        spots.append((host, FAMILIES["behind"].path(number), "a", f"behind {number}", "", ""))
    return spots


def _small_tag(spot: Spot) -> str:
    if spot[2] == "refresh":
        return f'<meta http-equiv="refresh" content="0; url={spot[1]}">'
    return f'<p><a href="{spot[1]}">{spot[3]}</a></p>'


# --- traps


def trap_of(web: Shape, host: int, path: str) -> Answer:
    links = "".join(f'<li><a href="{escape(place)}">{anchor}</a></li>' for place, anchor in trap_places(web, path))
    body = (
        "<!doctype html>\n<html><head><meta charset=utf-8><title>trap</title></head>"
        f"<body><p>{escape(path.partition('?')[0])}</p>"
        f'<ul><li><a href="/">Home</a></li>{links}</ul></body></html>\n'
    )
    return Answer(200, "text/html; charset=utf-8", (), body.encode())


def trap_places(web: Shape, path: str) -> list[tuple[str, str]]:
    if found := re.match(r"/trap/calendar/(\d{1,6})/(\d{1,2})$", path):
        month = int(found[1]) * 12 + int(found[2]) - 1
        return [
            (f"/trap/calendar/{at // 12}/{at % 12 + 1}", f"{at // 12}-{at % 12 + 1}") for at in (month - 1, month + 1)
        ]
    if path.startswith("/trap/maze/"):
        return [(f"{path[:2_000].rstrip('/')}/{name}", name) for name in ("a", "b")]
    noise = hashlib.blake2b(f"{web.seed}{path}".encode(), digest_size=16).hexdigest()
    return [(f"/trap/cart?sid={noise}", "cart"), (f"/trap/cart/{noise[:3]}?sid={noise}", "goods")]


# --- files


def missing() -> Answer:
    return Answer(404, "text/html; charset=utf-8", (), _NOT_FOUND)


def static_of(path: str) -> Answer:
    kind = _STATIC_TYPES.get(path.rpartition(".")[2])
    return missing() if kind is None else Answer(200, kind[0], (), kind[1])


def _pdf(number: int) -> bytes:
    """A PDF of one empty page that says its number in a comment."""
    return (
        b"%%PDF-1.4\n%%%d\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%%%EOF\n" % number
    )
