"""Options: which URLs and which contents are the same page."""

from __future__ import annotations

from weft.errors import SpecError
from weft.options.option import Option
from weft.options.table.groups import DUPLICATES, URLS
from weft.options.values import (
    Context,
    Kind,
    Value,
    as_list,
    fraction,
    one_line,
    optional,
    parts_of,
    switch,
    word,
)


def normalizing() -> Kind:
    """The rules of ``--normalize``, in the form that ``weft.url`` has them; + and - change what holds below."""

    def read(raw: object, context: Context) -> Value:
        from weft import url

        wanted = [token for part in parts_of(raw) for token in one_line(part).lower().replace(",", " ").split()]
        if not wanted:
            return context.below
        if all(token[0] in "+-" for token in wanted) and isinstance(context.below, tuple):
            slash = any(token.startswith("+slash-") for token in wanted)  # one of these takes the other's place
            rules = [rule for rule in context.below if isinstance(rule, str)]
            wanted = [rule for rule in rules if not (slash and rule.startswith("slash-"))] + wanted
        try:
            return url.parse_rules(",".join(wanted))
        except SpecError as error:
            raise ValueError(str(error)) from None

    accepts = "rules with commas between: a full list, or + and - before each to add and take away; default, none, all"
    return Kind(accepts, "RULES", read, as_list, many=True)


def urls_options() -> list[Option]:
    return [
        Option(
            "normalize",
            "urls.normalize",
            normalizing(),
            URLS,
            "rules by which two URLs are one page: a full list, or changes with + and -",
            "+sort-query",
        ),
        Option(
            "drop-query",
            "urls.drop_query",
            switch(),
            URLS,
            "URLs that differ only in their query are one page, asked at the first one found",
        ),
    ]


def duplicates_options() -> list[Option]:
    return [
        Option(
            "near-duplicates",
            "duplicates.near",
            optional(fraction(), "no"),
            DUPLICATES,
            "pages whose texts are at least this alike are near-duplicates; a sketch of each text is kept",
            "0.99",
            may_change=True,
        ),
        Option(
            "minhash",
            "duplicates.minhash",
            word("fast", "classic"),
            DUPLICATES,
            "how texts are sketched: fast (one permutation, 512 bins), classic (250 functions, much slower)",
            "classic",
        ),
        Option(
            "similarity",
            "duplicates.similarity",
            word("jaccard", "signature"),
            DUPLICATES,
            "how alike two texts are: the Jaccard index of their shingles, or of the signatures of --minhash classic",
            "signature",
        ),
        Option(
            "skip-duplicates",
            "duplicates.skip",
            word("no", "exact", "near"),
            DUPLICATES,
            "do not follow the links of a page whose body was met before (exact), or whose text nearly was (near)",
            "exact",
        ),
    ]
