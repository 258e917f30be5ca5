"""Puts a specification together: defaults, then the mode's preset, then a file, the environment, the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from weft.errors import SpecError
from weft.options.lists import lines_of
from weft.options.option import BY_NAME, OPTIONS, Option, value_in
from weft.options.presets import PRESETS
from weft.options.reference import readable
from weft.options.sites import settings_of
from weft.options.toml import Given, SpecFile, read_toml, withheld_secrets, write_toml, written_value
from weft.options.values import Context, Value
from weft.spec import CrawlSpec, Extract, Harvest, Mode, Order, Politeness, Run

SPEC_FILE = "crawl.toml"  # as in weft.folder, which help need not load
EXTRACTED = ("harvest", "extract")  # the sections of what a stored crawl is searched for
LEAST_SKIPPED = 0.5  # texts less alike than this share too little to be looked up page by page
RCCRAWLER = ".ini"
TARANTULA = ".conf"

Warn = Callable[[str], None]
Layer = Mapping[str, Given]


class Difference(msgspec.Struct, frozen=True):
    """An option that may not change on resume, and did."""

    option: Option
    old: str
    new: str

    def __str__(self) -> str:
        return f"--{self.option.name} was {self.old} and is now {self.new}"


def crawl_order(
    seeds: Sequence[str],
    arguments: Mapping[str, object],
    *,
    config: str | None = None,
    warn: Warn,
    environment: Mapping[str, str] = os.environ,
    ask: Callable[[str], str] | None = None,
) -> Order:
    """The order that ``weft crawl`` was given, or ``SpecError``.

    ``arguments`` holds what was written on the command line, by option name. Without a seed it is an error unless
    the folder holds a crawl to go on with.
    """
    file = _read_config(Path(config)) if config is not None else None
    named = _absolute(seeds, Path.cwd()) or (_absolute(file.seeds, file.path.parent) if file else ())
    layers = [file.given if file else {}, environment_layer(environment), arguments_layer(arguments, warn)]
    sites_wanted = file is not None and file.path.suffix.lower() == RCCRAWLER and not seeds
    layers = [hosts_layer(named, wanted=sites_wanted), *(reveal(layer, ask) for layer in layers)]
    _want_secrets(file.secrets if file else (), layers)
    spec, run = _assembled(layers)
    goes_on = run.output is not None and not run.fresh and Path(run.output, SPEC_FILE).is_file()
    if not named and not goes_on:
        if file is not None and file.path.suffix.lower() == RCCRAWLER:
            raise SpecError(f"there is no hosts.txt beside {file.path}, and no seed is named")
        raise SpecError("no seed: give a URL, a host or a file of them, for example: weft crawl https://example.org")
    return Order(_with_secret_names(msgspec.structs.replace(spec, seeds=named)), run)


def _read_config(path: Path) -> SpecFile:
    """The options of a file, by the form that its name tells."""
    if path.suffix.lower() == RCCRAWLER:
        from weft.options.foreign.rccrawler import read_settings

        return read_settings(path)
    if path.suffix.lower() == TARANTULA:
        from weft.options.foreign.tarantula import read_conf

        return read_conf(path)
    return read_toml(path)


def resume_order(
    folder: Path,
    arguments: Mapping[str, object],
    *,
    warn: Warn,
    environment: Mapping[str, str] = os.environ,
    ask: Callable[[str], str] | None = None,
) -> Order:
    """The crawl of a folder with what ``weft resume`` changed; secrets that it was started with have to be given."""
    file = _read_kept(folder / SPEC_FILE)
    given = reveal(environment_layer(environment) | arguments_layer(arguments, warn), ask)
    _want_secrets(file.secrets, [given])
    spec, run = _assembled([file.given, given])
    return Order(_with_secret_names(msgspec.structs.replace(spec, seeds=file.seeds)), run)


def harvest_order(arguments: Mapping[str, object], *, config: str | None, warn: Warn) -> tuple[Harvest, Extract]:
    """The items and texts that ``weft extract`` is to look for: by its options, and by those of a TOML file."""
    file = read_toml(Path(config)) if config is not None else None
    given = file.given if file is not None else {}
    wanted = {name: one for name, one in given.items() if BY_NAME[name].section in EXTRACTED}
    spec = _assembled([wanted, arguments_layer(arguments, warn)])[0]
    return spec.harvest, spec.extract


def read_spec(path: Path) -> CrawlSpec:
    """The specification in a crawl.toml, without its secrets; files that it names need not exist any more."""
    file = _read_kept(path)
    return msgspec.structs.replace(
        _assembled([file.given], check_files=False)[0], seeds=file.seeds, secrets=file.secrets
    )


def _read_kept(path: Path) -> SpecFile:
    """A crawl.toml. An empty one would be a crawl with every default, delays and limits too, and is no such thing."""
    file = read_toml(path)
    if not file.given and not file.seeds:
        raise SpecError(
            f"{path} is empty: remove it, and go on with `weft crawl` and the options that it was begun with"
        )
    if (part := file.given.get("part")) is not None:
        for text in lines_of(part.raw) or ():
            if text.partition("=")[2].startswith("../"):
                raise SpecError(
                    f"{part.where}: {text!r} does not name its file in full, as weft does: what lies beside the folder"
                    " of a crawl may come from somebody else, as the folder may"
                )
    return file


def write_spec(path: Path, spec: CrawlSpec) -> None:
    """Writes crawl.toml so that a kill at any moment leaves the old file or the new one, never half of one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    with beside.open("x", encoding="utf-8", newline="\n") as stream:
        stream.write(write_toml(spec))
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)


