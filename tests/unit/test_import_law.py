"""The import law (STYLE section 2): who may import whom, what start-up loads, and what is public."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
STAGES = ("frontier", "fetch", "parse", "judge", "store")
IMPLEMENTATIONS = (*STAGES, "derive", "assemble", "observe", "options")
SHARED = ("records", "ports", "errors", "url", "spec", "text", "dates", "location", "native")
SQL_MODULES = ("weft.frontier", "weft.store", "weft.fetch.site", "weft.frontier.sitemap_queue")

LOOP_MAY_KNOW = {
    ("weft.crawl.loop", "weft.frontier.settling"): {"Settled"},
    ("weft.crawl.site_requests", "weft.fetch.site"): {"AskAgain", "Learnt"},
}
"""The value types that the loop builds or takes apart; it knows nothing else of the stations."""

PURE_LEAVES = tuple(
    f"weft.{name}" for name in ("dates", "errors", "location", "native", "records", "safe", "spec", "text", "url")
)
"""What everybody may import imports nothing of weft but its likes."""


class Import(NamedTuple):
    """``module`` imports ``target`` (a module of weft) at a line; ``names`` are what it takes from it."""

    module: str
    target: str
    names: frozenset[str]
    line: int


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((SOURCE / "weft").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_of(module: str) -> Iterator[Import]:
    """The imports of weft's own modules, those for type checkers left out: they load nothing."""
    yield from _imports(module, ast.parse(MODULES[module].read_text()).body)


def _imports(module: str, body: Sequence[ast.stmt]) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from _imports(module, node.orelse)
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, frozenset(), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively"
            yield from _from(module, node)
        else:
            inner = [child for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If | ast.Try | ast.With):
                yield from _imports(module, inner)


def _from(module: str, node: ast.ImportFrom) -> Iterator[Import]:
    base = node.module or ""
    for alias in node.names:
        inside = f"{base}.{alias.name}"
        target = inside if inside in MODULES else base
        yield Import(module, target, frozenset() if target == inside else frozenset({alias.name}), node.lineno)


def ours(module: str) -> list[Import]:
    return [found for found in imports_of(module) if found.target.split(".")[0] == "weft"]


def below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def told(found: list[Import]) -> str:
    return "\n".join(f"{one.module}:{one.line} imports {one.target} {' '.join(sorted(one.names))}" for one in found)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_imports_only_what_is_shared_and_itself(stage: str) -> None:
    package = f"weft.{stage}"
    allowed = [package, *(f"weft.{name}" for name in SHARED)]
    wrong = [
        one
        for module in MODULES
        if below(module, package)
        for one in ours(module)
        if not any(below(one.target, name) for name in allowed)
        and not (one.target == "weft.db.connection" and any(below(module, name) for name in SQL_MODULES))
        and one.target != "weft"  # its version
    ]
    assert not wrong, told(wrong)


def test_what_is_shared_stands_on_nothing_else() -> None:
    allowed = (*PURE_LEAVES, "weft.ports")
    roots = [module for module in MODULES if any(below(module, name) for name in allowed)]
    wrong = [one for module in roots for one in ours(module) if not any(below(one.target, name) for name in allowed)]
    assert not wrong, told(wrong)


def test_the_loop_imports_no_implementation() -> None:
    wrong = []
    for one in (*ours("weft.crawl.loop"), *ours("weft.crawl.site_requests"), *ours("weft.crawl.conclude")):
        known = LOOP_MAY_KNOW.get((one.module, one.target), set())
        if any(below(one.target, f"weft.{name}") for name in IMPLEMENTATIONS) and not (
            one.names and one.names <= known
        ):
            wrong.append(one)
    assert not wrong, told(wrong)


def test_only_assemble_sees_all_stages() -> None:
    """Pure functions apart: derive, commands and the demo read the store and may use any of them."""
    for module in MODULES:
        stages = {stage for one in ours(module) for stage in STAGES if below(one.target, f"weft.{stage}")}
        if stages == set(STAGES):
            assert module == "weft.crawl.build"


def test_nobody_imports_upwards() -> None:
    """The command line is above everything, the stored crawl's readers know nothing of a running one."""
    for module in MODULES:
        for one in ours(module):
            if below(one.target, "weft.cli.commands"):
                assert below(module, "weft.cli.commands") or module == "weft.cli.main", told([one])
            if below(one.target, "weft.cli.main"):
                assert below(module, "weft.cli.commands") or module == "weft.__main__", told([one])
            if below(module, "weft.derive"):
                assert one.target not in (
                    "weft.crawl.build",
                    "weft.crawl.loop",
                    "weft.run.session",
                    "weft.cli.screen",
                ), told([one])


def test_every_module_says_what_it_is_and_uses_new_annotations() -> None:
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text())
        if tree.body:
            assert ast.get_docstring(tree), f"{module} has no docstring"
            future = module == "weft.spec" or "from __future__ import annotations" in path.read_text()
            assert future or len(tree.body) == 1, f"{module} lacks the __future__ import"


def test_only_what_all_names_is_public() -> None:
    import weft

    assert sorted(weft.__all__) == weft.__all__
    for name in weft.__all__:
        assert getattr(weft, name) is not None
    submodules = {module.split(".")[1] for module in MODULES if module != "weft"}
    strange = {name for name in vars(weft) if not name.startswith("_")} - set(weft.__all__) - submodules
    assert strange <= {"TYPE_CHECKING", "annotations"}
    with pytest.raises(AttributeError, match="no attribute 'Crawl'"):
        _ = weft.Crawl
    for name, home in weft._MODULES.items():
        assert getattr(importlib.import_module(f"weft.{home}"), name) is getattr(weft, name)
    assert set(weft._MODULES) | {"__version__"} == set(weft.__all__)
