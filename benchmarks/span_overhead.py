"""What one span in the training thread costs, all in, in CPU microseconds; everything taken in one run.

    python benchmarks/span_overhead.py [--calls 50] [--check]

A wrapped call is timed with nothing recorded, and in an open window: torch's profiler records, and so does our recorder
of CPU time and sizes. The cost of the bare call is taken off. "Above torch's own" is beside the cheapest marker that
this torch has; ``record_function``, which users write themselves, stands in the last row. `--check` exits with status 1
when a budget is exceeded.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile, record_function

import annotate
from annotate.capture.session import Session
from annotate.hooks.stand_ins import TimedCallable
from annotate.recording import switch
from annotate.recording.training_thread import Ledger

ROUNDS = 200

BUDGET_OFF = 0.10
"""A wrapper that does not record may cost this share of a plain record_function with the profiler off."""
BUDGET_ABOVE_US = 1.5
"""A recording span may cost so much above torch's own cheapest marker."""
OWN = "torch's cheapest marker"
PLAIN = "torch record_function"


def nothing() -> None:
    pass


def plain_record_function() -> None:
    with record_function("plain"):
        pass


class Transform:
    def __call__(self, value: int) -> int:
        return value


class Bare:
    def __call__(self, value: int) -> int:
        return value


class Numbers:
    def __getitem__(self, index: int) -> int:
        return index


class Store:
    def get(self) -> None:
        pass


class BareStore:
    def get(self) -> None:
        pass


def read_blob() -> None:
    pass


class BareNumbers:
    def __getitem__(self, index: int) -> int:
        return index


def costs_us(functions: dict[str, Callable[[], object]], calls: int) -> dict[str, float]:
    """CPU time of one call of each: the least over many rounds that take turns.

    Whatever else runs on the machine only adds to it, and the machine's own speed changes from second to second: each
    function has its turn in every round, so that all of them meet the same fastest moments.
    """
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, function in functions.items():
            begin = time.thread_time_ns()
            for _ in range(calls):
                function()
            least[name] = min(least[name], (time.thread_time_ns() - begin) / calls / 1000)
    return least


def subjects(transform: Transform, numbers: Numbers) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What is measured: (with the span, the same without)."""
    stage, bare, bare_numbers = annotate.stage("user", "bench"), Bare(), BareNumbers()
    store, bare_store = Store(), BareStore()
    proxy = TimedCallable(nothing, switch.hand_out("transform", "nothing"))

    def with_stage() -> None:
        with stage:
            pass

    def with_marker() -> None:
        with own_marker("own"):
            pass

    own_marker = switch.marker
    return {
        OWN: (with_marker, nothing),
        "transform": (lambda: transform(1), lambda: bare(1)),
        "sample": (lambda: numbers[1], lambda: bare_numbers[1]),
        "function (proxy)": (proxy, nothing),
        "library's function": (lambda: read_blob(), lambda: nothing()),
        "library's method": (lambda: store.get(), lambda: bare_store.get()),
        "@annotate.stage": (annotate.stage("user", "bench")(nothing), nothing),
        "with annotate.stage": (with_stage, nothing),
        PLAIN: (plain_record_function, nothing),
    }


def measure(calls: int) -> tuple[str, dict[str, tuple[float, float]]]:
    """The marker in use, and for each subject microseconds off and recording."""
    transform, numbers = annotate.compose(Transform()), annotate.dataset(Numbers())
    annotate.register_reader(read_blob)
    annotate.register_reader(Store.get)
    marker = switch.load_marker()
    session = Session()
    session.begin()
    ledger = Ledger()
    try:
        table = subjects(transform, numbers)
        timed = {name: pair[0] for name, pair in table.items()}
        bare = costs_us({name: pair[1] for name, pair in table.items()}, calls)
        off = costs_us(timed, calls)
        with profile(activities=[ProfilerActivity.CPU]):
            ledger.open()
            switch.set_recording(True)
            on = costs_us(timed, calls)
            switch.set_recording(False)
            ledger.close()
    finally:
        session.end()
    return marker, {name: (off[name] - bare[name], on[name] - bare[name]) for name in table}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a budget is exceeded")
    options = parser.parse_args()
    marker, costs = measure(options.calls)
    plain_off, own_on = costs[PLAIN][0], costs[OWN][1]
    print(f"torch {torch.__version__}, marker {marker}; CPU us per call")
    print(f"{'':28}{'off':>9}{'recording':>12}{'above torch':>14}")
    exceeded = False
    for name, (off, on) in costs.items():
        above = "" if name in (OWN, PLAIN) else f"{on - own_on:14.3f}"
        print(f"{name:28}{off:9.3f}{on:12.3f}{above}")
        if above:
            exceeded |= off / plain_off > BUDGET_OFF or on - own_on > BUDGET_ABOVE_US
    print(
        f"budget: {BUDGET_OFF} of record_function when off, {BUDGET_ABOVE_US} us above torch's own when recording: "
        f"{'exceeded' if exceeded else 'kept'}"
    )
    return 1 if options.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
