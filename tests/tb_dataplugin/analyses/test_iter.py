"""Starting DataLoader workers, in ``iter(loader)``: data wait that belongs to the start of an epoch."""

from __future__ import annotations

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import as_report
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, signals_of
from tests.trace_builder import TraceBuilder

STEP, STEPS, MAKING, STARTING, BUILDING = 10_000, 8, 30_000, 20_000, 4_000
ITER = "wait::DataLoader (iter)"
LOADER = {"dataset": "Tiles", "num_workers": 1, "batch_size": 4, "persistent_workers": False, "iterated": 4}


def epochs(count: int = 4, *, recorded: bool = True, between: int = 200, stray: bool = False) -> TraceBuilder:
    """Each makes its worker anew in 30 ms, and has steps of 10 ms, of which 1 ms is data wait."""
    builder, at = TraceBuilder().annotated(loaders=[LOADER], host={"cores": 8}), 0
    for epoch in range(count):
        builder.epoch, builder.pids[0] = epoch, 100 + epoch
        begin = at
        if recorded:
            builder.wait(at, MAKING, ITER)
        at += MAKING + between
        builder.worker(0, started=at + STARTING - 100, pid=100 + epoch)
        for number in range(STEPS):
            wait = STARTING + BUILDING if not number else 1_000
            built = at + wait - 200
            builder.batch(number, 0, at - 100, built - BUILDING, built, at + wait - 50).wait(at, wait)
            builder.step(begin, at + wait + STEP - 1_000 - begin)
            begin = at = at + wait + STEP - 1_000
    if stray:  # an iterator that another thread takes the batches of, or nobody
        builder.wait(at - 500, 300, ITER)
    return builder


def test_it_is_data_wait_of_the_epochs_start() -> None:
    capture = capture_of(epochs())
    loader = capture.loader
    assert loader.has_iter and loader.wait_source == "DataLoader"
    assert loader.wait_us == 4 * (MAKING + STARTING + BUILDING + (STEPS - 1) * 1_000)
    assert loader.first_batch_wait_us == 4 * (MAKING + STARTING + BUILDING)
    assert loader.apart.starts_us == loader.first_batch_wait_us
    assert loader.wait_by_stage_us["startup"] >= 4 * MAKING


def test_it_is_no_wait_for_a_batch() -> None:
    loader = capture_of(epochs()).loader
    assert (loader.wait_count, loader.wait_p50_us, loader.wait_max_us) == (4 * STEPS, 1_000, STARTING + BUILDING)


def test_workers_that_live_on_save_it() -> None:
    """In an older capture it is the training step's, and the finding says that it is in no bound."""
    found, older = (finding_in(epochs(recorded=known), "slow_first_batch") for known in (True, False))
    assert found.gain_us_per_step - older.gain_us_per_step == pytest.approx(MAKING / STEPS, rel=0.05)
    assert not any("iter(loader)" in text for text in evidence_of(found))
    assert any("in iter(loader), which is not recorded" in text for text in evidence_of(older))


def test_the_terminal_says_whether_it_is_in_the_first_batch() -> None:
    for recorded, words in ((True, "includes iter(loader)"), (False, "without iter(loader)")):
        text = as_text(as_report([capture_of(epochs(recorded=recorded))]))
        assert words in text


def test_what_lies_between_it_and_the_first_wait_is_none() -> None:
    """The program's own code, such as `model.train()`."""
    near, far = (capture_of(epochs(between=between)).loader for between in (200, 20_000))
    assert near.wait_us == far.wait_us and near.first_batch_wait_us == far.first_batch_wait_us


def test_an_iterator_that_nobody_takes_from_is_no_start() -> None:
    with_it, without = signals_of(epochs(stray=True)), signals_of(epochs())
    assert with_it.apart and without.apart and with_it.apart.starts and without.apart.starts
    assert with_it.apart.starts.epochs == without.apart.starts.epochs