def spec_of(seeds: Sequence[str | os.PathLike[str]], options: Mapping[str, object]) -> CrawlSpec:
    """The specification that a Python caller asks for: ``spec_of(["https://example.org"], {"max_pages": 100})``.

    Names are those of the options with underscores; values are of Python's types or written as on the command line.
    """
    layer = {}
    for key, raw in options.items():
        name = key.replace("_", "-")
        if name not in BY_NAME or not BY_NAME[name].in_spec:
            from weft.options.suggest import hint

            known = [option.name.replace("-", "_") for option in OPTIONS if option.in_spec]
            raise SpecError(f"unknown option {key!r}{hint(key, known)}")
        plain = str(raw) if isinstance(raw, os.PathLike) else raw
        layer[name] = Given(
            plain if plain is not None else BY_NAME[name].kind.write(BY_NAME[name].default), key, Path.cwd()
        )
    for seed in seeds:
        if not isinstance(seed, str | os.PathLike):
            raise SpecError(f"a seed is a text, not of type {type(seed).__name__} (a list is given as *seeds)")
    named = _absolute([os.fspath(seed) for seed in seeds], Path.cwd())
    spec, _run = _assembled([hosts_layer(named), layer])
    return _with_secret_names(msgspec.structs.replace(spec, seeds=named))


def differences(old: CrawlSpec, new: CrawlSpec) -> list[Difference]:
    """The options that differ although they may not change on resume.

    A secret that the old crawl had and the new one lacks counts too: a crawl behind a proxy does not silently
    go on without it.
    """
    changed = [
        Difference(option, readable(written_value(old, option)), readable(written_value(new, option)))
        for option in OPTIONS
        if option.in_spec and not option.may_change and value_in(old, option) != value_in(new, option)
    ]
    lost = [Difference(BY_NAME[name], "given", "not given") for name in old.secrets if name not in new.secrets]
    return changed + lost


def seeds_differ(old: CrawlSpec, new: CrawlSpec) -> bool:
    """True when ``new`` names seeds and they are not those of ``old``."""
    return bool(new.seeds) and set(new.seeds) != set(old.seeds)


def arguments_layer(arguments: Mapping[str, object], warn: Warn) -> dict[str, Given]:
    """What stands on the command line; a secret there is used, with a warning."""
    layer = {}
    for option in OPTIONS:
        if option.name not in arguments:
            continue
        raw = arguments[option.name]
        layer[option.name] = Given(raw, option.flag, Path.cwd())
        if option.secret and any(_is_in_the_open(part) for part in _texts(raw)):
            warn(
                f"the value of {option.flag} can be seen by others on this machine; "
                f"better is {option.variable}, {option.flag} @FILE, or {option.flag} - to be asked"
            )
    return layer


def environment_layer(environment: Mapping[str, str]) -> dict[str, Given]:
    """The secrets that the environment holds, one a line."""
    return {
        option.name: Given(environment[option.variable].splitlines(), option.variable, Path.cwd())
        for option in OPTIONS
        if option.secret and environment.get(option.variable, "").strip()
    }


def hosts_layer(seeds: Sequence[str], *, wanted: bool = False) -> dict[str, Given]:
    """What lists of sites among the seeds say of their sites (R1), and room for all that they want at once.

    ``wanted``: a file that is no such list is an error.
    """
    from weft.seeds.lists import site_paces

    names = [name for name in seeds if Path(name).is_absolute() and Path(name).is_file()]
    paces = site_paces(names, wanted=wanted)
    if not paces:
        return {}
    at_once = sum(pace.per_host or 0 for pace in paces.values())
    workers = min(max(at_once, Politeness().workers), 10_000)
    rows = {site: settings_of(pace) for site, pace in paces.items()}
    return {name: Given(raw, ", ".join(names), Path.cwd()) for name, raw in (("site", rows), ("workers", workers))}


