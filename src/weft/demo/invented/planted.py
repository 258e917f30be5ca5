"""Addresses planted in pages: people's mail and telephone numbers, plain and obscured."""

from __future__ import annotations

from weft.demo.invented.nouns import Planted, mix
from weft.demo.invented.shape import Shape

_FIRST_NAMES = ("anna", "maja", "ivan", "eleni", "omid", "luc", "greta", "tom", "sara", "nikos", "vera", "jan")
_LAST_NAMES = ("novak", "schmidt", "petrov", "rossi", "karimi", "dubois", "papas", "smith", "kovac", "lind")
_MAIL_DOMAINS = ("example.com", "example.org", "example.net", "mail.example.com")
MAIL_FORMS = (
    "plain", "mailto", "mailto_encoded", "spaced", "words", "round", "square", "curly", "pipes", "entities",
    "cloudflare",
)  # fmt: skip  # fmt: skip
PHONE_FORMS = ("international", "tel")


def planted_on(web: Shape, host: int, number: int) -> list[Planted]:
    found = []
    bits = mix(web.salt(host) ^ 0xE3A11, number)
    if number % 3 == 0:
        person = f"{_FIRST_NAMES[bits % len(_FIRST_NAMES)]}.{_LAST_NAMES[(bits >> 8) % len(_LAST_NAMES)]}"
        value = f"{person}.{host}x{number}@{_MAIL_DOMAINS[(bits >> 16) % len(_MAIL_DOMAINS)]}"
        found.append(Planted(value, "email", MAIL_FORMS[(bits >> 24) % len(MAIL_FORMS)]))
    if number % 5 == 0:
        digits = (bits >> 32) % 100
        value = f"+120255501{digits:02}" if bits & (1 << 40) else f"+4420794609{digits:02}"
        found.append(Planted(value, "phone", PHONE_FORMS[(bits >> 44) & 1]))
    return found


def mail_target(item: Planted) -> str:
    if item.form == "tel":
        return f"tel:{item.value}"
    if item.form == "mailto_encoded":
        return f"mailto:%{ord(item.value[0]):02X}{item.value[1:].replace('@', '%40')}"
    return f"mailto:{item.value}"


def written(item: Planted) -> str:
    """A planted address as it stands in the page."""
    value, form = item.value, item.form
    if item.kind == "phone":
        spaced = (
            f"{value[:2]} {value[2:5]} {value[5:8]} {value[8:]}"
            if value[1] == "1"
            else f"+44 20 {value[5:9]} {value[9:]}"
        )
        return f'<a href="tel:{value}">{value}</a>' if form == "tel" else f"Tel. {spaced}"
    user, _, domain = value.partition("@")
    words = domain.replace(".", " dot ")
    if form in ("mailto", "mailto_encoded"):
        return f'<a href="{mail_target(item)}">{value}</a>'
    if form == "entities":
        return "".join([f"&#{ord(letter)};" for letter in value])
    if form == "cloudflare":
        coded = "2a" + "".join([f"{ord(letter) ^ 0x2A:02x}" for letter in value])
        return f'<span class="__cf_email__" data-cfemail="{coded}">[email&#160;protected]</span>'
    return {
        "plain": value,
        "spaced": f"{user} @ {domain}",
        "words": f"{user} at {words}",
        "round": f"{user}(AT){domain.replace('.', '(DOT)')}",
        "square": f"{user} [at] {domain.replace('.', ' [dot] ')}",
        "curly": f"{user}{{at}}{domain.replace('.', '{dot}')}",
        "pipes": f"{user}|at|{domain}",
    }[form]
