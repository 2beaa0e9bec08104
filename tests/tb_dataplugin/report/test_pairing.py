from __future__ import annotations

from tb_dataplugin.pipeline import analyse, as_report
from tests.trace_builder import TraceBuilder, training_run


def live() -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "dataset": "Pets"}]).step(0, 100)
    builder.wait(0, 60, "wait::DataLoader").worker(0)
    return builder.batch(0, 0, 0, 0, 58, 59, {"sample::Pets": (0, 58), "transform::RandomCrop": (1, 54)})


def test_a_replay_of_the_same_dataset_stands_beside_the_live_stages() -> None:
    replay = training_run().annotated(mode="replay", loaders=[{"dataset": "Pets"}])
    captures = [analyse(live().trace()).capture, analyse(replay.trace()).capture]
    stages = {stage.path[-1]: stage for stage in as_report(captures).captures[0].stages}
    assert stages["transform::RandomCrop"].replay_mean_us == 6
    assert stages["transform::RandomCrop"].replay_ratio == 9
    assert not stages["wait::DataLoader"].HasField("replay_ratio")


def test_a_replay_of_another_dataset_does_not() -> None:
    replay = training_run().annotated(mode="replay", loaders=[{"dataset": "Cars"}])
    captures = [analyse(live().trace()).capture, analyse(replay.trace()).capture]
    assert not any(stage.HasField("replay_ratio") for stage in as_report(captures).captures[0].stages)


def test_the_replay_beside_the_stages_is_named() -> None:
    replay = training_run().annotated(mode="replay", loaders=[{"dataset": "Pets"}])
    captures = [analyse(live().trace()).capture, analyse(replay.trace()).capture]
    captures[1].name = "pets-replay"
    assert as_report(captures).captures[0].replay_name == "pets-replay"


def test_a_replay_of_a_dataset_of_the_same_name_in_another_file_does_not() -> None:
    replay = training_run().annotated(mode="replay", loaders=[{"dataset": "Pets"}])
    captures = [analyse(live().trace()).capture, analyse(replay.trace()).capture]
    for file, paired in (("pets.py", True), ("other/pets.py", False)):
        for capture, at in zip(captures, ("pets.py:3", f"{file}:9"), strict=True):
            for stage in capture.stages:
                stage.defined_at = at if stage.kind == "sample" else ""
        assert any(stage.HasField("replay_ratio") for stage in as_report(captures).captures[0].stages) == paired


def test_of_several_replays_that_of_the_same_folder_and_process_stands_beside() -> None:
    replay = training_run().annotated(mode="replay", loaders=[{"dataset": "Pets"}])
    names = ("one/train/vm_7.1795000000000000009", "one/replay/vm_7.1795000000000000001",
             "one/replay/vm_8.1795000000000000005", "two/replay/vm_9.1795000000000000010")  # fmt: skip
    captures = [analyse(built.trace()).capture for built in (live(), replay, replay, replay)]
    for capture, name in zip(captures, names, strict=True):
        capture.name = name
    assert as_report(captures).captures[0].replay_name == names[1]
    assert as_report([captures[0], *captures[2:]]).captures[0].replay_name == names[2]


def test_a_replay_of_another_program_does_not_whose_dataset_is_called_the_same() -> None:
    replay = training_run().annotated(mode="replay", loaders=[{"dataset": "Pets"}])
    for number, name in enumerate(("transform::Mask", "transform::Blur", "read::open")):
        replay.stage(name, 90 + number, 0.5)
    captures = [analyse(live().trace()).capture, analyse(replay.trace()).capture]
    assert not as_report(captures).captures[0].replay_name


def test_a_replay_of_named_samples_does_not() -> None:
    """The slowest, loaded one by one: a stranger's collate was "8.8x" slower live, in batches of 8."""
    replay = training_run().annotated(mode="replay", loaders=[{"dataset": "Pets"}])
    captures = [analyse(live().trace()).capture, analyse(replay.trace()).capture]
    captures[1].replayed_samples.add(index=7)
    assert not as_report(captures).captures[0].replay_name
