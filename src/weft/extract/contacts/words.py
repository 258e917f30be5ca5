"""The words and signs that people write for ``@`` and for the dot in an address, in many languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

SEAM: Final = "\x1f"
"""Stands in visible text where an inline element begins or ends."""

JOINT: Final = "\x1e"
"""Stands in visible text for what takes no room: comments, characters without width, hidden elements."""

_SIGNS = """
    arroba arobase arobas arrobase klammeraffe afna afne chiocciola małpa malpa zavináč zavinac zavinač kukac
    kukaca собака собачка σοβάκα παπάκι παπακι snabel-a snabela miukumauku arond
"""
_DOTS = """
    dot punkt point pika punto ponto piste kropka tečka tecka tocka točka tačka bodka pont точка тчк τελεία
    τελεια doт punct period
"""
_ATS = "at ät aet bei chez pri na à στο на эт et ad в"

SIGN_WORDS: Final = tuple(_SIGNS.split())
"""Words for the sign itself: nobody writes them between two other words."""

AT_WORDS: Final = (*_ATS.split(), "at sign", "a t")
"""Words for "at", which stand between words of any text: they count between brackets, or with other evidence."""

DOT_WORDS: Final = tuple(_DOTS.split())


def _any(words: Sequence[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


SIGN_WORD: Final = _any(SIGN_WORDS)
AT_WORD: Final = _any((*SIGN_WORDS, *AT_WORDS))
DOT_WORD: Final = _any(DOT_WORDS)
BARE_DOT: Final = _any(
    ("dot", "punkt", "pika", "punto", "точка", "kropka", "tečka", "tocka", "točka", "τελεία", "bodka")
)
"""Words for the dot that may stand without brackets: others, like "point", stand behind "at" in ordinary sentences."""

BLANK: Final = rf"[\s{SEAM}{JOINT}]"

_OPENING = r"\[({<|«‹【〔「"
_CLOSING = r"\])}>|»›】〕」"
_MARKS = "_*#~/=:.'\"“”„-"

# Each begins with one of a few characters, which the search finds before anything else is tried.
SIGN_START: Final = rf"[@{_OPENING}{_MARKS}]"
BRACKETED_AT: Final = rf"(?<=[{_OPENING}])[{_OPENING}]?{BLANK}*+(?:{AT_WORD}|@){BLANK}*+[{_CLOSING}]{{1,2}}-?"
BRACKETED_A: Final = r"(?<=[a-z0-9][\[({])a[\])}](?=[a-z0-9])"
DECORATED_AT: Final = rf"(?<=[{_MARKS}])[{_MARKS}]?{BLANK}*+(?:{AT_WORD}|@){BLANK}*+[{_MARKS}]{{1,2}}"
BRACKETED_DOT: Final = rf"[{_OPENING}]{{1,2}}{BLANK}*+(?:{DOT_WORD}|\.){BLANK}*+[{_CLOSING}]{{1,2}}"
DECORATED_DOT: Final = rf"[{_MARKS}]{{1,2}}{BLANK}*+(?:{DOT_WORD}){BLANK}*+[{_MARKS}]{{1,2}}"

STOP_WORDS: Final = frozenset(
    """a about again aim all also am an and any anywhere are area around arrive as ask attend available based be
    been being below blog book born both browse but buy by call can chat check click code come connect contents
    course courses data day demo details dinner directly do docs document documentation donate done download
    early else email employed end event events everything experts explore faculty files find first follow for
    found founded free from full get go graduate had happening has have he held help her here him his home
    hosted house how if in is it job jobs join keynote later learn lecture listed located look looking lunch
    made many me meet meeting meetup member more my myself new news night no not now off on once one online only
    open or order originally our out page paper papers party people photo photos play please post posted
    professor program project published read register registered research researcher reside resides resource
    resources scientist search see seen seminar served shop site slides software source staff start started stay
    stop store student students studied study studying talk teach teaches teaching text than that the their them
    then there these they this time to today tools tutorial up upload us use used user version via video videos
    view visit wait was watch we web website welcome were what when where which while who why with work worked
    working works workshop you your""".split()  # noqa: SIM905
)
"""Words before a bare "at" that are no mailbox: "available at example.com"."""

NO_HOSTS: Final = frozenset(
    "a all an another any each every its least most my one our some that the these this what which".split()  # noqa: SIM905
)
"""Words behind "at" with which no domain begins: "at some dot in time"."""

ROLES: Final = frozenset(
    """abuse accueil admin administration administrator admissions archive billing booking bookings careers contact
    contacto comunicacion dekanat desk editor editorial enquiries enquiry events feedback finance firma hello helpdesk
    help hostmaster hr info informacije information inquiries jobs kontakt lab legal library list lists mail mailbox
    marketing media office orders pisarna postmaster postmaster presse press pr privacy reception referat registrar
    reservations root sales secretariat secretary security sekretariat service staff studio support tajnistvo team
    tajništvo urednistvo webmaster welcome""".split()  # noqa: SIM905
)
"""Mailboxes that are known by their names."""
