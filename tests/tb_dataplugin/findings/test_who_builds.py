"""Advice speaks of the DataLoader workers of a loader only where it has some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.findings.calls import AllCalls
from tb_dataplugin.findings.decoder_advice import decoder_advice
from tb_dataplugin.findings.few_calls import few_calls_advice
from tb_dataplugin.findings.reader_advice import read_advice, read_code
from tb_dataplugin.findings.rules.repeated_work import _advice
from tb_dataplugin.findings.sample_signals import SlowSampleSignal
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.who_builds import around_advice, once, sampler_advice
from tests.tb_dataplugin.findings.cases import input_bound, signals_of

FROMFILE, LMDB, BLUR = Stage("read", "numpy.fromfile"), Stage("read", "lmdb.get"), Stage("transform", "Blur")
SHARED = tuple(SlowSampleSignal(number, 1.0, "read::file", 1.0, ("/d/all.bin",)) for number in range(3))
FIRST = AllCalls(4, 1000.0, 5.0, 800.0, None)


def with_workers(workers: int) -> Signals:
    signals = signals_of(input_bound())
    assert signals.loader is not None
    loader = replace(signals.loader, num_workers=workers)
    return replace(signals, loader=loader, slow_samples=SHARED)


@pytest.mark.parametrize(
    ("advice", "some", "none"),
    [
        (
            lambda signals: read_advice(signals, FROMFILE),
            "open it once per DataLoader worker, not",
            "open it once, not",
        ),
        (lambda signals: read_code(signals, FROMFILE), "# once per DataLoader worker;", "# once;"),
        (
            lambda signals: read_advice(signals, LMDB),
            "one read transaction per DataLoader worker (",
            "transaction (env",
        ),
        (lambda signals: decoder_advice("h5py", once(signals)), "once per DataLoader worker, not", "samples once, not"),
        (lambda signals: few_calls_advice(signals, BLUR, FIRST), "keep them (pers", "cache. Make that call once"),
        (lambda signals: _advice(signals, "load"), "in the worker's first sample", "or in the first sample"),
        (sampler_advice, "so more DataLoader workers do not help", "so DataLoader workers do not help"),
        (around_advice, "Let the workers do it", "and would with DataLoader workers, too"),
    ],
)
def test_workers_are_spoken_of_where_there_are_some(advice: Callable[[Signals], str], some: str, none: str) -> None:
    assert some in advice(with_workers(2)) and none not in advice(with_workers(2))
    assert none in advice(with_workers(0)) and some not in advice(with_workers(0))
