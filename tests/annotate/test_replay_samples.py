from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import load, record_all
from torch.utils.data import DataLoader, IterableDataset

import annotate
from annotate import slowest
from annotate.__main__ import main
from annotate.capture import single_samples
from annotate.capture.replaying import replay_samples


class Files:
    def __init__(self, folder: Path) -> None:
        self.paths = [folder / f"{number}.bin" for number in range(6)]
        for path in self.paths:
            path.write_bytes(b"x" * 9000)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> int:
        return len(self.paths[index].read_bytes())


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(10))


@pytest.fixture(autouse=True)
def _few_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_samples, "SECONDS", 0.0)


def loader_of(folder: Path, **settings: Any) -> Any:
    return DataLoader(Files(folder), **({"batch_size": 4, "num_workers": 2} | settings))  # type: ignore[arg-type]


def samples_in(path: str) -> list[int]:
    events = [event for event in load(path)["traceEvents"] if event["name"] == "sample::Files"]
    return [event["args"]["index"] for event in sorted(events, key=lambda event: event["ts"])]


@pytest.mark.parametrize("settings", [{}, {"batch_size": None}])
def test_named_samples_are_loaded_alone_one_after_the_other(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = annotate.replay(loader_of(tmp_path, **settings), tmp_path / "run", indices=[4, 1], progress=False)
    assert samples_in(path) == [4] * single_samples.LEAST + [1] * single_samples.LEAST
    replayed = load(path)["dataPipeline"]["replayed"]
    assert replayed["index"] == [4, 1]
    assert replayed["captured_us"] == [None, None]
    assert replayed["files"] == [[str(tmp_path / "4.bin")], [str(tmp_path / "1.bin")]]


def test_usual_samples_are_loaded_after_them(tmp_path: Path) -> None:
    named = {4: single_samples.Captured(90.0)}
    path = replay_samples(loader_of(tmp_path), tmp_path / "run", named, [1, 4, 7, 5], progress=False)
    assert samples_in(path) == [4] * single_samples.LEAST + [1, 1, 1, 5, 5, 5]  # 7 is of another dataset
    assert load(path)["dataPipeline"]["replayed_usual"] == [1, 5]


def test_usual_samples_take_little_of_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_samples, "USUAL_SECONDS", 0.0)
    path = replay_samples(loader_of(tmp_path), tmp_path / "run", {4: single_samples.Captured()}, [1], progress=False)
    assert load(path)["dataPipeline"]["replayed_usual"] == []


def test_the_last_load_counts_as_cold_only_where_it_read_from_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = iter([0, 9000, 9000, 9000, -1, -1])
    monkeypatch.setattr(single_samples, "read_from_storage", lambda: next(read))
    path = annotate.replay(loader_of(tmp_path), tmp_path / "run", indices=[0, 1, 2], progress=False)
    assert load(path)["dataPipeline"]["replayed"]["cold"] == [True, False, False]


def test_the_loader_and_the_random_state_stay_as_they_were(tmp_path: Path) -> None:
    loader = loader_of(tmp_path, num_workers=0, shuffle=True)
    torch.manual_seed(1)
    plain = [batch.tolist() for batch in loader]
    torch.manual_seed(1)
    annotate.replay(loader, tmp_path / "run", indices=[3], progress=False)
    assert [batch.tolist() for batch in loader] == plain


