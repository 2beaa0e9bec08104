"""Which modules are one program: the script and the user's own files and packages; of libraries, each package alone."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from annotate.hooks.same_code import are_of_one_body


@pytest.mark.parametrize(
    ("module", "file", "one"),
    [
        pytest.param("augment", "augment.py", True, id="a file beside the script"),
        pytest.param("proj", "src/proj/__init__.py", True, id="a package elsewhere"),
        pytest.param("proj", None, True, id="a package of folders alone"),
        pytest.param("albumins", "env/lib/python3.11/site-packages/albumins/__init__.py", False, id="installed"),
        pytest.param("albumins", "dist-packages/albumins.py", False, id="of the system"),
        pytest.param("torch", "src/torch/__init__.py", False, id="torch, built where it lies"),
    ],
)
def test_a_program_is_its_script_and_the_users_own_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, file: str | None, one: bool
) -> None:
    for known, path in ((module, file), ("__main__", "train.py")):
        made = ModuleType(known)
        if path is not None:
            made.__file__ = str(tmp_path / path)
        monkeypatch.setitem(sys.modules, known, made)
    for name in (module, f"{module}.inner"):
        assert are_of_one_body("__main__", name) is one
        assert are_of_one_body(name, "__main__") is one
        assert are_of_one_body(name, f"{module}.other")


def test_libraries_are_each_their_own() -> None:
    assert are_of_one_body("torchvision.transforms", "torchvision.io")
    assert not are_of_one_body("torchvision.transforms", "torch.nn")
    assert not are_of_one_body("json.decoder", "functools")
    assert not are_of_one_body("__main__", "functools")
