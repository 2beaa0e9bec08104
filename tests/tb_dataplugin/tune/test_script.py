from __future__ import annotations

import argparse
from typing import Any

import pytest

from tb_dataplugin.cli.tune import TuneCommand
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.tune.patching import diff_of
from tb_dataplugin.tune.running import CannotRun
from tb_dataplugin.tune.script import Script, at_place, chosen, facts_of
from tb_dataplugin.tune.setting import Changes


def made(line: int, workers: int = 2, batch_size: int = 8, trains: bool = True) -> dict[str, Any]:
    return {
        "place": f"/home/me/train.py:{line}",
        "settings": {"num_workers": workers, "pin_memory": False, "multiprocessing_context": None},
        "batch_size": batch_size,
        "takes": ["num_workers", "in_order"],
        "device": "",
        "trains": trains,
        "iterable": False,
        "undivided": "",
    }


@pytest.mark.parametrize(
    ("loaders", "line"),
    [
        ([made(1, trains=False), made(2)], 2),
        ([made(1, workers=0), made(2)], 2),
        ([made(1, batch_size=16), made(2)], 2),
        ([made(1, trains=False), made(2, trains=False)], 1),
        ([made(1, workers=0), made(2, workers=1)], 1),
    ],
)
def test_the_loader_that_was_recorded_is_tuned(loaders: list[dict[str, Any]], line: int) -> None:
    assert chosen(loaders, workers=2, batch_size=8)["place"].endswith(f":{line}")


def test_a_program_without_a_loader_of_torchs_is_refused() -> None:
    with pytest.raises(CannotRun, match="was not made by torch's DataLoader"):
        chosen([], 2, 8)


def test_facts_have_the_place_of_the_call() -> None:
    facts = facts_of(made(7), cpus=2)
    assert (facts.file, facts.line, facts.made) == ("/home/me/train.py", 7, {"num_workers": 2, "pin_memory": False})
    assert "train.py:7 had its settings changed" in at_place(Script(("python", "train.py")), made(7)).about


@pytest.mark.parametrize(("line", "is_there"), [(2, False), (3, True), (5, True), (6, False), (7, False)])
def test_the_diff_changes_the_call_that_has_the_line(line: int, is_there: bool) -> None:
    source = "\nset = D()\ntrain = DataLoader(\n    set,\n)\nval = DataLoader(set), DataLoader(set)\n\n"
    diff = diff_of(source, line, Changes.of({"num_workers": 4}), "train.py")
    assert bool(diff) is is_there
    assert "val" not in diff or "+val" not in diff


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--step-ms", "3", "--", "python", "train.py"], "--step-ms is for a loader alone"),
        (["--device", "cuda", "--", "python", "train.py"], "--device is for a loader alone"),
        (["--runs", "1", "--", "python", "train.py"], "--runs must be at least 2"),
    ],
)
def test_options_that_do_not_fit_a_program_are_refused(words: list[str], message: str) -> None:
    parser = argparse.ArgumentParser()
    TuneCommand.add_arguments(parser)
    with pytest.raises(BadRequest, match=message):
        TuneCommand.run(parser.parse_args(words))


def test_what_stands_behind_the_dashes_is_the_program() -> None:
    parser = argparse.ArgumentParser()
    TuneCommand.add_arguments(parser)
    words = ["--runs", "3", "--", "python", "train.py", "--lr", "0.1", "--seconds", "9"]
    parsed = parser.parse_args(words)
    assert (parsed.target, parsed.seconds) == (["python", "train.py", "--lr", "0.1", "--seconds", "9"], 2.0)
    assert parser.parse_args(["train:make_loader", "--step-ms", "80"]).target == ["train:make_loader"]