@pytest.mark.parametrize(
    ("indices", "error", "said"),
    [
        ([], ValueError, "indices is empty"),
        ([6], ValueError, "6 samples, and no index 6"),
        (["1"], TypeError, "whole numbers"),
    ],
)
def test_indices_that_cannot_be_are_one_clear_error(
    tmp_path: Path, indices: list[Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        annotate.replay(loader_of(tmp_path), tmp_path / "run", indices=indices)


def test_an_iterable_dataset_has_no_indices(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="its samples have no index"):
        annotate.replay(DataLoader(Stream()), tmp_path / "run", indices=[1])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A script that parses its own command line when it is imported."""
    text = f"""
import argparse, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_replay_samples import loader_of
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=4)
asked = parser.parse_args()
loader = loader_of(Path({str(tmp_path)!r}), batch_size=asked.size)
"""
    (tmp_path / "own_arguments.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "own_arguments", raising=False)
    return "own_arguments:loader"


def test_a_script_finds_its_own_arguments_in_argv(module: str, tmp_path: Path) -> None:
    assert main(["replay", module, "--logdir", str(tmp_path / "run"), "--batches", "1", "--", "--size", "3"]) == 0
    assert sys.argv == ["own_arguments", "--size", "3"]
    (path,) = (tmp_path / "run").iterdir()
    assert samples_in(str(path)) == [0, 1, 2]


def test_a_script_whose_name_is_none_of_pythons_is_given_as_a_file(module: str, tmp_path: Path) -> None:
    (tmp_path / "own_arguments.py").rename(tmp_path / "own-arguments.v2.py")
    asked = ["replay", "own-arguments.v2.py:loader", "--logdir", str(tmp_path / "run"), "--batches", "1"]
    assert main([*asked, "--", "--size", "3"]) == 0
    (path,) = (tmp_path / "run").iterdir()
    assert samples_in(str(path)) == [0, 1, 2]
    sys.modules.pop("own-arguments.v2")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("MODULE:MAKE_LOADER", "put the place of your DataLoader for MODULE:MAKE_LOADER"),
        ("nothere.py:loader", "there is no file nothere.py"),
        ("folder/module:loader", "neither a module nor a file"),
    ],
)
def test_a_target_that_is_none_is_one_line(
    target: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", target, "--logdir", str(tmp_path), "--indices", "1"]) == 2
    assert said in capsys.readouterr().err


def test_the_slowest_samples_of_a_capture_are_replayed(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loader = annotate.loader(loader_of(tmp_path))
    with annotate.profile(tmp_path / "train", schedule=record_all) as prof:
        for _ in prof.steps(loader):
            pass
    asked = ["--slowest", "1", "--from", prof.trace_files[-1]]
    assert main(["replay", module, "--logdir", str(tmp_path / "run"), *asked]) == 0
    (path,) = (tmp_path / "run").iterdir()
    replayed = load(path)["dataPipeline"]["replayed"]
    (index,) = replayed["index"]
    assert replayed["captured_us"][0] > 0
    usual = load(str(path))["dataPipeline"]["replayed_usual"]
    assert index not in usual
    said = capsys.readouterr().out
    assert f"sample {index}, " in said
    assert str(tmp_path / f"{index}.bin") in said


@pytest.mark.parametrize("by_slowness", [True, False])
def test_of_an_iterable_dataset_the_command_that_is_possible_is_said(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, by_slowness: bool
) -> None:
    """A stranger was sent from --slowest to --indices, and from there to an option of Python's."""
    (tmp_path / "own_arguments.py").write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_replay_samples import DataLoader, Stream; loader = DataLoader(Stream())"
    )
    monkeypatch.setattr(slowest, "train_captures", lambda path: [of_two()])
    named = ["--slowest", "3", "--from", "x"] if by_slowness else ["--indices", "5,42"]
    words = ["replay", module, "--logdir", "run folder"]
    assert main([*words, *named, "--", "--size", "3"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("annotate replay: Stream is iterable, so its samples have no index")
    command = "python -m annotate replay own_arguments:loader --logdir 'run folder' --batches 16 -- --size 3"
    assert said.strip().endswith(command) and "--indices" not in said
    assert main([*words, "--batches", "1", "--", "--size", "3"]) == 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--slowest", "3"], "--slowest needs --from"),
        (["--from", "x"], "--from needs --slowest"),
        (["--slowest", "3", "--indices", "1"], "not both"),
        (["--slowest", "0", "--from", "x"], "at least 1"),
        (["--slowest", "3", "--from", "absent.json"], "absent.json"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str], said: str
) -> None:
    assert main(["replay", module, "--logdir", str(tmp_path / "run"), *asked]) == 2
    line = capsys.readouterr().err.strip()
    assert said in line
    assert "\n" not in line


def test_an_evicted_file_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"x" * 5000)
    single_samples.evict([str(path), str(tmp_path / "absent"), "nul\0"])
    assert path.read_bytes() == b"x" * 5000


