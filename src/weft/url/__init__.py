"""URLs: parsed and resolved as browsers do, cut into parts, and told apart by rules on switches.

Identity is not request. What is asked of a server is the WHATWG serialisation of the link (``resolve``, ``Resolver``,
``parse``); what makes two URLs one page is its ``Normalizer.key``. Everything here is synchronous and pure, but for
bounded caches that never change a result. Every URL that comes back is printable ASCII without spaces.
"""

from __future__ import annotations

from weft.url.domains import domain_of, is_public_suffix
from weft.url.encodings import encode_query
from weft.url.normal import Normalizer
from weft.url.parts import (
    host_of,
    host_of_site,
    origin_and_path_of,
    origin_of,
    path_of,
    scheme_of,
    site_and_path_of,
    site_of,
)
from weft.url.resolving import (
    MAX_BASE_B,
    MAX_MEANING,
    Resolver,
    Target,
    encode_fragments,
    encoded_fragment,
    parse,
    resolve,
)
from weft.url.rules import ALWAYS_ON, DEFAULT_RULES, RULES, parse_rules

__all__ = [
    "ALWAYS_ON",
    "DEFAULT_RULES",
    "MAX_BASE_B",
    "MAX_MEANING",
    "RULES",
    "Normalizer",
    "Resolver",
    "Target",
    "domain_of",
    "encode_fragments",
    "encode_query",
    "encoded_fragment",
    "host_of",
    "host_of_site",
    "is_public_suffix",
    "origin_and_path_of",
    "origin_of",
    "parse",
    "parse_rules",
    "path_of",
    "resolve",
    "scheme_of",
    "site_and_path_of",
    "site_of",
]
