"""What one side's window has by chance is left out of both, and said."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare import compare
from tests.tb_dataplugin.analyses.test_apart import epochs, with_evaluation
from tests.tb_dataplugin.analyses.test_collector import two_loaders
from tests.tb_dataplugin.findings.cases import capture_of


def test_an_epochs_start_makes_no_run_slower() -> None:
    """Both take 11 ms per step of 2 samples; one has starts of 400 ms, in steps that are left as long as others."""
    ordinary, started = capture_of(epochs(first=1_000)), capture_of(epochs())
    found = compare([ordinary], [started])
    assert found.time.after_us == pytest.approx(found.time.before_us, rel=0.1)
    assert found.outcome not in ("faster", "slower")
    (note,) = [fact.text for fact in found.evidence if fact.kind == "left_out"]
    assert note == "left out of all times: starts of epochs, 802 ms of the windows after"
    assert not any(note.code == "told_apart" for note in found.diagnostics)


def test_nor_does_an_evaluation_and_its_waits_are_no_stages() -> None:
    often, never = capture_of(with_evaluation()), capture_of(with_evaluation(every=1_000))
    found = compare([never], [often])
    wait = next(part for part in found.parts if part.name == "data_wait")
    assert wait.after_us == pytest.approx(wait.before_us)
    stage = next(part for part in found.parts if part.name == "data_wait:sample::Clicks")
    assert stage.after_us == pytest.approx(stage.before_us)
    assert not any(note.code == "told_apart" for note in compare([never], [never]).diagnostics)


def test_nor_does_a_pause_for_the_garbage_collector() -> None:
    paused, after_it = capture_of(two_loaders()), capture_of(two_loaders(collected=1_000_000))
    found = compare([paused], [after_it])
    (note,) = [fact.text for fact in found.evidence if fact.kind == "left_out"]
    assert note == "left out of all times: garbage collection, 100 ms of the windows before"
