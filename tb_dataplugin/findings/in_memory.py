"""Datasets that hold all samples as tensors: a batch costs nothing but its indexing, if it is indexed as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.saving import OF_STEP, WORTH_SAYING, Saving, most_saved_us, saved_without
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls, batch_bytes
from tb_dataplugin.units import duration, listed
from tb_dataplugin.words import GAIN_BOUND

DATASETS: Final = frozenset(("TensorDataset",))
"""Torch's own; by the label of their samples."""

TORCHS: Final = "default_"
"""Begins the names of torch's own collate functions, which only put samples together."""

COPIED_BYTES_PER_S: Final = 1e9
"""Rows are copied at least as fast as this, into memory that is new."""

MOST_COPYING: Final = 0.5
"""Share of the data wait per batch, up to which copying its rows is little beside that."""

GO: Final = frozenset(("sample", "collate"))
"""Kinds of stages that are not called sample by sample then."""

AT_ONCE: Final = (
    "The samples are tensors in memory: take a whole batch of them at once, by a list of indices, instead of sample by "
    "sample."
)
NONE_LEFT: Final = " Nothing is left to collate then"
OWN_LEFT: Final = " Your collate function is then given such a batch, not a list of samples"
NO_WAY: Final = ", and DataLoader workers would only add the way of the batches."
WITHOUT_WORKERS: Final = (
    ". Set num_workers=0 with it: a DataLoader worker would still have to send each batch to the training process."
)

ALREADY: Final = (
    "Each call takes a whole batch already, from tensors in memory: what is left is to copy its rows, one operation "
    "per tensor. There is less to copy in fewer and smaller tensors, such as uint8 or float16 in place of float32."
)
"""Where that list of indices is what the sampler gives."""

ONLY_WAY: Final = (
    "Each call takes a whole batch already, from tensors in memory. Set num_workers=0: no batch then has to be sent to "
    "the training process, which only has to copy its rows."
)
"""The same where most is the way from DataLoader workers."""
ONLY_WAY_CODE: Final = "DataLoader(..., num_workers=0)  # without persistent_workers and prefetch_factor"


def is_in_memory(signals: Signals) -> bool:
    """Every sample of the capture is of such a dataset."""
    labels = {row.stage.label for row in signals.stages if row.stage.kind == "sample"}
    return bool(labels) and labels <= DATASETS


def takes_batches(signals: Signals) -> bool:
    """Of such a dataset, each call makes a whole batch already."""
    return is_in_memory(signals) and signals.item == "batch"


def takes_samples(signals: Signals) -> bool:
    """Of such a dataset, samples are taken one by one, and made a batch. Whoever is given single ones (batch_size=None
    with one index each) does not want batches.
    """
    is_whole = signals.loader is not None and signals.loader.is_whole
    return is_in_memory(signals) and not is_whole and _is_light(signals)


def needs_no_workers(signals: Signals) -> bool:
    """The training thread would copy the rows of a batch in less time than it waits for one."""
    return takes_samples(signals) or (takes_batches(signals) and _is_light(signals))


def _is_light(signals: Signals) -> bool:
    """False where DataLoader workers share so many bytes to copy that the training thread alone may take longer."""
    size = batch_bytes(signals.stages)
    if not signals.num_workers or size is None or not signals.wait_count or signals.wait_cost_us is None:
        return True
    return size / COPIED_BYTES_PER_S * 1e6 < MOST_COPYING * signals.wait_cost_us / signals.wait_count


def is_advised(signals: Signals) -> bool:
    """Something is said of the dataset's samples as tensors in memory."""
    return takes_samples(signals) or takes_batches(signals)


def advice_for(signals: Signals) -> str:
    """Where `is_advised`: to whoever reads about samples."""
    if takes_batches(signals):
        return ALREADY
    left = OWN_LEFT if _has_own_collate(signals) else NONE_LEFT
    return f"{AT_ONCE}{left}{WITHOUT_WORKERS if signals.num_workers else NO_WAY}"


def code_for(signals: Signals) -> str:
    """With the loader's own settings. Only a RandomSampler is certainly the one that draws the batches: a DataLoader
    with a batch_sampler has a SequentialSampler beside it, too.
    """
    loader = signals.loader
    if takes_batches(signals):
        return ""
    pin = ", pin_memory=True" if loader is not None and loader.pin_memory else ""
    pin = f"{pin}, collate_fn=..." if _has_own_collate(signals) else pin
    is_known = loader is not None and loader.batch_size is not None and loader.drop_last is not None
    if loader is not None and is_known and loader.sampler == "RandomSampler" and loader.replacement is False:
        sampler = f"BatchSampler(RandomSampler(dataset), {loader.batch_size}, drop_last={loader.drop_last})"
        return f"DataLoader(dataset, batch_size=None, num_workers=0{pin},\n           sampler={sampler})"
    return (
        "loader = DataLoader(...)  # as it is now\n"
        f"loader = DataLoader(dataset, batch_size=None, num_workers=0{pin},\n"
        "                    sampler=loader.batch_sampler)  # draws as it does"
    )


def saved_at_once(signals: Signals, rows: list[StageCalls], least_us: float) -> Saving:
    """By that advice, at most. `rows`: of the stage that it is given for; `least_us`: what they cost."""
    if takes_batches(signals):
        return saved_without(signals, rows, least_us)
    if signals.builds_batches_in_workers:
        return saved_without_workers(signals)
    own = {row.stage.name for row in rows}
    beside = [row for row in signals.stages if row.stage.kind in GO and row.stage.name not in own]
    if _has_own_collate(signals) or not beside:
        return saved_without(signals, rows, least_us)
    us, names = signals.cost_of(beside), listed(list(dict.fromkeys(row.stage.name for row in beside)))
    saving = saved_without(signals, [*rows, *beside], least_us + us)
    text = f"{_each(signals, us)} of that is {names}, which goes as well"
    return replace(saving, why=(time(GAIN_BOUND, us, text), *saving.why))


def saved_without_workers(signals: Signals) -> Saving:
    """All of the data wait, whatever it is for, and what the step itself gets of the DataLoader workers' CPU time: how
    little is left, no capture of such workers shows.
    """
    wait_us = max(0.0, (signals.wait_cost_us or 0.0) - signals.drawn_us)
    of_step_us = max(0.0, most_saved_us(signals) - (signals.wait_cost_us or 0.0))
    of_step_us = of_step_us if of_step_us >= WORTH_SAYING * signals.loop_us else 0.0
    text = f"all of the {signals.asked_wait} ({_each(signals, wait_us)}) may go, but for copying the rows of a batch"
    if not of_step_us:
        return Saving(wait_us, (time(GAIN_BOUND, wait_us, text),))
    more = f"the step itself gets up to {_each(signals, of_step_us)} of CPU time back (estimated)"
    return Saving(wait_us + of_step_us, (time(OF_STEP, of_step_us, f"{text}, and {more}"),), of_step_us)


def _each(signals: Signals, us: float) -> str:
    each = signals.per_step(us)
    return duration(us) if each is None else f"{duration(each)} per step"


def _has_own_collate(signals: Signals) -> bool:
    stages = (row.stage for row in signals.stages if row.stage.kind == "collate")
    return any(not stage.label.startswith(TORCHS) for stage in stages)
