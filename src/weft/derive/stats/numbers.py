"""The numbers of one site, or of all, from what was tallied. Pure."""

from __future__ import annotations

from weft.derive.read.broken import ROBOTS_CAUSES
from weft.derive.stats.model import Counts, Numbers
from weft.derive.stats.tally import Name, Tables

_G9_IMAGES = ("PNG", "JPG", "GIF")


def numbers_of(site: str | None, start: bool, tables: Tables, *, near: bool) -> Numbers:
    """What ``weft stats`` tells of a site; averages are over the pages that can have such a thing.

    ``near``: near-duplicates were looked for.
    """
    sums = {str(name): number for name, number in tables["sum"].items()}
    images, documents = by_number(tables["image"]), by_number(tables["document"])
    found, linked = sum(images.values()), sum(documents.values())
    stored, answered, nodes = sums.get("html_stored", 0), sums.get("answered", 0), sums.get("nodes", 0)
    alike = sums.get("near_duplicate", 0)
    return Numbers(
        site=site,
        start=start,
        known=sums.get("known", 0),
        pages=sums.get("pages", 0),
        html=sums.get("html", 0),
        duplicate=sums.get("duplicate", 0) + alike,
        exact_duplicates=sums.get("duplicate", 0),
        near_duplicates=alike if near else None,
        image=found,
        binary=linked,
        states={name: number for name in "WRCE" if (number := tables["state"].get(name, 0))}
        | ({"refused": tables["state"]["refused"]} if "refused" in tables["state"] else {}),
        status=by_name(tables["status"]),
        types=by_number(tables["type"]),
        depths=_by_value(tables["depth"]),
        depth=max((int(depth) for depth in tables["html_depth"]), default=None),
        languages=by_number(tables["language"]),
        errors={name: number for name, number in by_number(tables["error"]).items() if name not in ROBOTS_CAUSES},
        robots_refused=sums.get("robots_refused", 0),
        refused=by_number(tables["refused"]),
        images={name: images.get(name, 0) for name in _G9_IMAGES}
        | {"UNKNOWN": sum(number for name, number in images.items() if name not in _G9_IMAGES)},
        image_types=images,
        documents=documents,
        images_without_alt=sums.get("images_without_alt", 0),
        large_images=sums.get("large_images", 0),
        size=sums.get("size", 0),
        size_wire=sums.get("size_wire", 0),
        links=sums.get("links", 0),
        internal_links=sums.get("internal", 0),
        external_links=sums.get("external", 0),
        other_links=sums.get("other", 0),
        broken_links=sums.get("broken", 0),
        link_kinds=by_number(tables["kind"]),
        nodes=nodes,
        node_links=sums.get("node_links", 0),
        edges=sums.get("edges", 0),
        mean_node_links=mean(sums.get("node_links", 0), nodes),
        mean_links=mean(sums.get("links", 0) - tables["kind"].get("redirect", 0), stored),
        mean_external_links=mean(sums.get("external", 0), stored),
        mean_images=mean(found, stored),
        mean_documents=mean(linked, stored),
        mean_size=mean(sums.get("page_size", 0), sums.get("pages", 0)),
        mean_response_ms=mean(sums.get("response_ms", 0), answered),
    )


def mean(total: int, number: int) -> float | None:
    return total / number if number else None


def by_number(counts: dict[Name, int]) -> Counts:
    """The largest first."""
    return {str(name): number for name, number in sorted(counts.items(), key=lambda one: (-one[1], str(one[0])))}


def by_name(counts: dict[Name, int]) -> Counts:
    return {str(name): number for name, number in sorted(counts.items(), key=lambda one: str(one[0]))}


def _by_value(counts: dict[Name, int]) -> Counts:
    return {str(name): number for name, number in sorted(counts.items(), key=lambda one: int(one[0]))}
