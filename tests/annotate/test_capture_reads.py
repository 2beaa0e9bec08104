from __future__ import annotations

import builtins
import contextlib
import io
import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL.Image
import pytest
import torchvision.io
from capture_helpers import load, names, record, spans_of, trees
from torchvision.transforms import v2

import annotate
from tests.support import warm


class Files:
    """A dataset that does with each of its files what it is told."""

    def __init__(self, paths: list[str], use: Any, transform: Any = None) -> None:
        self.paths = paths
        self.uses = [use]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        return self.uses[0](self, self.paths[index])


def one(tmp_path: Path, path: str, use: Any, transform: Any = None) -> Any:
    """The tree of one sample."""
    ds = annotate.dataset(Files([path], use, transform))
    return trees(record(tmp_path / "run", lambda: ds[0]))


def test_pils_lazy_decode_is_its_own_span_inside_the_transform_that_fires_it(photos: list[str], tmp_path: Path) -> None:
    def use(self: Files, path: str) -> Any:
        with open(path, "rb") as file:
            return self.transform(PIL.Image.open(file))

    transform = v2.Compose([v2.RandomCrop(16), v2.PILToTensor()])
    (tree,) = one(tmp_path, photos[0], use, transform)
    assert tree == (
        "sample::Files",
        [
            "read::open",
            "read::PIL.Image.open",
            (
                "transform::Compose",
                [
                    ("transform::RandomCrop", [("decode::PIL.Image", ["read::file"])]),
                    "transform::PILToTensor",
                ],
            ),
        ],
    )


def test_an_image_is_decoded_once(photos: list[str], tmp_path: Path) -> None:
    def use(self: Files, path: str) -> Any:
        image = PIL.Image.open(path)
        image.load()
        image.load()
        return image.convert("L").getpixel((0, 0))

    (tree,) = one(tmp_path, photos[0], use)
    assert [c if isinstance(c, str) else c[0] for c in tree[1]] == ["read::PIL.Image.open", "decode::PIL.Image"]


@pytest.mark.parametrize("format_name", ["webp", "png", "tiff", "gif", "bmp"])
def test_every_format_shows_its_decode_and_keeps_its_pixels(
    format_name: str, photos: list[str], tmp_path: Path
) -> None:
    path = tmp_path / f"x.{format_name}"
    with PIL.Image.open(photos[0]) as image:
        image.save(path)
    with PIL.Image.open(path) as image:
        expected = np.asarray(image)
    results: list[Any] = []

    def use(self: Files, path: str) -> Any:
        with PIL.Image.open(path) as image:
            results.append(np.asarray(image))

    ds = annotate.dataset(Files([str(path)], use))
    roots = record(tmp_path, lambda: ds[0])
    assert names(roots)["decode::PIL.Image"] >= 1
    assert np.array_equal(results[0], expected)
    with PIL.Image.open(path) as image:
        assert not hasattr(type(image).load, "__wrapped__")


def test_reading_a_whole_file_is_a_read(photos: list[str], tmp_path: Path) -> None:
    def use(self: Files, path: str) -> bytes:
        with open(path, "rb") as file:
            assert isinstance(file, io.BufferedReader)
            assert (file.name, file.mode, file.closed) == (path, "rb", False)
            assert repr(file) == f"<_io.BufferedReader name={path!r}>"
            first = file.read(2)
            assert file.tell() == 2
            data = first + file.read()
        assert file.closed
        return data

    expected = Path(photos[0]).read_bytes()
    results: list[bytes] = []
    ds = annotate.dataset(Files([photos[0]], lambda s, p: results.append(use(s, p))))
    roots = record(tmp_path, lambda: ds[0])
    assert trees(roots) == [("sample::Files", ["read::open", "read::file"])]
    assert results == [expected]


def test_pathlib_text_json_and_pickle_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    value = {"é": list(range(4000))}
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    pickled = tmp_path / "x.pkl"
    pickled.write_bytes(pickle.dumps(value))
    results: list[Any] = []

    def use(self: Files, name: str) -> None:
        with open(path, encoding="utf-8") as file:
            assert type(file) is io.TextIOWrapper
            assert (file.name, file.mode, file.encoding) == (str(path), "r", "utf-8")
            results.append(json.load(file))
        with open(path, encoding="utf-8") as file:
            results.append(json.loads("".join(file)))
        results.append(json.loads(path.read_bytes()))
        with open(pickled, "rb") as file:
            results.append(pickle.load(file))

    ds = annotate.dataset(Files([str(path)], use))
    roots = record(tmp_path, lambda: ds[0])
    assert results == [value] * 4
    counts = names(roots)
    assert counts["read::open"] == 3
    assert counts["read::file"] >= 3
    assert counts["read::pathlib.read_bytes"] == 1
    assert (counts["decode::json.load"], counts["decode::json.loads"], counts["decode::pickle.load"]) == (1, 2, 1)


