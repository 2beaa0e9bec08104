"""A warning that a library or the user's code gives about its caller is about the same line with us and without."""

from __future__ import annotations

import logging
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import record
from torch.utils.data import DataLoader, Dataset, IterableDataset

import annotate
from annotate import passing
from annotate.recording import switch
from annotate.saying import warn

LOG = logging.getLogger(__name__)


def read_old(index: int) -> torch.Tensor:
    """A library's function that is out of date, and says so of the line that calls it."""
    warnings.warn("read_old: use read_new", FutureWarning, stacklevel=2)
    LOG.warning("read_old", stacklevel=2)
    return torch.zeros(1)


def flip(x: Any) -> Any:
    warnings.warn("flip: what is flipped is empty", UserWarning, stacklevel=2)
    return x


class Crop:
    def __call__(self, x: Any) -> Any:
        warnings.warn("crop: larger than its image", UserWarning, stacklevel=2)
        return flip(x)


class Old(Dataset[Any]):
    def __init__(self) -> None:
        self.transform = annotate.compose([Crop(), flip])

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        warnings.warn("sample: out of date", UserWarning, stacklevel=2)
        return self.transform(read_old(index))


class OldStream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        for index in range(8):
            warnings.warn("stream: out of date", UserWarning, stacklevel=2)
            yield read_old(index)


def stack(batch: Any) -> Any:
    warnings.warn("stack: slow", UserWarning, stacklevel=2)
    return torch.stack(batch)


def lines(loader: Any, folder: Path | None, caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, int]]:
    """What was warned and logged, and of which line."""
    caplog.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if folder is None:
            list(loader)
        else:
            with annotate.profile(folder, wait=0, warmup=1, active=4) as prof:
                for _ in loader:
                    prof.step()
    said = [(str(w.message), w.filename, w.lineno) for w in caught if str(w.message).split(":")[0] in OURS]
    if sys.version_info >= (3, 11):  # before, `logging` counts each frame, also those that `warnings` passes over
        said += [(record.getMessage(), record.pathname, record.lineno) for record in caplog.records]
    return said


OURS = ("read_old", "flip", "crop", "sample", "stream", "stack")


@pytest.mark.parametrize("kind", [Old, OldStream])
def test_a_warning_about_its_caller_is_about_the_same_line(
    kind: type, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    annotate.register_reader(read_old)

    def loader() -> Any:
        return DataLoader(kind(), batch_size=2, collate_fn=stack)

    plain = lines(loader(), None, caplog)
    assert plain
    recorded = lines(annotate.loader(loader()), tmp_path / "run", caplog)
    assert recorded == plain


def test_every_function_that_is_passed_over_is_there() -> None:
    for module in passing.FUNCTIONS:
        import_module(f"annotate.{module}")
        assert passing.functions_of(module)


def test_our_own_warning_is_about_the_users_line(tmp_path: Path) -> None:
    """Our frames are not counted twice: Python passes over some of them by itself."""

    def code() -> None:
        with annotate.stage("user", "x"):
            switch.call("user::x", warn, ("ours", UserWarning), {})

    with pytest.warns(UserWarning, match="ours") as caught:
        record(tmp_path, code)
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, code.__code__.co_firstlineno + 2)]
