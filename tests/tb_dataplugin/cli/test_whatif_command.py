from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import tb_dataplugin
from tb_dataplugin.cli import main
from tb_dataplugin.export.whatif_text import _fit_inside, _in_lines
from tb_dataplugin.export.width import WIDEST
from tests.simulated_run import Simulation
from tests.trace_builder import TraceBuilder


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return Simulation(steps=24).file(np.random.default_rng(1)).write(tmp_path / "run.pt.trace.json")


def test_every_number_of_workers_has_a_prediction(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--workers", "0..2", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema_version"] == 1
    assert answer["settings"] == {"workers": 2, "prefetch": 2, "in_order": True}
    assert [made["change"]["workers"] for made in answer["predictions"]] == [0, 1, 2]
    for made in answer["predictions"]:
        for name in ("step_us", "samples_per_s", "data_wait_share"):
            assert made[name]["low"] <= made[name]["value"] <= made[name]["high"]
        assert made["limited_by"]
        saved, step = made["saved_share"], made["step_us"]
        for share, us in (("value", "value"), ("low", "high"), ("high", "low")):
            assert saved[share] == pytest.approx(1 - step[us] / answer["baseline"]["step_us"])


def test_what_makes_the_capture_doubtful_stands_with_its_predictions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was on standard error alone, which a file has not."""
    record = {"source": "batch", "boundaries_us": [100.0 * step for step in range(11)], "evaluates": True}
    settings = {"name": "DataLoader", "num_workers": 0, "batch_size": 4}
    builder = TraceBuilder().annotated(loaders=[settings], steps=record)
    for step in range(10):
        builder.wait(100 * step, 60, "wait::DataLoader").stage("sample::Shards", 100 * step + 1, 50)
    trace, file = str(builder.write(tmp_path / "run.pt.trace.json")), tmp_path / "answer.txt"
    words = "This window lies in an evaluation"
    assert main(["whatif", trace, "--format", "json"]) == 0
    said = capsys.readouterr()
    (doubt,) = (doubt for doubt in json.loads(said.out)["doubts"] if doubt["code"] == "evaluation")
    assert doubt["sentence"].startswith(words) and words in said.err
    assert main(["whatif", trace]) == 0
    said = capsys.readouterr()
    assert f"Doubtful: {words}" in said.out and words not in said.err
    assert main(["whatif", trace, "--output", str(file)]) == 0
    assert words in file.read_text() and words in capsys.readouterr().err
    assert tb_dataplugin.what_if(trace, workers=1).notes[0].startswith(words)


def test_json_has_the_words_of_the_text(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert main(["whatif", str(capture)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (answer["sentence"], answer["basis_text"], *answer["limit_texts"]):
        assert " ".join(words.split()) in shown
    assert [made["name"] for made in answer["predictions"]][:2] == ["workers=0", "workers=1"]


def test_without_a_change_the_usual_ones_are_shown(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture)]) == 0
    shown = capsys.readouterr().out
    for words in (
        "Now, in the steady state: ",
        "Without any data wait a step would take ",
        "workers=1",
        "transform::Blur=0.5x",
        "90% interval",
        "nothing was run",
    ):
        assert words in " ".join(shown.split())
    assert "starts of epochs; these" not in " ".join(shown.split())
    assert "would be the next stage to make faster" in shown or " limits." in shown
    assert max(map(len, shown.splitlines())) <= WIDEST


def test_with_a_device_its_idle_time_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    for number in range(8):
        start = 1000.0 * number
        builder.step(start, 1000).wait(start, 800, "wait::DataLoader").stage("sample::Pets", start, 800)
        builder.kernel(start + 850, 100)
    trace = str(builder.write(tmp_path / "run.pt.trace.json"))
    assert main(["whatif", trace]) == 0
    shown = capsys.readouterr().out
    assert "device idle" in shown and max(map(len, shown.splitlines())) <= WIDEST
    assert main(["whatif", trace, "--stage", "sample=0x", "--format", "json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    assert 0 < made["device_idle_share"]["value"] < 0.9


def test_a_stage_without_its_kind_is_guessed(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--stage", "blur=0.1x"]) == 2
    assert "the loop's batches have no stage blur; did you mean transform::Blur?" in capsys.readouterr().err


def test_what_is_no_kind_is_answered_with_the_kinds(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--cache", "foo"]) == 2
    kinds = "no stage, and no kind of stages, foo; kinds are decode, sample and transform, stages decode::"
    assert kinds in capsys.readouterr().err
    assert main(["whatif", str(capture), "--stage", "decode::Foo=0x"]) == 2
    assert "have no stage decode::Foo; they have decode::PIL.Image" in capsys.readouterr().err


def test_workers_that_end_before_they_begin_are_turned_round(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["whatif", str(capture), "--workers", "4..1"])
    assert "'4..1' ends before it begins; write 1..4" in capsys.readouterr().err


def test_cached_kinds_and_stages_are_one_change(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--cache", "decode", "--stage", "transform::Blur=0.1x", "--in-order", "off", "--prefetch", "4"]
    assert main(["whatif", str(capture), *arguments, "--format", "json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    assert made["change"] == {"prefetch": 4, "in_order": False, "stages": {"transform::Blur": 0.1, "decode": 0.0}}
    assert made["name"] == "prefetch_factor=4, in_order=False, transform::Blur=0.1x, decode=0x"  # as in the page's form


def test_a_larger_batch_is_between_two_ends_and_says_so(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--batch", "8", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (made,) = answer["predictions"]
    assert made["change"] == {"batch": 8}  # the capture has 4
    now = answer["baseline"]["step_us"]
    assert made["saved_share"]["value"] == pytest.approx(1 - made["step_us"]["value"] / (2 * now)), "per sample"
    assert "batch=8" in made["notes"][0] and "halfway between not at all and in proportion" in made["notes"][0]
    assert made["samples_per_s"]["value"] == pytest.approx(8e6 / made["step_us"]["value"])
    assert made["step_us"]["value"] > 1.5 * answer["baseline"]["step_us"]
    assert main(["whatif", str(capture), "--batch", "8"]) == 0
    shown = capsys.readouterr().out
    assert "batch=8" in shown and "and the interval has both" in " ".join(shown.split())


def test_a_stage_on_the_device_is_at_best_free_and_says_so(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--move", "transform::Blur=device", "--format", "json"]) == 0
    (moved,) = json.loads(capsys.readouterr().out)["predictions"]
    assert moved["change"] == {"moved": ["transform::Blur"]}
    assert "on the device" in moved["notes"][0]
    assert main(["whatif", str(capture), "--stage", "transform::Blur=0x", "--format", "json"]) == 0
    (free,) = json.loads(capsys.readouterr().out)["predictions"]
    assert moved["step_us"]["value"] == pytest.approx(free["step_us"]["value"])
    assert moved["step_us"]["high"] > free["step_us"]["high"]
    assert main(["whatif", str(capture), "--move", "transform::Blur=device"]) == 0
    assert "transform::Blur=device" in capsys.readouterr().out


def test_memory_of_workers_grows_with_their_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = Simulation(steps=24).file(np.random.default_rng(1))
    for number in range(10):
        builder.counter("host::processes", 3000 + 2000 * number, workers_bytes=2 * (4e8 + 1e6 * number))
    trace = str(builder.write(tmp_path / "run.pt.trace.json"))
    assert main(["whatif", trace, "--workers", "0..4", "--format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)["predictions"]
    assert "workers_bytes" not in made[0]  # what the training process would need is not known
    for number, each in enumerate(made[1:], start=1):
        memory = each["workers_bytes"]
        assert number * 4e8 <= memory["low"] < memory["value"] < memory["high"] <= number * 4.1e8
    assert main(["whatif", trace]) == 0
    assert "Memory of a DataLoader worker, with shared pages: 405 MB" in capsys.readouterr().out


def test_pinned_batches_save_between_none_and_all_of_the_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    for number in range(8):
        start = 1000.0 * number
        builder.step(start, 1000).wait(start, 500, "wait::DataLoader").stage("sample::Pets", start, 500)
        builder.call("cudaMemcpyAsync", start + 500, 200, correlation=number).memcpy(
            start + 600, 90, correlation=number, bytes=1 << 20
        )
    trace = str(builder.write(tmp_path / "run.pt.trace.json"))
    assert main(["whatif", trace, "--pin", "on", "--format", "json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    assert made["change"] == {"pin": True}
    assert made["name"] == "pin_memory=True"
    assert made["step_us"]["value"] == pytest.approx(900)  # half of 200 us
    idle = made["device_idle_share"]
    assert idle["value"] == pytest.approx(1 - 45 / 900) and idle["high"] == pytest.approx(1)  # copies are all it does
    assert made["step_us"]["low"] < 800 and made["step_us"]["high"] > 1000
    assert "pageable memory for 0.2 ms" in made["notes"][0]
    assert "The value has half of it gone, and the interval none and all of it." in made["notes"][0]
    assert len(made["notes"]) == 1  # of a loop without workers all that is saved counts


def test_what_else_is_in_an_interval_is_said(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "by 20% for a stage or pinned batches, 35% for other settings, 50% for the transfer" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--stage", "transform::Foo=0.1x"], 2, "no stage transform::Foo; they have"),
        (["--stage", "transform::Blur"], 2, "write it like"),
        (["--workers", "many"], 2, "write 4, 0..8 or 2,4,8"),
        (["--workers", "999"], 2, "choose 0 to 64"),
        (["--batch", "0"], 2, "cannot predict batch=0"),
        (["--batch", "many"], 2, "invalid int value"),
        (["--pin", "on"], 2, "no copies from pageable memory"),
        (["--pin", "off"], 2, "invalid choice"),
        (["--move", "transform::Foo=device"], 2, "no stage transform::Foo; they have"),
        (["--move", "transform::Blur"], 2, "write it like transform::Normalize=device"),
        (["--move", "transfer=device"], 2, "the transfer cannot be moved"),
    ],
)
def test_a_change_that_is_not_one_is_one_line(
    capture: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, words: str
) -> None:
    try:
        assert main(["whatif", str(capture), *arguments]) == status
    except SystemExit as ended:
        assert ended.code == status
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


def test_a_capture_that_says_too_little_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = TraceBuilder().step(0, 100).write(tmp_path / "run.pt.trace.json")
    assert main(["whatif", str(path)]) == 1
    assert "Nothing can be predicted from this capture" in capsys.readouterr().err


def _replay(path: Path) -> Path:
    return TraceBuilder().annotated("replay").stage("sample::Pets", 0, 100).write(path)


@pytest.mark.parametrize("command", [["whatif"], ["verify", "--finding", "99", "--target", "train:make"]])
def test_of_a_folder_the_newest_capture_that_is_no_replay_is_taken(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("older", "newer"):
        run = Simulation(steps=24).file(np.random.default_rng(1)).write(tmp_path / f"{name}.pt.trace.json")
        os.utime(run, (1e9 + (name == "newer"), 1e9 + (name == "newer")))
    _replay(tmp_path / "replay.pt.trace.json.gz")
    name, *options = command
    main([name, str(tmp_path), *options])
    said = capsys.readouterr().err
    assert "has 3 traces; this is the newest by its name or its file that is not a replay, newer\n" in said
    assert "no training steps" not in said


def test_where_all_traces_of_a_folder_are_replays_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        _replay(tmp_path / f"{name}.pt.trace.json")
    assert main(["whatif", str(tmp_path)]) == 1
    words = f"{tmp_path} has 2 traces, all of them replays, which have no training steps; name the capture of a run"
    assert words in capsys.readouterr().err


def test_a_replay_that_is_named_is_not_passed_over(
    tmp_path: Path, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", str(_replay(tmp_path / "replay.pt.trace.json"))]) == 1
    assert "replay.pt.trace.json: " in capsys.readouterr().err


def test_a_long_change_is_cut_before_its_factor() -> None:
    assert _fit_inside("collate::default_collate_of_ours=0.5x", 26) == "collate::default_c...=0.5x"
    assert _fit_inside("workers=4 *", 26) == "workers=4 *"


def test_each_of_several_changes_is_named() -> None:
    assert _in_lines("sample::Mosaics=0.15x, decode::PIL.Image=0.2x *", 30) == [
        "sample::Mosaics=0.15x",
        "+ decode::PIL.Image=0.2x *",
    ]
    assert _in_lines("workers=4, prefetch_factor=2", 30) == ["workers=4, prefetch_factor=2"]
