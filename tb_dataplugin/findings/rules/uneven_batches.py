"""Not the loader: few steps take most of the time, because their batches are the largest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals, UnevenSignals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import data_size, duration, percent, plural

ADVICE: Final = (
    "Where collate pads to a batch's longest sample, put samples of like length into one batch, or cut the few that "
    "are much longer than the rest; batches of a fixed number of tokens, not of samples, are alike in size too."
)
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


@rule(title="Batches of very different sizes", about="host")
def check(signals: Signals) -> Finding | None:
    uneven = signals.uneven
    if uneven is None or (signals.share(uneven.excess_us) or 0.0) < INPUT_BOUND:
        return None
    saving = until_workers_limit(signals, uneven.excess_us)
    gain = signals.per_step(saving.us)
    several = f"The {uneven.largest} steps with the largest batches have"
    which = "The step with the largest batch has" if uneven.largest == 1 else several
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"{which} {percent(uneven.largest_us / uneven.own_us)} of the time of "
        f"{plural(uneven.steps, 'step')} outside the data wait",
        advice=ADVICE,
        evidence=(*_evidence(uneven), *_where(signals), *saving.why),
        gain_us_per_step=gain,
        code=CODE,
        confidence="likely",
        confidence_reason="Step times follow the sizes of batches; that the size is the reason is inferred. The bound "
        "is for batches that are all of the usual size.",
    )


def _evidence(uneven: UnevenSignals) -> Iterator[Evidence]:
    sizes = f"{data_size(uneven.largest_bytes)} there, {data_size(uneven.usual_bytes)} usually (median)"
    yield share("largest_batches", uneven.largest_us / uneven.own_us, "step", f"size of a batch: {sizes}")
    text = f"steps with more bytes take longer: {duration(uneven.excess_us)} for what is beyond the usual size"
    yield time("beyond_usual_size", uneven.excess_us, text)


def _where(signals: Signals) -> Iterator[Evidence]:
    """Which function makes the batches."""
    names = [row.stage.name for row in signals.stages if row.stage.kind == "collate"]
    for name in names[:1]:
        place = signals.stage_places.get(name)
        if place:
            yield Evidence("collate_at", f"{name} makes the batches ({place})", stage=name)
