"""The laws of the tree (docs/architecture.md): who may import whom, where SQL stands, and what is public.

Most of them are contracts of import-linter, in pyproject.toml. Here are those that it cannot say.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
STAGES = ("frontier", "fetch", "parse", "judge", "store")
WITH_SQL = ("weft.db", "weft.frontier", "weft.store", "weft.derive")
VOCABULARY = {"api", "clock", "errors", "extras", "folder", "plugins", "ports", "records", "spec"}
"""The modules that lie beside the packages."""


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


def test_the_contracts_of_pyproject_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert code == 0, capsys.readouterr().out
    text = (ROOT / "pyproject.toml").read_text()
    assert "ignore_imports" not in text and "exclude_type_checking_imports" not in text


def test_nothing_but_the_vocabulary_lies_beside_the_packages() -> None:
    beside = {path.stem for path in (SOURCE / "weft").glob("*.py") if not path.stem.startswith("__")}
    assert beside == VOCABULARY


def test_only_the_wiring_sees_all_stages() -> None:
    for module in MODULES:
        stages = {stage for one in ours(module) for stage in STAGES if below(one.target, f"weft.{stage}")}
        assert module == "weft.crawl.build" or not {"frontier", "fetch", "judge", "store"} <= stages, module


def test_nothing_outside_the_modules_with_sql_asks_a_database() -> None:
    """Not even by a connection that another module gives away."""
    asking = {"execute", "executemany", "executescript"}
    for module, path in MODULES.items():
        if any(below(module, package) for package in WITH_SQL):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.Attribute) and node.attr in asking), f"{module}:{node.lineno}"


def test_commands_are_found_by_the_command_line_alone() -> None:
    for module in MODULES:
        for one in ours(module):
            if below(one.target, "weft.cli.commands"):
                assert below(module, "weft.cli.commands"), told([one])


def test_every_module_says_what_it_is_and_uses_new_annotations() -> None:
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text())
        if tree.body:
            assert ast.get_docstring(tree), f"{module} has no docstring"
            future = module == "weft.spec" or "from __future__ import annotations" in path.read_text()
            assert future or len(tree.body) == 1, f"{module} lacks the __future__ import"


def test_no_function_takes_more_than_seven_parameters() -> None:
    """``self`` apart. One twin of a compiled function may."""
    many = []
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                if len(names) - (names[:1] in (["self"], ["cls"])) > 7:
                    many.append(f"{module}.{node.name}")
    assert many == ["weft.native.pure.recall"]


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
