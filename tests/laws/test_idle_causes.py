"""Causes of idle time against a slow, obvious oracle that decides microsecond by microsecond."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse
from tests.trace_builder import WAIT, TraceBuilder

END = 160
MAIN, BACKWARD = 1, 2
HTOD, DTOH = "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)"
SYNCHRONISE, COLLECTIVE, HOST_COLLECTIVE = "cudaStreamSynchronize", "nccl:all_reduce", "gloo:all_reduce"

time = st.integers(0, END)
length = st.integers(0, 30)
thread = st.sampled_from([MAIN, BACKWARD])


@st.composite
def traces(draw: st.DrawFn) -> TraceBuilder:
    """Two threads that do what they like, launch kernels and copies, and a device that starts these later."""
    builder = TraceBuilder().step(0, 80).step(80, END - 80)
    for slot in range(0, END, 40):  # waits of one thread never overlap
        if draw(st.booleans()):
            builder.wait(slot + draw(st.integers(0, 10)), draw(length))
    for _ in range(draw(st.integers(0, 2))):
        builder.stage("h2d::batch", draw(time), draw(length), tid=draw(thread))
    for _ in range(draw(st.integers(0, 3))):
        builder.operator(draw(time), draw(length), tid=draw(thread))
    for _ in range(draw(st.integers(0, 2))):
        builder.call(SYNCHRONISE, draw(time), draw(length), tid=draw(thread))
    for name in draw(st.lists(st.sampled_from([COLLECTIVE, HOST_COLLECTIVE]), max_size=2)):
        builder.stage(name, draw(time), draw(length), tid=draw(thread))
    for correlation in range(100, 100 + draw(st.integers(0, 5))):
        launched, started = draw(time), draw(time)
        copy = draw(st.sampled_from(["", "", HTOD, DTOH]))
        if draw(st.integers(0, 4)):
            name = "cudaMemcpyAsync" if copy else "cudaLaunchKernel"
            builder.call(name, launched, draw(length), correlation, tid=draw(thread))
        if copy:
            builder.memcpy(max(launched, started), draw(length), name=copy, correlation=correlation)
        else:
            builder.kernel(
                max(launched, started), draw(length), stream=draw(st.integers(7, 8)), correlation=correlation
            )
    return builder


class Oracle:
    """The definition, word by word, over single microseconds."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.events = [(e["cat"], e["name"], e["tid"], e["ts"], e["ts"] + e["dur"], e["args"]) for e in builder.events]
        self.device = [e for e in self.events if e[0] in ("kernel", "gpu_memcpy") and e[4] > e[3]]
        self.calls = {e[5]["correlation"]: e for e in self.events if e[0] == "cuda_runtime"}
        copies = [e[5]["correlation"] for e in self.events if e[0] == "gpu_memcpy"]
        self.has_linked_copies = any(correlation in self.calls for correlation in copies)

    def idle(self) -> list[int]:
        return [t for t in range(END) if not any(start <= t < end for _, _, _, start, end, _ in self.device)]

    def cause(self, t: int) -> str:
        ending = self._ending(t)
        launch = self.calls.get(ending[5]["correlation"]) if ending else None
        if launch and t >= launch[3]:
            return "h2d" if ending and ending[1] == HTOD and t < launch[4] else "launch"
        thread = launch[2] if launch else MAIN
        return self._doing(thread, t) or self._doing(MAIN, t) or self._host(thread, t)

    def _ending(self, t: int) -> Any:
        """The activity that ends the gap which `t` lies in: the next to start; of several the first launched."""
        later = [e for e in self.device if e[3] > t]

        def launched(e: Any) -> Any:
            call = self.calls.get(e[5]["correlation"])
            return call[3] if call else END + 1, e[5]["correlation"]

        return min(later, key=lambda e: (e[3], launched(e)), default=None)

    def _doing(self, thread: int, t: int) -> str:
        inside = [
            e for e in self.events if e[2] == thread and e[3] <= t < e[4] and e[0] not in ("kernel", "gpu_memcpy")
        ]
        names = {e[1] for e in inside}
        copies = {self._copied_by(e) for e in inside if e[1] == "cudaMemcpyAsync"}
        if thread == MAIN and WAIT in names:
            return "data_wait"
        if "cudaMemcpyAsync" in names and not self.has_linked_copies:
            return "unknown"
        if "h2d::batch" in names or HTOD in copies:
            return "h2d"
        if not self.calls:
            return ""
        blocked = SYNCHRONISE in names or DTOH in copies
        if (blocked and COLLECTIVE in names) or HOST_COLLECTIVE in names:
            return "comm"
        if blocked:
            return "sync"
        return "launch" if any(e[0] in ("cpu_op", "cuda_runtime") for e in inside) else ""

    def _copied_by(self, call: Any) -> str:
        """What the call copied; "" for a copy to the host that the call did not wait for."""
        copy = next(
            (e for e in self.events if e[0] == "gpu_memcpy" and e[5]["correlation"] == call[5]["correlation"]), None
        )
        if copy is None or (copy[1] == DTOH and copy[4] > call[4]):
            return ""
        return str(copy[1])

    def _host(self, thread: int, t: int) -> str:
        for one in (thread, MAIN) if self.calls else ():
            spans = [e for e in self.events if e[2] == one and e[0] in ("cpu_op", "user_annotation")]
            if spans and min(e[3] for e in spans) <= t < max(e[4] for e in spans):
                return "host"
        return "unknown"


@given(traces())
@settings(deadline=None, max_examples=300)
def test_every_idle_microsecond_has_the_cause_that_the_definition_gives_it(builder: TraceBuilder) -> None:
    found = as_dict(analyse(builder.trace()).capture)
    if not found["devices"]:
        return
    device, oracle = found["devices"][0], Oracle(builder)
    expected: dict[str, int] = {}
    for t in oracle.idle():
        cause = oracle.cause(t)
        expected[cause] = expected.get(cause, 0) + 1
    assert {cause: us for cause, us in device["idle_by_cause_us"].items() if us} == expected
    for gap in device["gaps"]:
        assert sum(gap["idle_by_cause_us"].values()) == pytest.approx(gap["duration_us"])
        assert gap["idle_by_cause_us"][gap["cause"]] == max(gap["idle_by_cause_us"].values())
    for step in found["steps"]["items"]:
        assert step["device_busy_us"] + sum(step["idle_by_cause_us"].values()) == pytest.approx(step["duration_us"])
    if "loader" in found:
        assert device["idle_by_cause_us"]["data_wait"] <= found["loader"]["exposed_wait_us"]


@given(traces(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_causes_do_not_depend_on_the_order_of_events_in_the_file(builder: TraceBuilder, random: Any) -> None:
    before = as_dict(analyse(builder.trace()).capture)["devices"]
    random.shuffle(builder.events)
    after = as_dict(analyse(builder.trace()).capture)["devices"]
    assert [device["idle_by_cause_us"] for device in after] == [device["idle_by_cause_us"] for device in before]
