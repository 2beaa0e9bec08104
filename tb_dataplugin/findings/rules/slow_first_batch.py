"""Each epoch begins with a long wait, because the workers are started anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.apart_signals import LoaderStarts, StartSignals
from tb_dataplugin.findings.epoch_gain import epoch_of, most_us, of_the_costliest, wait_of, waited_text
from tb_dataplugin.findings.epoch_length import EpochLength, steps_between
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.first_build import FirstBuild
from tb_dataplugin.findings.init_texts import init_advice, init_part
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.remade_facts import HELD, made_again
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import EPOCH_START, ONCE_PER_WORKER
from tb_dataplugin.findings.worker_copies import KEPT
from tb_dataplugin.units import duration, percent

LIVE_ON = (
    "Keep the workers alive between epochs: they also keep what they hold in memory, such as caches and open files. "
    "What that saves besides is unknown: for a dataset that keeps its samples it may be far more than the start."
)
APART: Final = (
    "First give the loop inside the other one a DataLoader of its own: this one began a new epoch while the loop still "
    "took batches of the one before (an evaluation of the same DataLoader?), and with persistent_workers=True both "
    "share one iterator, which starts anew for both. "
)
SUCH_AS: Final = "such as imports, or loading what all samples use (a vocabulary, an index)"
BUILT: Final = "The first batch still has to be built: what batches typically take is not counted."
ONCE: Final = "Make the DataLoader once: one that is made anew for an epoch starts its workers in any case"

NONE: Final = (
    " Or try num_workers=0: the training thread would build an epoch's batches in about {building}, less than the "
    "{start} that starting DataLoader workers takes for it."
)


@rule(title="DataLoader workers started every epoch", about="epochs", workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    return of_the_costliest(signals, _judge)


def _judge(signals: Signals, one: LoaderStarts) -> Finding | Abstention | None:
    starts, loader = one.starts, one.loader
    remade = signals.remade if one.is_main else None
    share = signals.share(starts.cost_us)
    if share is None or share < EPOCH_START or (loader.persistent_workers and remade is None):
        return None
    if not starts.repeated:
        return Abstention(
            "Only the loader's first epoch begins in the window: DataLoader workers have to start once anyway."
        )
    if loader.persistent_workers is None:
        return Abstention("Whether DataLoader workers persist was not recorded.")
    saved = starts.repeated_us - starts.built_us + starts.repeated * starts.end_us
    length = steps_between(signals, starts, None if one.is_main else loader)
    waited = saved / starts.repeated / length.steps if length else None
    if waited is None or not signals.mean_step_us:
        return None
    gain = most_us(signals, one, waited)
    if gain < EPOCH_START * (signals.mean_step_us + waited):
        return None
    return Finding(
        severity=severity(signals, gain),
        title=f"{epoch_of(signals, one)} begins with a wait of {wait_of(starts)}, as "
        "its DataLoader workers are started anew",
        advice=f"{_advice(signals, one)}{_without_workers(signals, starts, saved, length)}",
        evidence=(
            *_waited(starts, saved, length),
            *_limit(gain, waited),
            *_first_build(starts.first_build),
            *(made_again(remade) if remade else ()),
        ),
        gain_us_per_step=gain,
        code=f"DataLoader(..., persistent_workers=True){'  # once, before the epochs' if remade else ''}",
        confidence="likely" if remade is None or remade.is_certain else "possible",
        confidence_reason=BUILT if remade is None or remade.is_certain else f"{HELD} {BUILT}",
    )


def _limit(gain: float, waited: float) -> Iterator[Evidence]:
    if duration(gain) != duration(waited):
        text = f"that is {duration(waited)} per step, but the loop would then wait for other batches, or for a CPU"
        yield time("waits_elsewhere", gain, text, whole="step")


def _advice(signals: Signals, one: LoaderStarts) -> str:
    first = one.starts.first_build
    live_on = f"{ONCE}. {LIVE_ON}" if signals.remade and one.is_main else LIVE_ON
    live_on = f"{live_on}{KEPT}{init_advice(one.loader, one.starts.init_us, one.starts.startup_us)}"
    live_on = f"{APART}{live_on}" if one.is_nested else live_on
    if first is None or first.mean_us < ONCE_PER_WORKER * first.others_us:
        return live_on
    where = f"{first.stage} ({first.line.place})" if first.line is not None else first.stage
    forked = one.loader.start_method == "fork"
    ahead = " Or load one sample before iter(loader): forked workers then have it." if forked else ""
    return f"{live_on} Each new worker does something once in {where}, {SUCH_AS}.{ahead}"


def _without_workers(signals: Signals, starts: StartSignals, saved: float, length: EpochLength | None) -> str:
    """Where the training thread would have built all batches of an epoch before new workers began with the first."""
    if length is None or not length.is_known or not signals.step_count or not starts.build_us:
        return ""
    building, start = starts.build_us * length.steps / signals.step_count, saved / starts.repeated
    return NONE.format(building=duration(building), start=duration(start)) if building < start else ""


def _waited(starts: StartSignals, saved: float, length: EpochLength | None) -> Iterator[Evidence]:
    parts = [f"{duration(starts.built_us / starts.repeated)} of it building that batch, which stays"]
    if starts.startup_us:
        inside = init_part(starts.init_us / starts.epochs, starts.startup_us / starts.epochs)
        ran = f"{duration(starts.startup_us / starts.epochs)} until a DataLoader worker ran"
        parts.append(f"{ran} ({inside})" if inside else ran)
    text = f"{waited_text(starts)}: {', '.join(parts)}"
    yield time("repeated_epoch_starts", starts.repeated_us, text)
    if starts.shutdown_us:
        text = f"{duration(starts.end_us)} before that to stop the DataLoader workers"
        yield time("shutdown", starts.shutdown_us, text)
    of = f" ({length.text})" if length else ""
    more = ", and what starting DataLoader workers takes in iter(loader), which is not recorded"
    text = f"up to {duration(saved / starts.repeated)} per epoch{of} can go{more if starts.lacks_iter else ''}"
    yield time("saved_per_epoch", saved, text)


def _first_build(first: FirstBuild | None) -> Iterator[Evidence]:
    if first is None or first.mean_us < ONCE_PER_WORKER * first.others_us:
        return
    line = "" if first.line is None else f", {percent(first.line.share)} of that in {first.line.text}"
    text = (
        f"new DataLoader workers build their first batch in {duration(first.mean_us)}, others take "
        f"{duration(first.others_us)}: {percent(first.stage_share)} of it in {first.stage}{line}"
    )
    yield time("first_build", first.mean_us, text, stage=first.stage)
