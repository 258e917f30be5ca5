"""The option ``--site``: what single sites have of their own, as text, as a TOML table, and as ``SitePace``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from weft.options.checks import host_with_port, nearest, shown
from weft.options.lists import lines_of
from weft.options.values import Context, Kind, Plain, Value, optional, time, whole
from weft.spec import NO_BOUND, SitePace

_SETTINGS = {"per-host": whole(1, 10_000), "delay": time(0, 86_400), "max-depth": optional(whole(0))}
_FIELDS = {"per-host": "per_host", "delay": "delay_s", "max-depth": "max_depth"}
_FORM = "a site and its settings, such as 'www.example.org per-host=4 delay=250ms max-depth=3'"


def site_paces() -> Kind:
    """Settings of single sites; one given here replaces that of the same site below. The word none empties the list."""
    return Kind(_FORM, "'HOST NAME=VALUE ...'", _read, _write, many=True)


def site_name(text: str) -> str:
    """The name of a site, host and port; the ports of http and https are left out."""
    name = host_with_port(text)
    return name.removesuffix(":80").removesuffix(":443")


def _read(raw: object, context: Context) -> Value:
    if isinstance(raw, Mapping):
        new = list(_of_table(raw, context))
    else:
        lines = lines_of(raw)
        if lines is None:
            return ()
        new = [_of_text(line, context) for line in lines]
    below = context.below if isinstance(context.below, tuple) else ()
    by_site = {pace.site: pace for pace in below if isinstance(pace, SitePace)}
    return tuple((by_site | {pace.site: pace for pace in new}).values())


def _of_table(table: Mapping[object, object], context: Context) -> Iterator[SitePace]:
    for name, settings in table.items():
        if not isinstance(name, str) or not isinstance(settings, Mapping):
            raise ValueError(f'{shown(name)} is not of the form "www.example.org" = {{per-host = 4, delay = "250ms"}}')
        yield _pace(name, dict(settings), context)


def _of_text(line: str, context: Context) -> SitePace:
    name, *words = line.split()
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{shown(line)} is not {_FORM}")
        settings[key] = value
    return _pace(name, settings, context)


def _pace(name: str, settings: Mapping[str, object], context: Context) -> SitePace:
    values: dict[str, Value] = {}
    for key, raw in settings.items():
        if key not in _SETTINGS:
            raise ValueError(f"{name}: there is no setting {shown(key)} (nearest: {nearest(key, _SETTINGS)})")
        try:
            value = _SETTINGS[key].read(raw, context)
        except ValueError as error:
            raise ValueError(f"{name}: {key}: {error}") from None
        values[_FIELDS[key]] = NO_BOUND if value is None else value
    return msgspec.convert({"site": site_name(name), **values}, SitePace)


def _write(value: Value) -> Plain:
    assert isinstance(value, tuple)
    return {pace.site: settings_of(pace) for pace in value if isinstance(pace, SitePace)}


def settings_of(pace: SitePace) -> dict[str, str | int | float]:
    """The settings that a site has of its own, by name, as they are written."""
    written: dict[str, str | int | float] = {}
    for key, field in _FIELDS.items():
        value = getattr(pace, field)
        if value is not None:
            plain = _SETTINGS[key].write(None if value == NO_BOUND else value)
            assert isinstance(plain, str | int | float)
            written[key] = plain
    return written