def test_errors_of_open_are_those_of_open(tmp_path: Path) -> None:
    def use(self: Files, name: str) -> None:
        with pytest.raises(FileNotFoundError) as caught:
            open(name)  # noqa: SIM115
        assert caught.value.filename == name
        with pytest.raises(IsADirectoryError):
            open(tmp_path, "rb")  # noqa: SIM115
        with pytest.raises(ValueError, match="binary mode"):
            open(__file__, "rb", encoding="utf-8")  # noqa: SIM115
        with pytest.raises(ValueError, match="mode"):
            open(__file__, "q")  # noqa: SIM115
        with open(tmp_path / "out", "wb") as file:
            assert type(file) is io.BufferedWriter

    ds = annotate.dataset(Files([str(tmp_path / "none")], use))
    record(tmp_path, lambda: ds[0])


def test_files_outside_of_a_sample_are_not_touched(photos: list[str], tmp_path: Path) -> None:
    def code() -> None:
        with open(photos[0], "rb") as file:
            assert type(file) is io.BufferedReader
            file.read()

    assert names(record(tmp_path, code)) == {}


def test_numpy_cv2_and_torchvision_are_told_apart(photos: list[str], tmp_path: Path) -> None:
    array = tmp_path / "x.npy"
    np.save(array, np.arange(10_000))

    def use(self: Files, path: str) -> None:
        assert np.load(array)[9] == 9
        pixels: Any = cv2.imread(path)
        assert pixels.shape == (64, 96, 3)
        assert cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR) is not None
        # Without its compiled part torchvision cannot; the span is there all the same.
        with contextlib.suppress(RuntimeError, AttributeError):
            torchvision.io.read_image(path)

    counts = names(record(tmp_path, lambda: annotate_one(photos[0], use)))
    assert counts["decode::numpy.load"] == 1
    assert counts["decode::cv2.imread"] == counts["decode::cv2.imdecode"] == 1
    assert counts["decode::torchvision.io.read_image"] == 1
    assert counts["read::torchvision.io.read_file"] == 1


def annotate_one(path: str, use: Any) -> None:
    annotate.dataset(ds := Files([path], use))
    ds[0]


def test_hooks_are_in_only_while_a_session_is_on(photos: list[str], tmp_path: Path) -> None:
    before = (builtins.open, io.open, PIL.Image.open, cv2.imread, np.load)
    with pytest.raises(ZeroDivisionError), annotate.profile(tmp_path, wait=0, warmup=1, active=1):
        during = (builtins.open, io.open, PIL.Image.open, cv2.imread, np.load)
        assert all(a is not b for a, b in zip(before, during, strict=True))
        _ = 1 / 0
    assert before == (builtins.open, io.open, PIL.Image.open, cv2.imread, np.load)


@contextlib.contextmanager
def prof_exit(prof: Any) -> Iterator[None]:
    try:
        yield
    finally:
        prof.__exit__(None, None, None)


def test_a_library_imported_after_the_session_began_is_hooked_when_the_window_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = cv2.imread
    with monkeypatch.context() as hidden:
        hidden.delitem(sys.modules, "cv2")
        prof = annotate.profile(tmp_path, wait=0, warmup=1, active=1).__enter__()
    with prof_exit(prof):
        assert cv2.imread is plain
        prof.step()
        assert cv2.imread is not plain
    assert cv2.imread is plain


def test_pils_decode_is_seen_in_a_program_that_opens_its_first_image_in_the_window(
    photos: list[str], tmp_path: Path
) -> None:
    """PIL imports most of itself lazily."""
    code = f"""
import sys, annotate, PIL.Image
assert "PIL.ImageFile" not in sys.modules
class Photos:
    def __len__(self): return 4
    def __getitem__(self, index): return PIL.Image.open({photos[0]!r}).convert("L").getpixel((0, 0))
from torch.utils.data import DataLoader
annotate.replay(DataLoader(Photos()), {str(tmp_path)!r}, 2, progress=False)
"""
    root = str(Path(annotate.__file__).parents[1])
    warm.run([sys.executable, "-c", code], cwd=root).check_returncode()
    (path,) = tmp_path.iterdir()
    assert names(spans_of(load(path)))["decode::PIL.Image"] == 2