def reveal(layer: Layer, ask: Callable[[str], str] | None) -> dict[str, Given]:
    """The same with ``@FILE`` and ``-`` of secrets replaced by what they stand for."""
    revealed = dict(layer)
    for option in OPTIONS:
        if option.secret and option.name in layer:
            given = layer[option.name]
            lines = [line for part in _texts(given.raw) for line in _revealed(part, given, option, ask)]
            revealed[option.name] = msgspec.structs.replace(
                given, raw=lines if option.kind.many else "".join(lines[:1])
            )
    return revealed


def _revealed(part: str, given: Given, option: Option, ask: Callable[[str], str] | None) -> Iterable[str]:
    if part == "-":
        return [(ask or _ask)(f"{option.flag} ({option.kind.metavar}): ")]
    if not part.startswith("@"):
        return [part]
    path = given.folder / Path(part[1:]).expanduser()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise SpecError(f"{given.where}: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(f"{given.where}: {path} is not UTF-8 text") from None
    kept = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not kept:
        raise SpecError(f"{given.where}: {path} is empty")
    return kept


def _ask(prompt: str) -> str:
    """A line typed without being shown; from a pipe, its next line."""
    import getpass
    import sys

    if sys.stdin is None or not sys.stdin.isatty():
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not line.strip():
            raise SpecError(f"nothing to read for {prompt.partition(' ')[0]}: there is no terminal to ask on")
        return line.strip()
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise SpecError(f"nothing was typed for {prompt.partition(' ')[0]}") from None


def _is_in_the_open(part: str) -> bool:
    return part not in ("-", "", "none") and not part.startswith("@")


def _texts(raw: object) -> list[str]:
    parts = raw if isinstance(raw, list | tuple) else [raw]
    return [part for part in parts if isinstance(part, str)]


def _assembled(layers: Sequence[Layer], *, check_files: bool = True) -> tuple[CrawlSpec, Run]:
    values: dict[str, Value] = {option.name: option.default for option in OPTIONS}
    mode = next((layer["mode"] for layer in reversed(layers) if "mode" in layer), None)
    preset = _read(BY_NAME["mode"], mode, None, check_files) if mode else None
    if isinstance(preset, Mode):
        values |= PRESETS[preset]
    for layer in layers:
        for name, given in layer.items():
            values[name] = _read(BY_NAME[name], given, values[name], check_files)
    values["mode"] = preset
    _check_together(values)
    return _put_in_place(values)


def _read(option: Option, given: Given, below: Value, check_files: bool) -> Value:
    try:
        return option.kind.read(given.raw, Context(given.folder, below, check_files))
    except ValueError as error:
        raise SpecError(f"{given.where}: {error}") from None


def _check_together(values: Mapping[str, Value]) -> None:
    """Refuses what is right alone and makes no sense together."""
    deepest, least = values["max-depth"], values["min-depth"]
    if isinstance(deepest, int) and isinstance(least, int) and least > deepest:
        raise SpecError(f"--min-depth {least} is more than --max-depth {deepest}: nothing would be fetched")
    if values["cookies"] and values["no-cookies"] is False:  # the field behind --no-cookies says whether they are kept
        raise SpecError("--cookies and --no-cookies exclude each other")
    near = values["near-duplicates"]
    if values["skip-duplicates"] == "near" and not (isinstance(near, float) and near >= LEAST_SKIPPED):
        raise SpecError(f"--skip-duplicates near needs --near-duplicates with {LEAST_SKIPPED} or more")


def _put_in_place(values: Mapping[str, Value]) -> tuple[CrawlSpec, Run]:
    """The values of all options in the fields that they belong to."""
    sections: dict[str, dict[str, Any]] = {}
    for option in OPTIONS:
        sections.setdefault(option.section, {})[option.field] = values[option.name]
    run, fields, spec = Run(**sections.pop("run")), sections.pop(""), CrawlSpec()
    for section, inside in sections.items():
        fields[section] = msgspec.structs.replace(getattr(spec, section), **inside)
    return msgspec.structs.replace(spec, **fields), run


def _with_secret_names(spec: CrawlSpec) -> CrawlSpec:
    return msgspec.structs.replace(spec, secrets=withheld_secrets(msgspec.structs.replace(spec, secrets=())))


def _absolute(seeds: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The seeds with names of files made absolute, so that a resume from elsewhere finds them."""
    return tuple(
        os.path.abspath(folder / seed) if "://" not in seed and (folder / seed).is_file() else seed for seed in seeds
    )


def _want_secrets(names: Sequence[str], layers: Sequence[Layer]) -> None:
    """Raises where a secret that a crawl was started with is not given again."""
    ways = []
    for option in (BY_NAME[name] for name in names if name in BY_NAME and not any(name in layer for layer in layers)):
        sources = f"{option.variable}, {option.flag} @FILE, {option.flag} -" if option.secret else option.flag
        ways.append(f"{option.flag} (by {sources}; {option.flag} none to go without)")
    if ways:
        raise SpecError(
            f"this crawl was started with a secret that {SPEC_FILE} does not keep; give again {' and '.join(ways)}"
        )
