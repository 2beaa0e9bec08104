"""A loop that takes a batch of an annotated DataLoader in each step, and one of another that is not annotated."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.analyses.waits_of_others import IN_PROCESS, OF_WORKERS
from tb_dataplugin.export.terminal import PLAIN
from tb_dataplugin.export.whatif_text import as_text
from tb_dataplugin.whatif import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import capture_of, finding_in, results_of
from tests.trace_builder import TraceBuilder

TORCHS = f"enumerate(DataLoader){OF_WORKERS}"
HERE = f"enumerate(DataLoader){IN_PROCESS}"
LOADER: dict[str, Any] = {"name": "DataLoader", "dataset": "Pets", "num_workers": 1, "batch_size": 8, "stepped": True}
STEPS, STEP, OWN, OTHER = 40, 10_000.0, 1_000.0, 5_000.0


def second_loader(mark: str = TORCHS, built: bool = False) -> TraceBuilder:
    """Its only DataLoader worker builds for 9 ms of each step of 10 ms, and is waited for for 1 ms; the other loader's
    batch takes 5 ms. `built`: by the training thread, from samples of the same dataset.
    """
    builder = TraceBuilder().annotated(host={"cores": 8}, loaders=[LOADER]).worker(0)
    for number in range(STEPS):
        at = number * STEP
        done = at + OWN - 50
        begin = done - 9_000
        spans = {"sample::Pets": (begin, 8_990.0)} if begin > 0 else {}
        builder.batch(number, 0, max(0.0, begin - 500), max(0.0, begin), done, done + 20, spans)
        builder.step(at, STEP).wait(at, OWN, "wait::DataLoader").wait(at + 2_000, OTHER, mark)
        if built:
            builder.stage("sample::Pets", at + 2_100, OTHER - 200)
    return builder


@pytest.mark.parametrize(("mark", "built"), [(TORCHS, False), (HERE, False), (HERE, True)])
def test_its_waits_are_the_loops_and_no_stages(mark: str, built: bool) -> None:
    capture = capture_of(second_loader(mark, built))
    waits = capture.loader.wait_by_stage_us
    assert capture.loader.wait_us == pytest.approx(STEPS * (OWN + OTHER), rel=1e-3)
    assert waits["other_loader"] == pytest.approx(STEPS * OTHER, rel=1e-3)
    assert sum(waits.values()) == pytest.approx(capture.loader.wait_us, rel=1e-3)
    assert capture.verdict.sentence == (
        "The training thread waits for data for 60.0% of the window, most of it for another DataLoader, which is not "
        "annotated (83.3% of the data wait)."
    )
    assert capture.verdict.bound == "unknown" and not capture.loader.apart.others


def test_the_stages_of_the_annotated_one_save_no_more_than_its_own_waits() -> None:
    found = finding_in(second_loader(), "leading_stage")
    assert found.title == "sample::Pets caused 15.4% of the data wait"
    assert found.gain_us_per_step == pytest.approx(OWN, rel=1e-2)
    (workers,) = capture_of(second_loader()).worker_summaries
    assert "waits 10.0% of it for its batches" in workers.sentence


def test_a_device_that_idles_for_both_is_idle_for_both() -> None:
    builder = second_loader()
    for number in range(STEPS):
        builder.kernel(number * STEP + 7_100, 2_000)
    capture, results = capture_of(builder), results_of(builder)
    (device,) = results.loop.attribution.devices
    assert sum(device.by_stage_ns.values()) == device.causes["data_wait"].total_ns
    assert device.by_stage_ns["other_loader"] > 4 * device.by_stage_ns["sample::Pets"]
    assert finding_in(builder, "leading_stage").gain_us_per_step < 1.1 * OWN
    assert "another DataLoader, which is not annotated" in capture.verdict.sentence


def test_the_steady_state_has_them() -> None:
    steady = capture_of(second_loader()).loader.steady_state
    assert steady.measured_wait_us == pytest.approx(OWN + OTHER, rel=1e-2)
    assert steady.wait_us == pytest.approx(OWN + OTHER, rel=1e-2)


def test_whatif_says_what_of_the_step_it_leaves() -> None:
    loop = fit_loop(results_of(second_loader()))
    assert isinstance(loop, Loop)
    text = " ".join(as_text(loop, [], "capture", PLAIN).split())
    assert "5,000 µs of that are data wait for another DataLoader, which is not annotated." in text


def test_a_prediction_leaves_them_in_the_step() -> None:
    loop = fit_loop(results_of(second_loader()))
    assert isinstance(loop, Loop)
    assert loop.measured_step_ns == pytest.approx(1e3 * STEP, rel=1e-2)
    assert (loop.measured_wait_ns, loop.beside_ns) == pytest.approx((1e3 * OWN, 1e3 * OTHER), rel=1e-2)
