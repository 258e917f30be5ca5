"""Registrable domains, by the public suffix list that comes inside the ``publicsuffixlist`` wheel.

Only the list of that wheel is used: its own class takes a tenth of a second to load, which every crawl would pay.
"""

from __future__ import annotations

from functools import cache, lru_cache

from weft.text.patterns import regex

_IPV4 = regex(r"\d+\.\d+\.\d+\.\d+")
_MAX_LABELS = 128  # a name that DNS can carry has at most 127


@lru_cache(maxsize=16_384)
def domain_of(host: str) -> str:
    """The registrable domain of a host: one label more than its public suffix.

    An address, a single label, a public suffix and what is no name at all are their own domain.
    """
    labels = _labels_of(host)
    suffix = _suffix_length(labels)
    return ".".join(labels[-suffix - 1 :]) if 0 < suffix < len(labels) else host


@lru_cache(maxsize=16_384)
def is_public_suffix(host: str) -> bool:
    """Whether anybody may register names below the host (``com``, ``co.uk``, ``github.io``)."""
    labels = _labels_of(host)
    return bool(labels) and _suffix_length(labels) == len(labels)


def _labels_of(host: str) -> list[str]:
    """The labels of a name, without the root's final dot; none for an address or an impossible name."""
    name = host.removesuffix(".").lower()
    if not name or name[0] == "[" or _IPV4.fullmatch(name):
        return []
    labels = name.split(".")
    return labels if len(labels) <= _MAX_LABELS and all(labels) else []


def _suffix_length(labels: list[str]) -> int:
    """How many of the last labels are the public suffix (publicsuffix.org, "Algorithm"); 0 for no labels."""
    if len(labels) < 2:
        return len(labels)
    rules = _rules()
    names = [_unicode(label) for label in labels]
    for start in range(len(names)):  # from the longest candidate to the shortest
        candidate = ".".join(names[start:])
        parent = ".".join(names[start + 1 :])
        if f"!{candidate}" in rules:
            return len(names) - start - 1
        if candidate in rules or (parent and f"*.{parent}" in rules):
            return len(names) - start
    return 1


def _unicode(label: str) -> str:
    """The label as the list writes it: in Unicode."""
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


@cache
def _rules() -> frozenset[str]:
    """The lines of the list."""
    from importlib.util import find_spec
    from pathlib import Path  # not needed by a crawl of one host

    spec = find_spec("publicsuffixlist")  # finds the folder, imports nothing
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise ModuleNotFoundError("the package publicsuffixlist is missing: install weft again")
    with Path(folders[0], "public_suffix_list.dat").open(encoding="utf-8") as lines:
        return frozenset(line.split(None, 1)[0] for line in lines if line[0] not in "/ \n")
