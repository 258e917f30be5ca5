"""The option ``--record``: records and their fields, as text, as a TOML table (``[extract.NAME]``), and as values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from weft.options.checks import nearest, shown, usable_record
from weft.options.lists import lines_of
from weft.options.values import Context, Kind, Plain, Value
from weft.spec import Field, Record

_FORM = "a name and its fields, such as 'product each=.product title=h2 price=\".price -> number\"'"
_HOWS = ("css", "xpath", "pattern")
_FLAGS = ("required", "many")
_TYPES = ("text", "number", "integer", "url", "html")
_ARROW = " -> "


def extract_records() -> Kind:
    """Records; one given here replaces that of the same name below. The word none empties the list."""
    return Kind(_FORM, "'NAME each=CSS FIELD=CSS ...'", _read, _write, many=True)


def _read(raw: object, context: Context) -> Value:
    if isinstance(raw, Mapping):
        new = [_record(str(name), settings) for name, settings in raw.items()]
    else:
        lines = lines_of(raw)
        if lines is None:
            return ()
        new = list(map(_of_text, lines))
    below = context.below if isinstance(context.below, tuple) else ()
    by_name = {record.name: record for record in below if isinstance(record, Record)}
    return tuple((by_name | {record.name: record for record in new}).values())


def _of_text(line: str) -> Record:
    try:
        name, *words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"{shown(line)} is not {_FORM} ({error})") from None
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{shown(line)} is not {_FORM}")
        settings[key] = value
    return _record(name, settings)


def _record(name: str, settings: object) -> Record:
    if not isinstance(settings, Mapping) or not isinstance(settings.get("each"), str):
        raise ValueError(f"{shown(name)} is no record: it wants `each`, the CSS selector of its elements")
    each = settings["each"]
    fields = tuple(_field(name, str(key), what) for key, what in settings.items() if key != "each")
    return usable_record(Record(name=name, each=each, fields=fields))


def _field(record: str, name: str, what: object) -> Field:
    if isinstance(what, Mapping):
        return _of_table(f"{record}.{name}", name, what)
    if not isinstance(what, str):
        raise ValueError(f"{record}.{name} is neither a selector nor a table such as {{css = 'h2', type = 'text'}}")
    selector, arrow, words = what.rpartition(_ARROW)
    table: dict[object, object] = {}
    if not arrow:
        selector = what
    for word in words.replace(",", " ").split() if arrow else ():
        table |= {word: True} if word in _FLAGS else {"type": word}
    how = next((how for how in _HOWS[1:] if selector.startswith(f"{how}:")), "css")
    table[how] = selector.removeprefix(f"{how}:").strip()
    return _of_table(f"{record}.{name}", name, table)


def _of_table(where: str, name: str, table: Mapping[object, object]) -> Field:
    known = (*_HOWS, "type", *_FLAGS)
    strange = next((str(key) for key in table if key not in known), None)
    if strange is not None:
        raise ValueError(f"{where}: there is no setting {shown(strange)} (nearest: {nearest(strange, known)})")
    hows = [how for how in _HOWS if how in table]
    if len(hows) != 1 or not isinstance(table[hows[0]], str):
        raise ValueError(f"{where} wants one of css, xpath and pattern, a text")
    kind = table.get("type", "text")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ValueError(f"{where}: {shown(str(kind))} is no type (nearest: {nearest(str(kind), _TYPES)})")
    flags = {flag: table.get(flag, False) is True for flag in _FLAGS}
    return Field(name=name, how=hows[0], what=str(table[hows[0]]), type=kind, **flags)


def _write(value: Value) -> Plain:
    assert isinstance(value, tuple)
    return {record.name: dict(_settings(record)) for record in value if isinstance(record, Record)}


def _settings(record: Record) -> Iterator[tuple[str, str]]:
    yield "each", record.each
    for field in record.fields:
        words = [*([field.type] if field.type != "text" else []), *(flag for flag in _FLAGS if getattr(field, flag))]
        prefix = "" if field.how == "css" else f"{field.how}:"
        yield field.name, prefix + field.what + (_ARROW + ", ".join(words) if words else "")
