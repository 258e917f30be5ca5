"""Reads and writes the values of options that are lists: of checked texts, of headers, of names out of a fixed set."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.errors import SpecError
from weft.options.checks import header, header_name, nearest, shown
from weft.options.values import Context, Kind, Value, one_line


def several(metavar: str, check: Callable[[str], str], accepts: str) -> Kind:
    """Any number of texts, each checked, in order, each once. The word none empties the list."""

    def read(raw: object, _context: Context) -> Value:
        return tuple(dict.fromkeys(map(check, lines_of(raw) or ())))

    return Kind(accepts, metavar, read, as_list, many=True)


def several_headers() -> Kind:
    """Header lines; a header given here replaces one of the same name below."""

    def read(raw: object, context: Context) -> Value:
        lines = lines_of(raw)
        if lines is None:
            return ()
        below = _texts_below(context)
        new = [header(line) for line in lines]
        names = {header_name(line) for line in new}
        return tuple(line for line in below if header_name(line) not in names) + tuple(new)

    return Kind("a header such as 'Accept-Language: sl'", "'NAME: VALUE'", read, as_list, many=True)


def several_extensions() -> Kind:
    """Extensions of files, in lower case, without the dot."""

    def read(raw: object, _context: Context) -> Value:
        words = [word for line in lines_of(raw) or () for word in line.lower().replace(",", " ").split()]
        return tuple(dict.fromkeys(_extension(word) for word in words))

    return Kind("extensions with commas between, such as zip,csv", "EXT,...", read, as_list, many=True)


def _extension(word: str) -> str:
    bare = word.removeprefix("*").removeprefix(".")
    if not (bare.isascii() and bare.isalnum() and len(bare) <= 5) or bare.isdigit():
        raise ValueError(f"{shown(word)} is no extension: up to five letters and digits, such as zip")
    return bare


def choice(metavar: str, names: Callable[[], Sequence[str]], what: str) -> Kind:
    """Some of a fixed set of names, in the set's order: a full list, or changes to it with + and -."""
    accepts = f"{what} with commas between: a full list, or + and - before each to add and take away; none for none"

    def read(raw: object, context: Context) -> Value:
        known = list(names())
        tokens = [token for part in parts_of(raw) for token in one_line(part).lower().replace(",", " ").split()]
        if not tokens:
            return context.below
        relative = [token for token in tokens if token[0] in "+-"]
        if relative and len(relative) < len(tokens):
            raise ValueError(f"{shown(raw)} mixes a full list with changes by + and -; give one or the other")
        chosen = set(_texts_below(context) if relative else ())
        for token in tokens if tokens != ["none"] else ():
            name = token.lstrip("+-")
            if name not in known:
                raise ValueError(
                    f"{shown(name)} is none of {what}: {', '.join(known)} (nearest: {nearest(name, known)})"
                )
            if token.startswith("-"):
                chosen.discard(name)
            else:
                chosen.add(name)
        return tuple(name for name in known if name in chosen)

    return Kind(accepts, metavar, read, lambda value: as_list(value) or ["none"], many=True)


def rules_of_urls() -> Kind:
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


def own_parts() -> Kind:
    """Parts of the user's own; the names of files are made absolute."""

    def read(raw: object, context: Context) -> Value:
        from weft.plugins import located

        return tuple(dict.fromkeys(located(line, context.folder) for line in lines_of(raw) or ()))

    return Kind("ROLE=MODULE:NAME or ROLE=FILE.py:NAME", "ROLE=MODULE:NAME", read, as_list, many=True)


def parts_of(raw: object) -> list[object]:
    """The texts of a list, or one text as a list of one."""
    if isinstance(raw, str):
        return [raw]
    if isinstance(raw, list | tuple):
        return list(raw)
    raise ValueError(f"{shown(raw)} is not a text or a list of texts")


def lines_of(raw: object) -> list[str] | None:
    """The texts of a list, empty ones left out; None for the word none, which takes away what holds below, too."""
    lines = [one_line(part) for part in parts_of(raw)]
    return None if lines == ["none"] else [line for line in lines if line]


def _texts_below(context: Context) -> tuple[str, ...]:
    below = context.below if isinstance(context.below, tuple) else ()
    return tuple(text for text in below if isinstance(text, str))


def as_list(value: Value) -> list[str]:
    assert isinstance(value, tuple)
    return [text for text in value if isinstance(text, str)]
