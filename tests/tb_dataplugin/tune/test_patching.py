from __future__ import annotations

import pytest

from tb_dataplugin.tune.patching import diff_of
from tb_dataplugin.tune.setting import Changes

CHANGES = Changes.of({"num_workers": 4, "pin_memory": True})

SOURCE = """import torch.utils.data as data

@cached
def make_loader(é=1):
    return data.DataLoader(
        Set("é"), num_workers=one + two,  # a comment stays
        batch_size=8,
    )
"""


def added(diff: str) -> list[str]:
    return [line[1:].strip() for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]


def test_keywords_are_changed_in_place_and_new_ones_added_behind_the_last() -> None:
    diff = diff_of(SOURCE, 3, CHANGES, "train.py")
    assert added(diff) == ['Set("é"), num_workers=4,  # a comment stays', "batch_size=8, pin_memory=True,"]
    assert diff.startswith("--- a/train.py\n+++ b/train.py\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return DataLoader()", ["return DataLoader(num_workers=4, pin_memory=True)"]),
        ("return DataLoader(d)", ["return DataLoader(d, num_workers=4, pin_memory=True)"]),
        ("return DataLoader(d, **options)", []),
        ("return DataLoader(*parts)", []),
        ("return DataLoader(d, 8, True, None, None, 2)", []),
        ("return DataLoader(d) if a else DataLoader(e)", []),
        ("return load(d)", []),
        ("return (", []),
    ],
)
def test_only_a_call_that_is_certain_is_changed(body: str, expected: list[str]) -> None:
    assert added(diff_of(f"def make():\n    {body}\n", 1, CHANGES, "a.py")) == expected


def test_a_setting_that_is_no_keyword_makes_no_diff() -> None:
    assert diff_of("def make():\n    return DataLoader(d)\n", 1, Changes.of({"threads_per_worker": 1}), "a.py") == ""


def test_what_python_itself_cannot_parse_makes_no_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str) -> None:
        raise SystemError("AST constructor recursion depth mismatch (before=102, after=37)")

    monkeypatch.setattr("ast.parse", fails)
    assert diff_of(SOURCE, 3, CHANGES, "train.py") == ""
