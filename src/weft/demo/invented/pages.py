"""Ordinary pages: which links stand on them, and the HTML that says so."""

from __future__ import annotations

from email.utils import formatdate
from functools import lru_cache

from weft.demo.invented.nouns import BRANCHES, FAMILIES, TRAP_PREFIX, Answer, Plan, Spot, mix
from weft.demo.invented.planted import anchor_of, decoy_on, mail_target, planted_on, written
from weft.demo.invented.shape import Shape
from weft.demo.invented.words import LANGUAGES, SECTIONS, Language

_LINKED = [(role, family.stride, family.offset) for role, family in FAMILIES.items() if family.linked]


# --- the links, in document order


def plan_of(web: Shape, host: int, number: int, own: str, draws: tuple[int, ...]) -> Plan:
    name = web.name
    contact = [
        (host, mail_target(item), "a", anchor_of(item), "", "")
        for item in planted_on(web, host, number)
        if item.form in ("mailto", "mailto_encoded", "tel")
    ]
    head: list[Spot] = [(host, "/static/style.css", "style", "", "stylesheet", "")]
    head.append((host, "/static/icon.png", "link", "", "icon", ""))
    if number % 9 == 2:
        head.append((host, name(host, number)[0], "canonical", "", "canonical", ""))
    head.append((host, "/static/app.js", "script", "", "", ""))
    nav: list[Spot] = [(host, "/", "a", "Home", "", "")]
    if number:
        path, title, _ = name(host, (number - 1) // BRANCHES)
        nav.append((host, path, "a", title, "up", ""))
        path, title, _ = name(host, number - 1)
        nav.append((host, path, "a", title, "prev", ""))
    else:
        nav.append((host, "/index.html", "a", "Index", "", ""))
        other = range(BRANCHES * host + 1, min(BRANCHES * host + BRANCHES + 1, web.hosts))
        nav += [(at, "/", "a", name(at, 0)[1], "", "") for at in other]
        if web.traps:
            nav += [
                (host, f"{TRAP_PREFIX}{place}", "a", place, "", "")
                for place in ("calendar/2024/1", "maze/a", "cart?sid=0")
            ]
    foot: list[Spot] = [(host, own, "a", "Top", "", "top")]
    return Plan(
        head,
        nav,
        contact,
        _kinds(web, host, number, draws),
        _main(web, host, number, draws),
        _forms(host, number),
        foot,
    )


def _main(web: Shape, host: int, number: int, draws: tuple[int, ...]) -> list[Spot]:
    """Children, related pages, pages of other hosts, what the page's number brings, pictures."""
    name = web.name
    size, limit = web.size(host), web.limit(host, number)
    first = BRANCHES * number + 1
    numbers = list(range(first, min(first + BRANCHES, size)))
    numbers += [draw % limit for draw in draws[:6]]
    # squared, so that few pages are linked by many
    numbers += [(draw * draw >> 16) * limit >> 16 for draw in draws[6 : 14 + draws[14] % 9]]
    spots: list[Spot] = []
    for at in numbers:
        path, title, _ = name(host, at)
        spots.append((host, path, "a", title, "", ""))
    if web.hosts > 1:
        level = web.level(number)
        for draw in draws[24 : 24 + draws[23] % 4]:
            other = (host + 1 + draw % (web.hosts - 1)) % web.hosts
            path, title, _ = name(other, draws[draw & 63] % min(web.size(other), web.levels[level + 2]))
            spots.append((other, path, "a", title, "", ""))
    for role, stride, offset in _LINKED:
        if number % stride == offset:
            family = FAMILIES[role]
            spots.append((host, family.path(number), "a", f"{role} {number}", family.rel, ""))
    if number & 1:
        spots.append((host, f"/img/{number % 100}.png", "image", "", "", ""))
        spots.append((host, "/img/logo@2x.png", "image", "", "", ""))
    return spots


def _kinds(web: Shape, host: int, number: int, draws: tuple[int, ...]) -> list[Spot]:
    """A block with links of the rarer kinds, on every 29th page."""
    if number % 29 != 7:
        return []
    limit = web.limit(host, number)
    places = [web.name(host, draw % limit)[0] for draw in draws[28:31]]
    return [
        (host, places[0], "iframe", "", "", ""),
        (host, places[1], "area", "", "", ""),
        (host, places[2], "onclick", "", "", ""),
        (host, f"/static/{number}.mp3", "media", "", "", ""),
        (host, f"/static/{number}.swf", "embed", "", "", ""),
    ]


def _forms(host: int, number: int) -> list[Spot]:
    if number % 16 == 8:
        return [(host, "/login", "form", "", "", "")]
    return [(host, "/search", "form", "", "", "")] if number % 8 == 0 else []


# --- the page


def page_of(web: Shape, host: int, number: int, own: str, *, near: bool = False) -> Answer:
    """An ordinary page as it is sent; ``own`` is the path it is asked at."""
    _, title, tongue = web.name(host, number)
    language = LANGUAGES[tongue]
    encoding = encoding_of(number, language)
    draws = web.draws(host, number)
    plan = plan_of(web, host, number, own, draws)
    prefix = _href_prefix(host, number, own)
    noindex, by_header = noindex_of(number)
    head = "".join([_head_tag(web, host, spot) for spot in plan.head])
    robots = '<meta name="robots" content="noindex">' if noindex and not by_header else ""
    nav = " | ".join([_anchor(web, host, spot, prefix) for spot in plan.nav])
    listed = "".join(
        [
            f'<li><a href="{prefix}{spot[1][1:]}">{spot[3]}</a></li>\n'  # the most of them, without a call
            if spot[0] == host and spot[3] and not spot[4]
            else _item(web, host, spot, prefix)
            for spot in plan.main
        ]
    )
    turned = ' dir="rtl"' if language.code == "fa" else ""
    text = (
        f'<!doctype html>\n<html lang="{language.code}"{turned}>\n<head>\n<meta charset="{encoding}">\n'
        f'<title>{title}</title>\n<meta name="description" content="{title} - {SECTIONS[number % 8]}">\n'
        f"{robots}{head}</head>\n<body>\n<nav>{nav}</nav>\n<h1>{title}</h1>\n"
        f"{_text(web, host, number, tongue, draws, near)}{_contact(web, host, number)}"
        f"{_kinds_html(plan)}<h2>{language.related}</h2>\n<ul>\n{listed}</ul>\n{_forms_html(number)}"
        f'<footer><a href="#top">Top</a> <small>h{host}, {number}</small></footer>\n</body>\n</html>\n'
    )
    body = text.encode(encoding, "xmlcharrefreplace")
    headers = [
        ("Last-Modified", _last_modified(web, host, number)),
        ("ETag", f'"{_tag(web, host, number, near):x}"'),
    ]
    if noindex and by_header:
        headers.append(("X-Robots-Tag", "noindex"))
    named = "text/html" if number % 8 == 2 else f"text/html; charset={encoding}"
    return Answer(200, named, tuple(headers), body)


def _href_prefix(host: int, number: int, own: str) -> str:
    """What makes links of a page relative: some pages climb to the root; pages with exact copies never do."""
    if number == 0 or number % 5 or FAMILIES["copy"].has(number):
        return "/"
    return "../" * (own.partition("?")[0].count("/") - 1) or "./"


def _anchor(web: Shape, host: int, spot: Spot, prefix: str) -> str:
    at, path, _, anchor, rel, _ = spot
    href = prefix + path[1:] if at == host else f"http://h{at}.{web.suffix}{web.port_text}{path}"
    return f'<a href="{href}" rel="{rel}">{anchor}</a>' if rel else f'<a href="{href}">{anchor}</a>'


def _item(web: Shape, host: int, spot: Spot, prefix: str) -> str:
    if spot[2] == "image":
        return f'<img src="{spot[1]}" alt="picture">\n'
    return f"<li>{_anchor(web, host, spot, prefix)}</li>\n"


def _head_tag(web: Shape, host: int, spot: Spot) -> str:
    if spot[2] == "script":
        return f'<script src="{spot[1]}"></script>\n'
    place = f"{web.base(host)}{spot[1]}" if spot[2] == "canonical" else spot[1]
    return f'<link rel="{spot[4]}" href="{place}">\n'


def _kinds_html(plan: Plan) -> str:
    if not plan.kinds:
        return ""
    frame, area, click, media, embed = (spot[1] for spot in plan.kinds)
    return (
        f'<iframe src="{frame}"></iframe>\n'
        f'<map name="m"><area shape="rect" coords="0,0,9,9" href="{area}" alt="part"></map>\n'
        f"<button onclick=\"location.href='{click}'\">go</button>\n"
        f'<audio src="{media}"></audio>\n<embed src="{embed}">\n'
    )


def _forms_html(number: int) -> str:
    if number % 16 == 8:
        return '<form action="/login" method="post"><input name="user"><input name="word" type="password"></form>\n'
    return '<form action="/search"><input name="q" type="search"></form>\n' if number % 8 == 0 else ""


def _text(web: Shape, host: int, number: int, tongue: int, draws: tuple[int, ...], near: bool) -> str:
    """Paragraphs; a page that has a near-duplicate is longer, so that one other word leaves 99 % of it the same."""
    first, second = web.sentences(tongue)
    long = FAMILIES["near"].has(number)
    count = 30 if long else 6 + draws[32] % 9
    sentences = [f"{first[draw & 511]}, {second[draw >> 7]}. " for draw in draws[33 : 33 + count]]
    sentences[0] = f"{sentences[0]}{LANGUAGES[tongue].nouns[number % 16]} {host}.{number}. "
    if web.edition and mix(web.salt(host), number) & 7 == 0:
        sentences[1] = f"{sentences[1]}({web.edition}) "
    if near:
        sentences[-1] = f"{sentences[-1]}{LANGUAGES[tongue].nouns[number % 7]} "
    return "".join([f"<p>{''.join(sentences[at : at + 4])}</p>\n" for at in range(0, count, 4)])


def _contact(web: Shape, host: int, number: int) -> str:
    planted = "".join([f"<p>{text}</p>\n" for item in planted_on(web, host, number) if (text := written(item))])
    return planted + decoy_on(web, host, number)


# --- what is said of it


def encoding_of(number: int, language: Language) -> str:
    return language.legacy if number % 4 == 2 else "utf-8"


def noindex_of(number: int) -> tuple[bool, bool]:
    """Whether a page asks not to be indexed, and whether it says so in a header."""
    return number % 37 == 5, number % 2 == 1


def _tag(web: Shape, host: int, number: int, near: bool) -> int:
    bits = mix(web.salt(host), number)
    return mix(bits, web.edition if bits & 7 == 0 else 0) ^ near


def _last_modified(web: Shape, host: int, number: int) -> str:
    edition = web.edition if mix(web.salt(host), number) & 7 == 0 else 0
    return _http_date(1_600_000_000 + (number % 997) * 86_400 + edition * 3_600)


@lru_cache(4_096)
def _http_date(epoch_s: int) -> str:
    return formatdate(epoch_s, usegmt=True)
