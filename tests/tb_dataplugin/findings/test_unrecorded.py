"""Data wait that a capture does not show, since torch's profiler makes the rest of its steps longer."""

from __future__ import annotations

import pytest

from tb_dataplugin.report.report_pb2 import Capture, Evidence
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

BUILD, STEPS, OPERATORS = 10_000.0, 20, 200
WITHOUT = "ithout torch's profiler"


def recorded(own: float, profiler: float = 4000, **settings: object) -> TraceBuilder:
    """One DataLoader worker takes 10 ms for a batch, the rest of a step `own` us, `profiler` of that for operators."""
    loader = {"name": "DataLoader", "num_workers": 1, "prefetch_factor": 2, "batch_size": 4, **settings}
    builder = TraceBuilder().annotated(loaders=[loader], overhead={"operator_us": profiler / OPERATORS / 2}).worker(0)
    drawn, free, asked = [0.0, 0.0], 0.0, BUILD
    for number in range(STEPS):
        begun = max(free, drawn[number])
        free = begun + BUILD
        got = max(asked, free) + 200
        builder.batch(number, 0, drawn[number], begun, free, got - 10, {"sample::Pets": (begun + 10, BUILD - 20)})
        builder.moments(serialise_us=free, serialised_us=free + 20, deserialise_us=got - 100, arrived_us=got - 20)
        builder.add("user_annotation", "wait::DataLoader", asked, got - asked, cpu_us=100.0)
        builder.step(asked, got + own - asked)
        for place in range(OPERATORS):
            builder.operator(got + 10 + place * (own - 20) / OPERATORS, 1, "aten::mul")
        drawn.append(got)
        asked = got + own
    return builder


def said(capture: Capture) -> list[Evidence]:
    return [fact for fact in capture.verdict.evidence if WITHOUT in fact.text]


def test_what_the_data_wait_would_be_stands_below_the_verdict() -> None:
    """Of a step of 10 ms the rest takes 8 with the profiler, and 4 without it."""
    capture = capture_of(recorded(own=8000))
    (fact,) = said(capture)
    assert fact.value == pytest.approx(0.6, abs=0.02)
    assert (
        "the data wait would be about 59.5% of a step (estimated)" in fact.text
        and "the rest of a step about 4.00 ms longer" in fact.text
    )


def test_gains_say_how_much_more_there_is_as_large_a_part_as_they_have_of_the_data_wait() -> None:
    """Up to 6.2 of these 8 ms may be the profiler's, 4 are likely: it is a bound."""
    capture = capture_of(recorded(own=8000))
    more = {
        finding.gain_us_per_step: fact.value
        for finding in capture.findings
        for fact in finding.evidence
        if fact.kind == "gain_bound_without_profiler"
    }
    wait = capture.loader.wait_us / STEPS
    assert more
    for gain, value in more.items():
        assert value == pytest.approx(6200 * min(1, gain / wait), rel=0.15)


def test_a_loader_that_is_in_time_only_while_it_is_recorded_is_not_acquitted() -> None:
    capture = capture_of(recorded(own=12_000, profiler=6000))
    assert "while torch's profiler records, batches come in time" in capture.verdict.sentence
    assert "not the bottleneck" not in capture.verdict.sentence
    assert said(capture)[0].value == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("own", [25_000, 8000])
def test_where_it_makes_no_difference_nothing_is_said(own: float) -> None:
    """A step that is much longer than building, with and without it; a profiler that takes little."""
    capture = capture_of(recorded(own=own, profiler=4000 if own > BUILD else 400))
    assert not said(capture)
    assert not any(WITHOUT in fact.text for finding in capture.findings for fact in finding.evidence)


def test_of_a_loop_without_workers_nothing_is_said() -> None:
    assert not said(capture_of(recorded(own=8000, num_workers=0)))
