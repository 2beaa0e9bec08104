"""Not the loader: few steps take most of the time, because their batches are the largest.

To group samples by length saves padding and nothing else. Where samples that share a batch are alike already, or
batches have hardly more bytes than their samples, there is no finding. Where neither is known and the program has a
sampler of its own, which may group them, no bound is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.findings.uneven_signals import UnevenSignals
from tb_dataplugin.units import data_size, duration, percent, plural

ADVICE: Final = (
    "Where collate pads to a batch's longest sample, put samples of like length into one batch, or cut the few that "
    "are much longer than the rest; batches of a fixed number of tokens, not of samples, are alike in size too."
)
OWN_SAMPLER: Final = (
    "{sampler} chooses the samples of a batch. If it puts samples of like length together, little padding is left to "
    "save: batches of a fixed number of tokens would make steps alike in length, but not shorter in total. If it "
    "does not, and batches are padded to their longest sample, let it sort by length within a few hundred batches."
)
OF_TORCH: Final = frozenset(
    (
        "BatchSampler",
        "DistributedSampler",
        "RandomSampler",
        "SequentialSampler",
        "SubsetRandomSampler",
        "WeightedRandomSampler",
    )
)
"""Samplers that do not look at lengths."""

PASSES_ON: Final = "default_convert"
"""Torch's collate function for batches that the dataset makes."""

CODE: Final = """\
class LengthGrouped:  # a batch sampler; lengths: one number for each sample
    def __init__(self, lengths, size):
        self.lengths, self.size = lengths, size
    def __len__(self):
        return -(-len(self.lengths) // self.size)
    def __iter__(self):
        count, size, step = len(self.lengths), self.size, 100 * self.size
        order = random.sample(range(count), count)
        parts = [sorted(order[at : at + step], key=self.lengths.__getitem__) for at in range(0, count, step)]
        batches = [part[at : at + size] for part in parts for at in range(0, len(part), size)]
        yield from random.sample(batches, len(batches))

DataLoader(dataset, batch_sampler=LengthGrouped(lengths, size))"""
ITERABLE: Final = (
    " An iterable dataset draws no indices: sort a buffer of samples by length in its own __iter__, and hand out its "
    "batches in random order."
)
ITERABLE_CODE: Final = """\
def length_grouped(samples, size, length=len):  # in __iter__: yield from length_grouped(samples, batch_size)
    samples = iter(samples)
    while part := sorted(itertools.islice(samples, 100 * size), key=length):
        batches = [part[at : at + size] for at in range(0, len(part), size)]
        for batch in random.sample(batches, len(batches)):
            yield from batch"""


@rule(title="Batches of very different sizes", about="host")
def check(signals: Signals) -> Finding | None:
    uneven = signals.uneven
    if uneven is None or uneven.is_grouped:
        return None
    most_us = uneven.excess_us if uneven.padding_us is None else min(uneven.excess_us, uneven.padding_us)
    if (signals.share(most_us) or 0.0) < INPUT_BOUND:
        return None
    sampler = _own_sampler(signals) if uneven.padding_us is None else ""
    saving = until_workers_limit(signals, most_us)
    gain = None if sampler else signals.per_step(saving.us)
    is_iterable = bool(signals.loader and signals.loader.iterable)
    return Finding(
        severity="low" if sampler else severity(signals, gain, otherwise_us=saving.us),
        title=_title(uneven),
        advice=OWN_SAMPLER.format(sampler=sampler) if sampler else ADVICE + (ITERABLE if is_iterable else ""),
        evidence=(*_evidence(uneven), *_where(signals), *(() if sampler else saving.why)),
        gain_us_per_step=gain,
        code="" if sampler else ITERABLE_CODE if is_iterable else CODE,
        confidence="possible" if sampler else "likely",
        confidence_reason=_reason(uneven, sampler),
    )


def _title(uneven: UnevenSignals) -> str:
    several = f"The {uneven.largest} steps with the largest batches have"
    which = "The step with the largest batch has" if uneven.largest == 1 else several
    steps = plural(uneven.steps, "step")
    return f"{which} {percent(uneven.largest_us / uneven.own_us)} of the time of {steps} outside the data wait"


def _own_sampler(signals: Signals) -> str:
    """The class of a sampler, or of a dataset that makes the batches itself, that may look at lengths; "" where none
    does.
    """
    if signals.loader is not None and _makes_batches(signals):
        return signals.loader.dataset or "The dataset"
    names = [row.stage.name for row in signals.stages if row.stage.kind == "sampler"]
    return next((name for name in names if name.rpartition("::")[2] not in OF_TORCH), "")


def _makes_batches(signals: Signals) -> bool:
    """With ``batch_size=None`` torch's own function only turns what the dataset gives into tensors."""
    return any(row.stage.kind == "collate" and row.stage.label == PASSES_ON for row in signals.stages)


def _reason(uneven: UnevenSignals, sampler: str) -> str:
    inferred = "Step times follow the sizes of batches; that the size is the reason is inferred."
    if sampler:
        return f"{inferred} How much of a batch is padding was not recorded."
    if uneven.padding_us is None:
        return f"{inferred} The bound is for batches that are all of the usual size."
    return f"{inferred} The bound is for batches that are all of the usual size, and no more than their padding."


def _evidence(uneven: UnevenSignals) -> Iterator[Evidence]:
    sizes = f"{data_size(uneven.largest_bytes)} there, {data_size(uneven.usual_bytes)} usually (median)"
    yield share("largest_batches", uneven.largest_us / uneven.own_us, "step", f"size of a batch: {sizes}")
    text = f"steps with more bytes take longer: {duration(uneven.excess_us)} for what is beyond the usual size"
    yield time("beyond_usual_size", uneven.excess_us, text)
    if uneven.padding_us is not None:
        text = f"bytes of batches beyond those of their samples (padding): {duration(uneven.padding_us)} at that rate"
        yield time("padding", uneven.padding_us, text)


def _where(signals: Signals) -> Iterator[Evidence]:
    """Which function makes the batches."""
    made = (row.stage for row in signals.stages if row.stage.kind == "collate" and row.stage.label != PASSES_ON)
    names = [stage.name for stage in made]
    for name in names[:1]:
        place = signals.stage_places.get(name)
        if place:
            yield Evidence("collate_at", f"{name} makes the batches ({place})", stage=name)
