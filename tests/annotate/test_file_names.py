from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL.Image
import pytest
from capture_helpers import load, record_all
from torch.utils.data import DataLoader

import annotate
from annotate.recording import file_names


class Files:
    """A dataset that opens each of its files in the way it is told."""

    def __init__(self, paths: list[Any], use: Callable[[Any], object]) -> None:
        self.paths = paths
        self.use = use

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> int:
        self.use(self.paths[index])
        return index


def read_twice(path: Any) -> None:
    for _ in range(2):
        with open(path, "rb") as file:
            file.read()


def files_of_samples(folder: Path, dataset: Files, workers: int = 0) -> dict[int, list[str]]:
    """Dataset index -> the files that the trace names for it."""
    loader: Any = annotate.loader(DataLoader(dataset, batch_size=2, num_workers=workers))  # type: ignore[arg-type]
    with annotate.profile(folder, schedule=record_all) as prof:
        for _ in prof.steps(loader):
            pass
    events = load(prof.trace_files[-1])["traceEvents"]
    samples = [event for event in events if event["name"] == "sample::Files"]
    return {event["args"]["index"]: event["args"].get("files", []) for event in samples}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sample_names_the_files_that_it_was_read_from_each_once(tmp_path: Path, workers: int) -> None:
    paths = [tmp_path / f"{number}.bin" for number in range(6)]
    for path in paths:
        path.write_bytes(b"x" * 100)
    found = files_of_samples(tmp_path / "run", Files(paths, read_twice), workers)
    assert found == {number: [str(path)] for number, path in enumerate(paths)}


def read_image(path: str) -> None:
    PIL.Image.open(path).convert("L")
    cv2.imread(path)


def test_files_read_by_libraries_below_python_are_named(tmp_path: Path) -> None:
    image = np.zeros((8, 8, 3), dtype=np.uint8)
    PIL.Image.fromarray(image).save(tmp_path / "a.png")
    np.save(tmp_path / "a.npy", image)
    image.tofile(tmp_path / "a.raw")
    uses: dict[str, Callable[[Any], object]] = {
        "a.png": read_image,
        "a.npy": lambda path: (np.load(path), np.load(path, mmap_mode="r")),
        "a.raw": lambda path: np.fromfile(path, dtype=np.uint8),
    }
    paths = [str(tmp_path / name) for name in uses]
    found = files_of_samples(tmp_path / "run", Files(paths, lambda path: uses[Path(path).name](path)))
    assert found == {number: [path] for number, path in enumerate(paths)}


def test_arrays_of_an_npz_file_are_no_files_and_members_of_other_archives_are_named(tmp_path: Path) -> None:
    def use(path: Any) -> None:
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                arrays["points"].sum()
        else:
            with zipfile.ZipFile(path) as archive:
                archive.read("17.txt")

    np.savez_compressed(tmp_path / "a.npz", points=np.zeros(9), labels=np.zeros(9))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("17.txt", "x")
    found = files_of_samples(tmp_path / "run", Files([tmp_path / "a.npz", tmp_path / "all.zip"], use))
    assert found == {0: [str(tmp_path / "a.npz")], 1: [str(tmp_path / "all.zip"), "17.txt"]}


def test_what_was_opened_outside_of_a_sample_or_for_writing_is_nobodys_file(tmp_path: Path) -> None:
    def use(path: Any) -> None:
        with open(path, "wb") as file:
            file.write(b"x")

    file_names.saw("outside.bin")
    assert files_of_samples(tmp_path / "run", Files([tmp_path / "out.bin"] * 2, use)) == {0: [], 1: []}


class Fickle(os.PathLike[str]):
    """A path that answers only once."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.asked = False

    def __fspath__(self) -> str:
        if self.asked:
            raise RuntimeError("asked again")
        self.asked = True
        return self.path


def test_a_path_that_fails_costs_its_name_and_one_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"x")

    def use(path: Any) -> None:
        open(path, "rb").close()

    with pytest.warns(RuntimeWarning, match="does not know the files of a sample") as said:
        found = files_of_samples(tmp_path / "run", Files([Fickle(path), Fickle(path)], use))
    assert found == {0: [], 1: []}
    assert len(said) == 1


def test_only_the_slowest_samples_of_a_window_are_kept() -> None:
    file_names.begin()
    for length in range(1000, 0, -1):
        file_names.ended([f"{length}.bin"], 0, length)
    kept = file_names.take()
    assert [entry.files for entry in kept] == [[f"{length}.bin"] for length in range(1000, 1000 - len(kept), -1)]
    assert len(kept) == file_names.SAMPLES
    file_names.begin()


def test_a_long_path_keeps_its_end_and_a_name_that_is_no_text_can_be_written() -> None:
    file_names.begin()
    file_names.ended(["a" * 5000 + "/end.bin", os.fsdecode(b"\xff.bin")], 0, 1)
    (entry,) = file_names.take()
    assert entry.files[0].endswith("a/end.bin")
    assert len(entry.files[0]) == file_names.LONGEST
    assert entry.files[1].encode("utf-8")


def test_a_file_that_is_opened_and_decoded_leaves_room_for_the_others(tmp_path: Path) -> None:
    """A mosaic of four images: `open` and PIL are both given each path."""
    for number in range(4):
        PIL.Image.new("RGB", (8, 8)).save(tmp_path / f"{number}.png")

    def tiles(folder: Path) -> None:
        for path in sorted(map(str, folder.glob("*.png"))):
            PIL.Image.open(path).convert("L")

    loader: Any = annotate.loader(DataLoader(Files([tmp_path] * 4, tiles)))  # type: ignore[arg-type]
    with annotate.profile(tmp_path / "logs", schedule=record_all) as prof:
        list(loader)
    named = [
        event["args"]["files"]
        for event in load(prof.trace_files[-1])["traceEvents"]
        if "files" in event.get("args", {})
    ]
    assert named and all(len(files) == 4 for files in named)


class Odd:
    """A path of the user's own that does not want to be compared."""

    def __fspath__(self) -> str:
        return __file__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = None  # type: ignore[assignment]


def test_a_path_of_the_users_is_not_compared(tmp_path: Path) -> None:
    loader: Any = annotate.loader(DataLoader(Files([Odd()] * 2, read_twice)))  # type: ignore[arg-type]
    with annotate.profile(tmp_path, schedule=record_all):
        assert [int(batch) for batch in loader] == [0, 1]
