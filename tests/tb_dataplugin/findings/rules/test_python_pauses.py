from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import capture_of, finding_in, finding_of, launching
from tests.trace_builder import TraceBuilder


def test_long_pauses_in_python_are_told_apart_from_short_ones() -> None:
    builder = TraceBuilder().step(0, 10_000).wait(0, 1).operator(1, 1)
    builder.call("cudaLaunchKernel", 5000, 0, 7).kernel(5000, 5000, correlation=7)
    assert finding_in(builder, "python_pauses").gain_us_per_step == pytest.approx(4998)
    assert finding_of(launching(), "python_pauses") is None


MAIN, LOADS, LOGS = (
    ("<module>", "/home/me/train.py", 90),
    ("load", "/home/me/train.py", 5),
    ("log", "/home/me/m.py", 8),
)


def paused(first_ms: int, source: str = "", every_ms: int = 1) -> TraceBuilder:
    """Six steps with 80 ms of logging each, in the first one `first_ms` of loading instead; 20 ms of device work."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}])
    now, times, stacks = 0, [], []
    for number in range(6):
        pause = 80 if number else first_ms
        builder.step(1000 * now, 1000 * (pause + 20)).wait(1000 * now, 1)
        builder.call("cudaLaunchKernel", 1000 * (now + pause), 1, number)
        builder.kernel(1000 * (now + pause), 20_000, correlation=number)
        times += [1000.0 * (now + ms) + 500 for ms in range(0, pause, every_ms)]
        stacks += [(MAIN, LOGS if number else LOADS)] * len(range(0, pause, every_ms))
        now += pause + 20
    return builder.stacks(times, stacks, sources={(LOGS[1], LOGS[2]): source})


def taking(line: str, *, first_operator_ms: int) -> TraceBuilder:
    """Ten steps of a pause of 40 ms at `line` behind a wait too short for a sample, and 20 ms of device work."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}])
    times = []
    for number in range(10):
        begin = 60_000 * number
        builder.step(begin, 60_000).wait(begin, 1).operator(begin + 1000 * first_operator_ms, 1)
        builder.call("cudaLaunchKernel", begin + 40_000, 1, number)
        builder.kernel(begin + 40_000, 20_000, correlation=number)
        times += [begin + 1000.0 * ms + 500 for ms in range(1, 39)]
    return builder.stacks(times, [(MAIN,)] * len(times), sources={(MAIN[1], MAIN[2]): line})


def test_who_knows_the_line_is_not_told_to_mark_it() -> None:
    known, unknown = finding_in(paused(80), "python_pauses"), TraceBuilder().step(0, 10_000).wait(0, 1).operator(1, 1)
    unknown.call("cudaLaunchKernel", 5000, 0, 7).kernel(5000, 5000, correlation=7)
    assert "annotate.stage" not in known.advice + known.code
    assert "annotate.stage" in finding_in(unknown, "python_pauses").advice


def test_a_line_that_is_hot_in_one_step_only_is_no_evidence() -> None:
    for first_ms in (80, 500):
        lines = [one.text for one in finding_in(paused(first_ms), "python_pauses").evidence if one.kind == "hot_line"]
        assert len(lines) == 1 and "m.py:8" in lines[0]


def test_the_users_own_collecting_of_garbage_is_to_be_removed() -> None:
    said = finding_in(paused(80, "gc.collect()"), "python_pauses")
    assert said.advice.startswith("Remove the call") and "another thread" not in said.advice
    assert "another thread" in finding_in(paused(80, "log.collect()"), "python_pauses").advice


def test_a_pause_right_behind_the_wait_at_the_line_that_takes_batches_is_the_freeing_of_the_one_before() -> None:
    line = "for batch in loader:"
    said = finding_in(taking(line, first_operator_ms=40), "python_pauses")
    assert "Python frees the one before" in said.advice and "annotate.stage" not in said.code
    assert any(line in one.text for one in said.evidence)
    assert "frees" not in finding_in(taking(line, first_operator_ms=1), "python_pauses").advice
    assert "frees" not in finding_in(taking("rows = list(table)", first_operator_ms=40), "python_pauses").advice


def test_few_samples_that_agree_name_the_line_here_as_in_the_verdict() -> None:
    few = paused(80, every_ms=20)
    assert "m.py:8" in finding_in(few, "python_pauses").evidence[-1].text


def test_pinning_that_also_frees_is_sold_once() -> None:
    """31 of 60 ms are freeing, and 9 a copy from pageable memory: the thread that pins needs 40 for each batch."""
    builder = taking("for batch in loader:", first_operator_ms=40)
    for number in range(10):
        begin = 60_000 * number
        builder.call("cudaMemcpyAsync", begin + 30_000, 9000, 100 + number).memcpy(
            begin + 30_000, 9000, correlation=100 + number
        )
    (freed,) = (one for one in finding_in(builder, "python_pauses").evidence if one.kind == "pinning_thread")
    assert freed.value == pytest.approx(40_000, rel=0.05)
    assert "1st and 2nd finding save the same time, by pin_memory=True: together at most 31" in (
        capture_of(builder).gains_sentence
    )
