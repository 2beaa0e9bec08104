"""The user's source with other keywords in its call of DataLoader, as a unified diff."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from typing import Final

from tb_dataplugin.tune.setting import THREADS, Changes, Value

BEFORE_SETTINGS: Final = 5
"""DataLoader's arguments before `num_workers`, which may be given without their names (torch 1.0 to 2.13)."""


def diff_of(source: str, line: int, changes: Changes, file: str) -> str:
    """ "" where it is not certain which call to change: none, or several, in `line`'s function or class, or at `line`.

    Args:
        line: where the function that makes the loader begins, from 1; or a line of the call itself.
        file: its name in the diff.
    """
    wanted = {name: value for name, value in changes if name != THREADS}
    call = _call_in(source, line)
    if call is None or not wanted:
        return ""
    new = _changed(source, call, wanted)
    lines = difflib.unified_diff(source.splitlines(True), new.splitlines(True), f"a/{file}", f"b/{file}")
    return "".join(text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n" for text in lines)


def _call_in(source: str, line: int) -> ast.Call | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, SystemError, RecursionError):  # the latter two: python/cpython#106905, deep code
        return None
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    holders = [node for node in ast.walk(tree) if isinstance(node, functions) and _first_line(node) == line]
    calls: list[ast.AST] = [node for holder in holders for node in ast.walk(holder) if _is_loader(node)]
    if not holders:
        calls = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_loader(node) and _has(node, line)
        ]
    call = calls[0] if len(calls) == 1 else None
    if not isinstance(call, ast.Call) or any(keyword.arg is None for keyword in call.keywords):
        return None  # **keywords may hold anything
    is_plain = len(call.args) <= BEFORE_SETTINGS and not any(isinstance(part, ast.Starred) for part in call.args)
    return call if is_plain else None


def _has(node: ast.Call, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """That of its first decorator, as `inspect` counts."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _is_loader(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return bool(name) and name.endswith("DataLoader")


def _changed(source: str, call: ast.Call, wanted: Mapping[str, Value]) -> str:
    """Places in the tree count bytes."""
    lines = [line.encode() for line in source.splitlines(True)]
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    text = b"".join(lines)
    edits: list[tuple[int, int, str]] = []
    there = {keyword.arg: keyword.value for keyword in call.keywords}
    for name, value in wanted.items():
        if name in there:
            node = there[name]
            edits.append((_at(offsets, node.lineno, node.col_offset), _end(offsets, node), repr(value)))
    new = ", ".join(f"{name}={value!r}" for name, value in wanted.items() if name not in there)
    if new:
        last = max((_end(offsets, node) for node in (*call.args, *there.values())), default=None)
        close = _end(offsets, call) - 1
        edits.append((close, close, new) if last is None else (last, last, f", {new}"))
    for begin, end, replacement in sorted(edits, reverse=True):
        text = text[:begin] + replacement.encode() + text[end:]
    return text.decode()


def _at(offsets: list[int], line: int, column: int) -> int:
    return offsets[line - 1] + column


def _end(offsets: list[int], node: ast.expr) -> int:
    return _at(offsets, node.end_lineno or node.lineno, node.end_col_offset or 0)
