"""What one marker costs, in microseconds and beside torch's plain ``record_function``; all taken in one run.

    python benchmarks/span_overhead.py [--calls 20000] [--check]

A wrapped call is timed with nothing recorded, and while torch's profiler records; the cost of the bare call is taken
off. `--check` exits with status 1 when a budget is exceeded.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile, record_function

import annotate
from annotate import _session, _spans
from annotate._timed import TimedCallable

REPEATS = 7

BUDGET_OFF = 0.10
"""A wrapper that does not record may cost this share of a plain record_function with the profiler off."""
BUDGET_ON = 0.50
"""A recording marker may cost this share of a recording record_function."""


def nothing() -> None:
    pass


def plain_record_function() -> None:
    with record_function("plain"):
        pass


class Transform:
    def __call__(self) -> None:
        pass


def cost_us(function: Callable[[], object], calls: int) -> float:
    """Median over the repeats of the time of one call."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter_ns()
        for _ in range(calls):
            function()
        times.append((time.perf_counter_ns() - begin) / calls / 1000)
    return median(times)


def subjects(transform: Transform) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What is measured: (with the marker, the same without)."""
    stage = annotate.stage("user", "bench")

    def with_stage() -> None:
        with stage:
            pass

    return {
        "transform (timed subclass)": (transform, Transform()),
        "function (proxy)": (TimedCallable(nothing, _spans.hand_out("transform", "nothing")), nothing),
        "@annotate.stage": (annotate.stage("user", "bench")(nothing), nothing),
        "with annotate.stage": (with_stage, nothing),
        "torch record_function": (plain_record_function, nothing),
    }


def measure(calls: int) -> tuple[str, dict[str, tuple[float, float]]]:
    """The marker in use, and for each subject microseconds off and recording."""
    transform = annotate.compose(Transform())
    marker = _spans.load_marker()
    session = _session.Session()
    session.begin()
    try:
        table = subjects(transform)
        off = {name: cost_us(timed, calls) - cost_us(bare, calls) for name, (timed, bare) in table.items()}
        on = {}
        for name, (timed, bare) in table.items():
            base = cost_us(bare, calls)
            with profile(activities=[ProfilerActivity.CPU]):  # a new one each, so that none pays for a full buffer
                _spans.set_recording(True)
                on[name] = cost_us(timed, calls // 4) - base
                _spans.set_recording(False)
    finally:
        session.end()
    return marker, {name: (off[name], on[name]) for name in table}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a budget is exceeded")
    options = parser.parse_args()
    marker, costs = measure(options.calls)
    plain_off, plain_on = costs["torch record_function"]
    print(f"torch {torch.__version__}, marker {marker}; us per call, and as a share of torch's record_function")
    print(f"{'':28}{'off':>9}{'share':>8}{'recording':>12}{'share':>8}")
    exceeded = False
    for name, (off, on) in costs.items():
        print(f"{name:28}{off:9.3f}{off / plain_off:8.2f}{on:12.3f}{on / plain_on:8.2f}")
        if name != "torch record_function":
            exceeded |= off / plain_off > BUDGET_OFF or on / plain_on > BUDGET_ON
    print(f"budget: {BUDGET_OFF} off, {BUDGET_ON} recording: {'exceeded' if exceeded else 'kept'}")
    return 1 if options.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