def test_bytes_from_storage_are_unknown_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Callable[[], object]:
        raise OSError

    monkeypatch.setattr("builtins.open", refuse)
    assert single_samples.read_from_storage() == -1


def of_two(**differs: Any) -> slowest.Capture:
    """A capture with sample 0 of the training loop's DataLoader, and sample 0 of another, which took longer."""
    alike = {"dataset": "Files", "sampler_length": 60, "batch_size": 4, "num_workers": 2, "p50_us": 2.0}
    names = {0: "the DataLoader of Files, number 0", 1: "the DataLoader of Files, number 1"}
    both = [{**alike, "loader": number, "name": name, "main": not number} for number, name in names.items()]
    loaders = [{**both[0], "usual_samples": [7]}, {**both[1], **differs, "usual_samples": [8]}]
    took = {0: 5.0, 1: 15.0}
    slow = [{"index": 0, "loader": number, "duration_us": took[number], "stage": "read::open"} for number in (1, 0)]
    return {"sample_loaders": loaders, "slow_samples": [{**one, "stage_us": 1.0} for one in slow], "stage_details": []}


@pytest.mark.parametrize("differs", [{"sampler_length": 6}, {"batch_size": 8}, {"dataset": "Others"}])
def test_samples_are_those_of_the_dataloader_that_is_replayed(differs: dict[str, Any]) -> None:
    capture = of_two(**differs)
    for number, took in ((0, 5.0), (1, 15.0)):
        named = slowest.slow_samples([capture], capture["sample_loaders"][number])
        assert named.samples[0]["duration_us"] == took
        assert (named.usual, named.doubt) == ([7 + number], "")


def test_of_dataloaders_that_are_alike_it_is_the_training_loops_and_that_is_said() -> None:
    capture = of_two()
    named = slowest.slow_samples([capture], capture["sample_loaders"][1])
    assert named.samples[0]["duration_us"] == 5.0
    assert "2 DataLoaders with this dataset class" in named.doubt and "number 0, the training loop" in named.doubt


def test_settings_of_another_dataloader_go_with_the_samples() -> None:
    capture = of_two()
    capture["sample_loaders"] = [{**capture["sample_loaders"][0], "name": ""}]
    capture["slow_samples"][1] |= {"stage": "transform::Heavy", "stage_us": 4.0}
    same = capture["sample_loaders"][0]

    def differs(**settings: Any) -> list[str]:
        return slowest.slow_samples([capture], {**same, **settings}).samples[0]["differs"]

    assert slowest.slow_samples([capture], same).samples[0]["stage"] == "transform::Heavy"
    assert differs(num_workers=0) == []
    assert differs(batch_size=16) == ["batch_size 16 (4 in the capture)"]
    assert differs(sampler_length=6) == ["samples in an epoch: 6 (60 in the capture)"]
    capture["world_size"] = 10  # a rank has a tenth of them
    assert differs(sampler_length=600) == []


def test_a_dataloader_that_the_capture_does_not_have_is_said() -> None:
    capture = of_two(sampler_length=6)
    named = slowest.slow_samples([capture], {**capture["sample_loaders"][0], "sampler_length": 30})
    assert "no slow samples of a DataLoader with this dataset class and length" in named.doubt
    named = slowest.slow_samples([capture], {**capture["sample_loaders"][0], "dataset": "Others"})
    assert not named.samples and "no slow samples of a DataLoader of Others" in named.doubt
    assert slowest.slow_samples([], {}).samples == {}
