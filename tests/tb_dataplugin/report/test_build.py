"""The modules that fill messages compute nothing: they may change units, and that is all."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tb_dataplugin import report

FOLDER = Path(report.__path__[0])
MODULES = sorted(FOLDER.glob("build*.py"))

COMPUTES = {
    "sum", "min", "max", "sorted", "round", "abs", "mean", "median", "percentile", "cumsum", "argsort", "argmax",
    "argmin", "any", "all", "sort", "overlap", "intersect", "minus", "union", "union_of", "clip",
    "complement", "fsum", "diff",
}  # fmt: skip


def calls(tree: ast.AST) -> set[str]:
    """Names of what is called: ``f(...)`` and ``x.f(...)``."""
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {function.id for function in called if isinstance(function, ast.Name)}
    return names | {function.attr for function in called if isinstance(function, ast.Attribute)}


def arithmetic(tree: ast.AST) -> list[str]:
    """Operations but ``X | Y``, which only stands in annotations."""
    operations = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitOr)]
    return [ast.unparse(operation) for operation in operations]


def test_there_is_something_to_judge() -> None:
    assert len(MODULES) >= 6


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_what_fills_the_report_computes_nothing(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name for name in imported if name.split(".")[0] in ("numpy", "math", "statistics", "itertools")}
    assert not calls(tree) & COMPUTES
    allowed = ["time_ns / 1000.0"] if module.stem == "build_units" else []
    assert arithmetic(tree) == allowed
