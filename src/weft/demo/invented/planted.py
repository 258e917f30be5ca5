"""Addresses planted in pages: people's mail and telephone numbers in every form there is, and what only looks like one.

The domains are made up under real top-level domains. What is planted is told by the same numbers that write the page,
never by reading it.
"""
# ruff: noqa: RUF001 - words of many languages are meant

from __future__ import annotations

import base64
import codecs
import json
from collections.abc import Callable

from weft.demo.invented.nouns import Planted, mix
from weft.demo.invented.shape import Shape

_FIRST_NAMES = ("anna", "maja", "ivan", "eleni", "omid", "luc", "greta", "tom", "sara", "nikos", "vera", "jan")
_LAST_NAMES = ("novak", "schmidt", "petrov", "rossi", "karimi", "dubois", "papas", "smith", "kovac", "lind")
_MAIL_DOMAINS = (
    "brook-and-fern-mills.org", "mlin-ob-potoku-tihi.si", "alte-muehle-am-see-ost.de", "reka-i-les-severny.ru",
    "petit-moulin-bleu-sud.fr", "pharos-hill-notos.gr", "molino-viejo-alto-sur.es", "north-quay-mills-press.co.uk",
)  # fmt: skip

_AT_AND_DOT = {
    "words": (" at ", " dot "), "words_upper": (" AT ", " DOT "), "round": ("(AT)", "(DOT)"),
    "round_spaced": (" (at) ", "."), "square": (" [at] ", " [dot] "), "curly": ("{at}", "{dot}"),
    "pipes": ("|at|", "."),
    "round_sign": ("(@)", "(.)"), "spaced": (" @ ", "."), "dot_word": ("@", " dot "),
    "angled": ("&lt;at&gt;", "&lt;dot&gt;"),
    "dashes": (" -at- ", "."), "underscores": ("_at_", "_dot_"), "slovene": (" (afna) ", " (pika) "),
    "slovene_at": (" [pri] ", "."), "russian": (" (собака) ", " (точка) "), "greek": (" [παπάκι] ", " [τελεία] "),
    "greek_at": (" (στο) ", "."), "german": ("(ät)", "(punkt)"), "german_at": (" [bei] ", "."),
    "french": (" [arobase] ", " [point] "), "french_at": (" (chez) ", "."), "spanish": (" (arroba) ", " (punto) "),
    "full_width": ("＠", "．"), "zero_width": ("&#8203;@&#8203;", "."), "tags": ("<b>@</b>", "<span>.</span>"),
    "comments": ("<!-- not -->@<!-- for robots -->", "."), "hidden": ('<i style="display:none">.no</i>@', "."),
    "wbr": ("<wbr>@", "<wbr>."), "line": ("@<br>", "."), "picture": ('<img alt="@">', "."),
}  # fmt: skip
"""Forms in which something stands for the sign and for each dot of the domain."""


def _entities(value: str) -> str:
    return "".join([f"&#{ord(letter)};" for letter in value])


def _hex_entities(value: str) -> str:
    return "".join([f"&#x{ord(letter):x};" for letter in value])


def _cloudflare(value: str) -> str:
    coded = "2a" + "".join([f"{ord(letter) ^ 0x2A:02x}" for letter in value])
    return f'<span class="__cf_email__" data-cfemail="{coded}">[email&#160;protected]</span>'


def _joined(value: str) -> str:
    user, _, domain = value.partition("@")
    return f"<script>var d = '{domain}'; document.write('{user}' + '@' + d);</script>"


def _char_codes(value: str) -> str:
    return f"<script>document.write(String.fromCharCode({', '.join([str(ord(letter)) for letter in value])}))</script>"


def _rot13(value: str) -> str:
    return f'<span data-enc-email="{codecs.encode(value.replace("@", "[at]"), "rot13")}">mail</span>'


def _base64(value: str) -> str:
    return f'<span data-mail="{base64.b64encode(value.encode()).decode()}">mail</span>'


def _reversed(value: str) -> str:
    return f'<span style="unicode-bidi: bidi-override; direction: rtl">{value[::-1]}</span>'


def _halves(value: str) -> str:
    user, _, domain = value.partition("@")
    return f'<span class="mail" data-user="{user}" data-domain="{domain}">mail</span>'


def _facts(value: str) -> str:
    facts = json.dumps({"@context": "https://schema.org", "@type": "Person", "email": value})
    return f'<script type="application/ld+json">{facts}</script>'


def _group(value: str) -> str:
    user, _, domain = value.partition("@")
    return f"{{{user}, office}}@{domain}"


def _linked(value: str) -> str:
    return f'<a href="{mail_target(Planted(value, "email", "mailto"))}">{value}</a>'


def _linked_encoded(value: str) -> str:
    return f'<a href="{mail_target(Planted(value, "email", "mailto_encoded"))}">write</a>'


