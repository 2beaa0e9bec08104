"""Which modules are one body of code: a package, or a script and what lies beside it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from annotate.hooks.same_code import are_of_one_body


def _module(patch: pytest.MonkeyPatch, name: str, file: Path | None, started_as: str = "") -> None:
    module = ModuleType(name)
    if file is not None:
        module.__file__ = str(file)
        if file.name == "__init__.py":
            module.__path__ = [str(file.parent)]
    module.__spec__ = ModuleSpec(started_as, None) if started_as else None
    patch.setitem(sys.modules, name, module)


@pytest.mark.parametrize(
    ("main", "started_as", "other", "file", "one"),
    [
        pytest.param("train.py", "", "augment", "augment.py", True, id="files side by side"),
        pytest.param("train.py", "", "augment", "augment/__init__.py", True, id="a package beside the script"),
        pytest.param("train.py", "", "augment", "elsewhere/augment.py", False, id="another folder"),
        pytest.param("train.py", "train", "augment", "augment.py", True, id="-m of a module"),
        pytest.param("own/train.py", "own.train", "own", "own/__init__.py", True, id="-m of a package's module"),
        pytest.param("own/train.py", "own.train", "augment", "augment.py", True, id="a package and a file beside it"),
        pytest.param("own/train.py", "own.train", "augment", "own/augment.py", False, id="inside of the package"),
        pytest.param(None, "", "augment", "augment.py", True, id="a notebook"),
        pytest.param("train.py", "", "augment", None, False, id="made by hand"),
    ],
)
def test_a_program_is_its_script_and_what_lies_beside_it(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    main: str | None,
    started_as: str,
    other: str,
    file: str | None,
    one: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    _module(monkeypatch, other, None if file is None else tmp_path / file)
    _module(monkeypatch, "__main__", None if main is None else tmp_path / main, started_as)
    if started_as.startswith("own."):
        _module(monkeypatch, "own", tmp_path / "own/__init__.py")
    assert are_of_one_body("__main__", f"{other}.inner") is one
    assert are_of_one_body(f"{other}.inner", "__main__") is one


def test_libraries_lie_side_by_side_and_are_each_their_own() -> None:
    assert are_of_one_body("torchvision.transforms", "torchvision.io")
    assert not are_of_one_body("torchvision.transforms", "torch.nn")
    assert not are_of_one_body("json.decoder", "functools")


def test_where_the_kernels_folder_has_been_deleted_nothing_is_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    _module(monkeypatch, "augment", tmp_path / "augment.py")
    _module(monkeypatch, "__main__", None)
    assert not are_of_one_body("__main__", "augment")
    assert are_of_one_body("__main__", "__main__")
