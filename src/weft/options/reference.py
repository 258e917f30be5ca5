"""The manual's page on options, made from the options."""

from __future__ import annotations

from weft.options.option import BY_NAME, GROUPS, OPTIONS, Option
from weft.options.presets import PRESETS
from weft.options.values import Plain
from weft.spec import Mode

_INTRODUCTION = """# Options of a crawl

Every option is a flag of `weft crawl` and, without its dashes, a key of a TOML file that `-c FILE` reads
(`max-pages = 1000`; switches are `true` or `false`; options that may be given many times are lists; the start
addresses are `seeds = ["https://example.org/"]`). What stands on the command line wins over the environment
(secrets only), that over the file, that over the preset of `--mode`, that over the default. A list on the command
line takes the place of the file's; headers are replaced by name. `--no-NAME` turns a switch off that the file turned
on (`--with-NAME` one whose name is `no-NAME`). Each crawl's folder holds `crawl.toml`, the whole specification as it
ran.

- **Times**: `100s`, `5m`, `2h`, `7d`, `250ms`; a bare number is seconds.
- **Sizes**: `10M` and `1G` are powers of 1000, `10Mi` and `1Gi` of 1024; a bare number is bytes.
- **none** lifts a limit (`--max-pages none`) or empties a list.
- **Secrets** come from the environment, from a file (`@FILE`, one a line) or from a prompt (`-`). On the command line
  they work, with a warning. They are never written to `crawl.toml`, and neither are the headers Authorization,
  Proxy-Authorization and Cookie; `weft resume` asks for them again.
- **Resume**: options marked "yes" may be changed by `weft resume`; a change of the others needs `weft crawl --fresh`.
"""


def reference_markdown() -> str:
    """The page as Markdown: a table of options for each group."""
    parts = [_INTRODUCTION]
    for group, title in GROUPS.items():
        parts.append(f"## {group}: {title}\n\n| option | default | resume | meaning |\n|---|---|---|---|")
        parts[-1] += "".join(f"\n{_row(option)}" for option in OPTIONS if option.group == group) + "\n"
    parts.append("## Presets\n\n| option | sets |\n|---|---|\n" + "\n".join(_preset(mode) for mode in PRESETS) + "\n")
    return "\n".join(parts)


def _row(option: Option) -> str:
    flag = option.flag if option.kind.is_switch else f"{option.flag} {option.kind.metavar}"
    shorter = f"{option.short}, " if option.short else ""
    meaning = option.help + (f". Secret: also `{option.variable}`" if option.secret else "")
    if option.example:
        meaning += f" (example: `{option.flag} {option.example}`)"
    resume = "yes" if option.may_change else "no"
    cells = [f"`{shorter}{flag}`", f"`{readable(option.kind.write(option.default))}`", resume, meaning]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _preset(mode: Mode) -> str:
    settings = (f"`{name} = {readable(BY_NAME[name].kind.write(value))}`" for name, value in PRESETS[mode].items())
    return f"| `--mode {mode}` | {', '.join(settings)} |"


def readable(value: Plain) -> str:
    """A written value as people read it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | dict):
        return ",".join(value) or "none"
    return str(value) or "not set"
