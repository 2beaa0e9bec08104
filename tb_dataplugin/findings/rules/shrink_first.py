"""A transform throws away most of its input, after others have worked on all of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.findings.by_size import by_size
from tb_dataplugin.findings.decoder_advice import decode_less, is_crop
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.hot import definition, stage_line
from tb_dataplugin.findings.kept_parts import called_in, is_certain, keeps, shrunk_after, why_unknown
from tb_dataplugin.findings.leading import most_waited_for
from tb_dataplugin.findings.of_decoded import ONLY_BYTES, decoded_for_little, times_before
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import Saving, saved_without
from tb_dataplugin.findings.sequence import Step, sequences
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import EARLIER_WORTH
from tb_dataplugin.units import percent

_LISTED: Final = Evidence(
    "no_line",
    "the line to change is where your transforms are listed; it does not run in the loop, so none is named here",
)


HALVED: Final = 0.25
"""Part of a picture that is left where each side is halved."""
TOO_SMALL: Final = (
    " PIL's draft() and OpenCV's IMREAD_REDUCED flags halve each side or more, which leaves a quarter or less: not as "
    "much as {label} returns."
)

TYPES: Final = (
    "there is less to work on then. How much less is not known: a smaller dtype (float32 for float64) makes bytes "
    "fewer as well, and leaves as many values."
)
TYPES_BOUND: Final = (
    "there is less to work on then. The bound takes it to be as much less as the bytes are fewer. A smaller dtype "
    "(float32 for float64) makes bytes fewer as well, and leaves as many values: then it saves less."
)


@rule(title="Transforms on data that a later one throws away", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | Abstention | None:
    if not signals.waits_by_stage:
        return None
    steps = [step for sequence in sequences(signals.stages) for step in sequence]
    if len(steps) > 1 and all(step.ratio is None and step.decoded is None for step in steps):
        return Abstention(why_unknown(steps))
    largest = _largest_kept(signals, steps)
    if largest is None:
        return decoded_for_little(signals, steps) or _question(signals, steps)
    saving, step = largest
    if not is_certain(signals, step):
        return _fewer_bytes(signals, saving, step)
    label, kept = step.calls.stage.label, percent(step.ratio)
    before = _transforms(step)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, signals.per_step(saving.of_wait_us) if gain else None, otherwise_us=saving.us),
        title=f"{label} keeps {kept} of a {_after(signals, before, 'it')}",
        advice=_advice(signals, step, before, bounded=gain is not None),
        stage=most_waited_for(signals, _with_inner(signals.stages, step.working_before)) or step.calls.stage.name,
        title_stage=step.calls.stage.name,
        evidence=(
            *_evidence(signals, step, _counted(signals, step)),
            *_lines(signals, step),
            *(saving.why if gain else ()),
        ),
        gain_us_per_step=gain,
        confidence="likely",
        confidence_reason="This assumes that the time of the earlier transforms grows with the size of their input, "
        "and that their result does not depend on what is cut away."
        if before
        else "This assumes that decoding a part takes as much less as the part is smaller.",
    )


def order_left(signals: Signals, stage: Stage) -> Step | None:
    """The step that this stage should come after, where no finding of this rule says so."""
    later = shrunk_after(signals, stage)
    if later is None or not signals.waits_by_stage:
        return later
    largest = _largest_kept(signals, [step for sequence in sequences(signals.stages) for step in sequence])
    return None if largest is not None and largest[1].calls.path == later.calls.path else later


def _question(signals: Signals, steps: list[Step]) -> Finding | None:
    """Of a transform that returns less than it gets, where nothing shows that this is a part of it: no bound."""
    largest = _largest(signals, steps)
    if largest is None:
        return None
    step = largest[1]
    label, kept = step.calls.stage.label, percent(step.ratio)
    before = _transforms(step)
    order = f"do it before {before}: what follows then works on less" if before else "decode no more than that"
    return Finding(
        severity="low",
        title=f"{label} returns {kept} of the bytes it gets",
        advice=f"If {label} only keeps a part of its input, {order}. "
        f"If it makes something else of it, {'the order has to stay' if before else 'all of it is needed'}.",
        stage=step.calls.stage.name,
        evidence=(
            *_evidence(signals, step, _moved_over(signals, step)),
            *(definition(signals, step.calls.stage.name) if before else stage_line(signals, step.calls.stage.name)),
        ),
        confidence="possible",
        confidence_reason="Only sizes were recorded, not what is in the data.",
    )


def _fewer_bytes(signals: Signals, saving: Saving, step: Step) -> Finding:
    """Of what may be no part of its input, since a smaller type of its values makes bytes fewer as well: a bound only
    of what the transforms take that it would come before.
    """
    label, kept, before = step.calls.stage.label, percent(step.ratio), _transforms(step)
    rows, after = _moved_over(signals, step), _after(signals, before, "them")
    where = f"do it before {before}" if before else "decode no more than that"
    gain = signals.per_step(saving.us) if before and signals.mode != "replay" else None
    of_wait = signals.per_step(saving.of_wait_us) if gain else None
    return Finding(
        severity="low" if severity(signals, of_wait, otherwise_us=saving.us) == "low" else "medium",
        title=f"{label} returns {kept} of the bytes of a {after}",
        advice=f"As far as {label} only cuts data away, {where}: {TYPES_BOUND if gain else TYPES}",
        stage=most_waited_for(signals, rows) or step.calls.stage.name,
        title_stage=step.calls.stage.name,
        evidence=(*_evidence(signals, step, rows), *_lines(signals, step), *(saving.why if gain else ())),
        gain_us_per_step=gain,
        confidence="possible",
        confidence_reason=ONLY_BYTES,
    )


def _after(signals: Signals, before: str, what: str) -> str:
    """Samples that somebody named, as the slowest, are no typical ones."""
    which, of = ("", " that was named for this replay") if signals.replays_named else ("typical ", "")
    return f"{which}sample{of}, after {before} worked on all of {what}" if before else f"{which}decoded sample{of}"


def _transforms(step: Step) -> str:
    return ", ".join(calls.stage.label for calls in step.working_before if calls.stage.kind == "transform")


def _largest_kept(signals: Signals, steps: Iterable[Step]) -> tuple[Saving, Step] | None:
    """Of those that seem to keep a part of their input; where that is certain, first."""
    kept = [step for step in steps if keeps(signals, step)]
    return _largest(signals, [step for step in kept if is_certain(signals, step)]) or _largest(signals, kept)


def _largest(signals: Signals, steps: Iterable[Step]) -> tuple[Saving, Step] | None:
    """The step before which most is done for nothing."""
    candidates = [(saved, step) for step in steps if (saved := _saved(signals, step)) is not None]
    return max(candidates, key=lambda candidate: candidate[0].us, default=None)


def _lines(signals: Signals, step: Step) -> tuple[Evidence, ...]:
    """Where the order of transforms is to be changed, or else what decodes."""
    name = step.calls.stage.name
    has_order = any(calls.stage.kind == "transform" for calls in step.working_before)
    return (*definition(signals, name), _LISTED) if has_order else stage_line(signals, name)


def _evidence(signals: Signals, step: Step, counted: list[StageCalls]) -> tuple[Evidence, ...]:
    """`counted`: the stages before it."""
    label, kept = step.calls.stage.label, step.ratio or 1.0
    where = ", in the whole capture" if signals.of_some_steps else ""
    median = f", the median of {step.measured} samples whose sizes were measured" if step.measured > 1 else ""
    text = f"{label} returns {percent(kept)} of the bytes it gets{median}{where}"
    return share("bytes_kept", kept, "bytes", text, step.calls.stage.name), *times_before(signals, counted)


def _advice(signals: Signals, step: Step, before: str, *, bounded: bool) -> str:
    label, kept = step.calls.stage.label, percent(step.ratio)
    if not before:
        how_much = "how much of the decoding that saves depends on the format."
        if is_crop(label):
            return (
                f"Decode only what {label} keeps, {kept} of the data: use a decoder that crops or scales while it "
                f"decodes; {how_much}"
            )
        if (step.ratio or 0.0) > HALVED:
            how_much += TOO_SMALL.format(label=label)
        less = decode_less(label, called_in(signals, step.calls.stage))
        return f"{less[0].upper()}{less[1:]}: {label} returns {kept} of the data; {how_much}"
    advice = f"Do {label} before {before}: what follows then works on {kept} of the bytes."
    if all(calls.stage.kind != "decode" for calls in _counted(signals, step)):
        return advice
    decoder = "A decoder that crops or scales while it decodes saves part of decoding too"
    return f"{advice} {decoder}{'; the bound includes that' if bounded else ''}."


def _saved(signals: Signals, step: Step) -> Saving | None:
    """Of the cost, at most: decoding and transforms before it, as far as they work on what is thrown away. Of what may
    keep no part, only what it would come before.
    """
    if step.ratio is None or not step.shrinks or not step.working_before:
        return None
    with_decoding = keeps(signals, step) and is_certain(signals, step)
    rows = _counted(signals, step) if with_decoding else _moved_over(signals, step)
    cost = signals.wait_cost_us
    if not cost or signals.cost_of(rows) * (1 - step.ratio) < EARLIER_WORTH * cost:
        return None
    return saved_without(signals, rows, part=1 - step.ratio)


def _counted(signals: Signals, step: Step) -> list[StageCalls]:
    """What the bound is made of, decoding included."""
    return by_size(signals, _with_inner(signals.stages, step.working_before))


def _moved_over(signals: Signals, step: Step) -> list[StageCalls]:
    """What it would come before; all that is before it where no transform is: less of that is to be decoded then."""
    before = tuple(calls for calls in step.working_before if calls.stage.kind == "transform")
    return by_size(signals, _with_inner(signals.stages, before or step.working_before))


def _with_inner(stages: tuple[StageCalls, ...], before: tuple[StageCalls, ...]) -> list[StageCalls]:
    """Those stages and what they call, but for reading: a file is read whole, and a decoder can leave out parts."""
    paths = [calls.path for calls in before]
    return [
        calls
        for calls in stages
        if calls.stage.kind != "read" and any(calls.path[: len(path)] == path for path in paths)
    ]