_WRITERS: dict[str, Callable[[str], str]] = {
    "plain": str, "mailto": _linked, "mailto_encoded": _linked_encoded, "entities": _entities,
    "hex_entities": _hex_entities, "cloudflare": _cloudflare, "joined": _joined, "char_codes": _char_codes,
    "rot13": _rot13, "base64": _base64, "reversed": _reversed, "halves": _halves, "facts": _facts, "group": _group,
}  # fmt: skip

MAIL_FORMS = (*_WRITERS, *_AT_AND_DOT)
PHONE_FORMS = ("international", "tel", "brackets", "dots", "facts")

DECOYS = (
    "<p>Look at brook-and-fern-mills.org for more; it is available at alte-muehle-am-see-ost.de, too.</p>",
    '<p data-picture="logo@2x.png">logo@2x.png, hero@3x.webp, /static/app@1.2.3.js</p>',
    "<pre>npm install react@18.2.0 lodash@4.17.21 @types/node@20.1.0</pre>",
    "<pre>git clone git@github.com:mills/brook.git; ssh root@localhost; img@sha256:abcdef</pre>",
    "<pre>@app.route('/mills')\ndef at(a, b): return a @ b.T</pre>",
    "<p>Follow @brook.mills and @fern@mastodon.social, 3 @ 1.99 each.</p>",
    "<p>Our addresses are firstname.lastname@brook-and-fern-mills.org.</p>",
    '<p><input name="mail" placeholder="you@brook-and-fern-mills.org"></p>',
    "<!-- page by webmaster@brook-and-fern-mills.org, 2024-05-17 -->",
    "<script>// contact: dev@brook-and-fern-mills.org\nvar mills = 1700000000123;</script>",
    "<p>At some point in time we met at 5 dot com fairs.</p>",
    "<p>Write to user@example.com or to alice at example dot org.</p>",
    "<p>Message-ID: 20240517101112.GE29873@mail.brook-and-fern-mills.org, 4.3E+10</p>",
    "<p>ISBN 978-3-16-148410-0, IBAN SI56 1920 0123 4567 892, 192.168.100.200, 12.05.2024 10:45</p>",
    "<p>https://user:secret@brook-and-fern-mills.org/ and (a) first.si (b) second.si</p>",
)
"""What looks like an address or a number, and is none."""


def planted_on(web: Shape, host: int, number: int) -> list[Planted]:
    found = []
    bits = mix(web.salt(host) ^ 0xE3A11, number)
    if number % 3 == 0:
        person = f"{_FIRST_NAMES[bits % len(_FIRST_NAMES)]}.{_LAST_NAMES[(bits >> 8) % len(_LAST_NAMES)]}"
        domain = _MAIL_DOMAINS[(bits >> 16) % len(_MAIL_DOMAINS)]
        value, form = f"{person}.{host}x{number}@{domain}", MAIL_FORMS[(bits >> 24) % len(MAIL_FORMS)]
        found.append(Planted(value, "email", form))
        if form == "group":
            found.append(Planted(f"office@{domain}", "email", "beside"))
    if number % 5 == 0:
        digits = (bits >> 32) % 100
        value = f"+120255501{digits:02}" if bits & (1 << 40) else f"+4420794609{digits:02}"
        found.append(Planted(value, "phone", PHONE_FORMS[(bits >> 44) % len(PHONE_FORMS)]))
    return found


def decoy_on(web: Shape, host: int, number: int) -> str:
    """What stands on a page to mislead; nothing on most pages."""
    bits = mix(web.salt(host) ^ 0xDEC07, number)
    return DECOYS[bits % len(DECOYS)] + "\n" if number % 3 == 1 else ""


def mail_target(item: Planted) -> str:
    if item.form == "tel":
        return f"tel:{item.value}"
    if item.form == "mailto_encoded":
        return f"mailto:%{ord(item.value[0]):02X}{item.value[1:].replace('@', '%40')}"
    return f"mailto:{item.value}"


def anchor_of(item: Planted) -> str:
    """The text of the link to a planted address."""
    return "write" if item.form == "mailto_encoded" else item.value


def written(item: Planted) -> str:
    """A planted address as it stands in the page."""
    value, form = item.value, item.form
    if item.kind == "phone":
        return _written_number(value, form)
    if form == "beside":  # it stands in the group of another
        return ""
    if form in _WRITERS:
        return _WRITERS[form](value)
    at, dot = _AT_AND_DOT[form]
    user, _, domain = value.partition("@")
    return f"{user}{at}{domain.replace('.', dot)}"


def _written_number(value: str, form: str) -> str:
    american = value[1] == "1"
    groups = (value[:2], value[2:5], value[5:8], value[8:]) if american else ("+44", "20", value[5:9], value[9:])
    if form == "tel":
        return f'<a href="tel:{value}">{value}</a>'
    if form == "dots":
        return f"Tel. {'.'.join(groups)}"
    if form == "brackets":
        return f"Fax: {groups[0]} ({groups[1]}) {groups[2]}-{groups[3]}"
    if form == "facts":
        facts = json.dumps({"@type": "Organization", "telephone": " ".join(groups)})
        return f'<script type="application/ld+json">{facts}</script>'
    return f"Tel. {' '.join(groups)}"
