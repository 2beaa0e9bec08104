"""A few calls with most of a stage's time: the first of their processes, or calls for some samples."""

from __future__ import annotations

import pytest

from tb_dataplugin.options import StepRange
from tb_dataplugin.report.report_pb2 import Finding
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

BLUR = "transform::Blur"
QUICK, SLOW = 5.0, 800.0
ROUND = 1000.0


Frame = tuple[str, str, int]
INSIDE: tuple[Frame, ...] = (
    ("fetch", "/lib/site-packages/torch/utils/data/fetch.py", 54),
    ("timed.<locals>.timed", "/annotate/hooks/stand_ins.py", 106),
)
USUAL, WAITS, REST = (("Blur.__call__", "/home/me/train.py", line) for line in (16, 17, 18))
EVERY = 5
"""Between two samples of stacks."""


def loop(
    slow: dict[int, int], *, first: int = 0, rounds: int = 6, quick: float = QUICK, long: float = SLOW
) -> TraceBuilder:
    """Two DataLoader workers build two batches of four samples a round. `slow`: by batch, its sample that is `long`."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 4}]).worker(0).worker(1)
    for number in range(2 * rounds):
        worker, at = number % 2, ROUND * (number // 2)
        waited = 60.0 if number not in slow else 850.0 if worker == 0 else 10.0
        began = at + (900 if number in slow else 500) * worker
        builder.step(began, at + ROUND - began if worker else 900 if number in slow else 500)
        builder.wait(began, waited, "wait::DataLoader")
        begin = at
        for sample in range(4):
            took = long if slow.get(number) == sample else quick
            builder.stage(BLUR, begin + 1, took, tid=100 + worker)
            builder.events[-1] |= {"pid": 100 + worker}
            builder.events[-1]["args"] = {"batch": first + number, "index": 4 * number + sample, "epoch": 0}
            begin += took + 5
        builder.batch(first + number, worker, at, at, begin + 1, began + waited - 1)
    return builder


def said_of(builder: TraceBuilder, steps: StepRange | None = None) -> Finding:
    found = capture_of(builder, steps).findings
    return next(each for each in found if each.rule == "leading_stage")


def test_the_first_call_of_each_worker_may_import() -> None:
    said = said_of(loop({0: 0, 1: 0}))
    assert said.title.startswith("A few calls of transform::Blur took up to 800 µs")
    assert "first call" in said.advice and "capture more steps" in said.advice
    assert said.severity == "low" and not said.HasField("gain_us_per_step")


def test_of_chosen_steps_the_later_ones_show_what_remains() -> None:
    said = said_of(loop({0: 0, 1: 0}), StepRange(1, 6))
    assert "first call" in said.advice and "choose later steps" in said.advice and "capture more" not in said.advice


@pytest.mark.parametrize("steps", [None, StepRange(5, 12)])
def test_calls_after_others_of_their_process_are_no_first_calls(steps: StepRange | None) -> None:
    """Also where those before them are outside the chosen steps."""
    said = said_of(loop({4: 0, 5: 0}), steps)
    assert said.title.startswith("A few calls of transform::Blur took up to 800 µs")
    assert "first call" not in said.advice and "capture more" not in said.advice
    assert "Half of all calls take 5.00 µs or less" in said.advice
    assert said.severity == "high" and said.gain_us_per_step > 0


def test_workers_that_built_batches_before_the_capture_make_no_first_call_in_it() -> None:
    assert "first call" in said_of(loop({0: 0, 1: 0}, first=0)).advice
    assert "first call" not in said_of(loop({0: 0, 1: 0}, first=2)).advice


def sampled(builder: TraceBuilder, rounds: int = 6) -> TraceBuilder:
    """Stacks of both DataLoader workers: long calls are in two lines, 55 and 45% of each; the others in a third."""
    for pid in (100, 101):
        calls = [(one["ts"], one["dur"]) for one in builder.events if one["name"] == BLUR and one["pid"] == pid]
        times = [EVERY * number + 0.0 for number in range(int(rounds * ROUND / EVERY))]
        builder.stacks(times, [_stack(calls, time) for time in times], pid=pid, sources=SOURCES)
    return builder


SOURCES = {USUAL[1:]: "blur(image)", WAITS[1:]: "if again: time.sleep(0.4)", REST[1:]: "save(image)"}


def _stack(calls: list[tuple[float, float]], time: float) -> tuple[Frame, ...]:
    for begin, took in calls:
        if begin <= time < begin + took:
            line = USUAL if took < 100 else WAITS if time < begin + 0.55 * took else REST
            return (*INSIDE, line)
    return INSIDE[:1]


def test_the_line_is_that_of_the_few_calls_where_others_have_more_of_the_stage() -> None:
    """A stranger's usual calls slept in one line, and one in 300 for 0.8 s in the next: the first one was quoted."""
    said = said_of(sampled(loop({4: 0, 5: 0}, quick=25.0, long=700.0)))
    assert said.title.startswith("A few calls of transform::Blur")
    line = "`if again: time.sleep(0.4)` in Blur.__call__ at train.py:17"
    assert f"% of the self time of these calls is {line}, which sleeps" in said.advice
    (hot,) = (fact.text for fact in said.evidence if fact.kind == "hot_line")
    assert hot.startswith(line) and hot.endswith("% of the self time of these calls")
    assert "train.py:16" not in said.advice


def test_few_calls_in_which_too_few_stacks_were_sampled_have_no_line() -> None:
    builder = sampled(loop({4: 0, 5: 0}, quick=25.0, long=700.0))
    for thread in builder.top_level["dataPipeline"]["lines"]["threads"]:
        unread = slice(int(2 * ROUND / EVERY), int(3 * ROUND / EVERY))
        thread["stack"][unread] = [-1] * len(thread["stack"][unread])
    said = said_of(builder)
    assert said.title.startswith("A few calls of transform::Blur")
    assert said.advice.endswith("see for which samples a few take so much longer.")
    assert "hot_line" not in {fact.kind for fact in said.evidence}
