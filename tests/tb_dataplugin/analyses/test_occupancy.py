from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.model.thread_samples import SampledThread
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

RUNNING, BLOCKED = 0, 1


def seen(
    states: Sequence[int], delay_us: Sequence[int], cpu_us: Sequence[int], length: float = 25_000, cpu: float = 24
) -> Any:
    """What is said of a stage from 40 ms on, in a training thread that is sampled every 10 ms."""
    builder = TraceBuilder().annotated(
        loaders=[{"num_workers": 0}], training_thread={"cpu_us": sum(cpu_us), "run_delay_us": sum(delay_us)}
    )
    builder.step(0, 200_000).wait(40_000, length)
    builder.add("user_annotation", "transform::Slow", 40_000, length, cpu_us=cpu)
    builder.sampled([10_000.0 * number for number in range(len(states))], list(states))
    builder.top_level[METADATA_KEY]["thread_samples"]["threads"][0].update(delay_us=list(delay_us), cpu_us=list(cpu_us))
    return next(stage for stage in capture_of(builder).stages if stage.label == "Slow")


def test_a_call_that_waited_for_a_cpu_is_not_blocked_though_the_thread_is_elsewhere() -> None:
    """The wait is counted when it is over, from 41 ms to 65 ms: by then more than since the sample before."""
    states = [BLOCKED] * 5 + [RUNNING] * 2 + [BLOCKED] * 13
    delays = [0] * 7 + [24_000] + [0] * 12
    slow = seen(states, delays, [0] * 20)
    assert slow.limited_by == "no_cpu"
    assert slow.blocked_us == pytest.approx(0, abs=1000)


def test_a_call_is_blocked_where_its_thread_waited_for_no_cpu_though_it_did_elsewhere() -> None:
    states = [RUNNING] * 4 + [BLOCKED] * 3 + [RUNNING] * 13
    delays = [0] + [9_000] * 4 + [0] * 3 + [9_000] * 12
    slow = seen(states, delays, [0] * 20)
    assert slow.limited_by == "blocked"
    assert slow.blocked_us > 20_000


def test_samples_in_a_stage_say_for_how_much_of_it_the_thread_was_blocked() -> None:
    states = [RUNNING] * 4 + [BLOCKED, BLOCKED, BLOCKED, RUNNING] * 3 + [RUNNING] * 4
    delays, running = [0] + [2_000] * 19, [0] + [1_000] * 19
    slow = seen(states, delays, running, length=120_000, cpu=12_000)
    assert slow.blocked_us == pytest.approx(0.75 * 120_000, rel=0.1)
    assert slow.limited_by == "blocked" and slow.run_delay_us + slow.blocked_us + 12_000 == 120_000


def test_neither_is_known_where_the_time_around_a_short_call_had_both() -> None:
    slow = seen([RUNNING] * 20, [0] + [5_000] * 19, [0] * 20, length=2000)
    assert slow.limited_by == "" and not slow.HasField("run_delay_us") and not slow.HasField("blocked_us")
    assert "it was not" in slow.limited_by_text


def test_a_wait_that_is_counted_late_is_of_the_time_before() -> None:
    thread = SampledThread(
        pid=1,
        is_training=True,
        lock_known=True,
        time_ns=np.array([0, 10, 20, 30, 40], dtype=np.int64),
        state=np.zeros(5, dtype=np.int64),
        cpu_ns=np.array([0, 2, 0, 0, 4], dtype=np.int64),
        delay_ns=np.array([0, 0, 0, 24, 0], dtype=np.int64),
    )
    assert thread.blocked_between_ns.tolist() == [4, 0, 0, 6]
    assert thread.delay_between_ns.tolist() == [8, 10, 10, 0]
