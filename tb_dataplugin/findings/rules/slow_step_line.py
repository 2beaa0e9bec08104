"""Not data: lines of the training step that are not the model's work take much of it. Without a device; with one, its
idle time says what they cost (`sync_bound`, `python_pauses`).
"""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.line_work import Work
from tb_dataplugin.findings import collecting
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import StepLineSignal, interval
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_work import in_step, of_step, slow_lines
from tb_dataplugin.units import percent, plural

ADVICE: Final[dict[Work, str]] = {
    "iterators": "An iterator of a DataLoader is made or dropped there, and its DataLoader workers with it. Make it "
    "once and call next() on it; where it is iterated to its end, persistent_workers=True keeps the workers.",
    "readback": "Read values back less often, and all at once: .item(), and a loop over a tensor, convert one number "
    "at a time.",
    "saving": "Save less often, or hand a copy to a thread that saves it.",
    "output": "Write less often, or less at a time; what must be written can be written by another thread.",
    "copying": "Copy less often, or only what changes: deepcopy walks through every object in Python. Into "
    "a state that exists already, tensors are copied with copy_().",
    "freeing": "When this line has the next batch, Python frees the one before: many small objects take long, and "
    "so does much memory that a DataLoader worker shared. Send fewer, larger tensors.",
    "collecting": collecting.ADVICE,
    "sleep": "The step sleeps there: remove that, or sleep less.",
    "waiting": "The step waits there for another thread or process: check what that one does.",
    "python": "Do it less often, with array operations instead of Python, or in another thread.",
}

CODE: Final[dict[Work, str]] = {
    "readback": "values = tensor.tolist()  # once, instead of .item() for each element",
    "saving": "if step % 1000 == 0:\n    torch.save(state, path)",
    "copying": "with torch.no_grad():\n    for mine, its in zip(snapshot.parameters(), model.parameters()):\n"
    "        mine.copy_(its)",
    "collecting": collecting.FREEZE,
    "output": "if step % 100 == 0:\n    print(loss.item())",
}

SHOWN: Final = 3
MOSTLY: Final = 0.5
"""Part of a line's time that loading has, from which it is what the line does."""


@rule(title="Slow lines in the training step", about="host")
def check(signals: Signals) -> Finding | None:
    lines = slow_lines(signals)[:SHOWN]
    if signals.has_device or not lines or signals.lock_limits_host:
        return None
    first, cost = lines[0], sum(line.part.share for line in lines) * signals.window_us
    saving = until_workers_limit(signals, cost)
    gain = signals.per_step(saving.us)
    all_lines = (
        ""
        if len(lines) == 1
        else f"; with {plural(len(lines) - 1, 'further line')} {of_step(signals, cost / signals.window_us)}"
    )
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"{first.place} takes {of_step(signals, first.part.share)}, outside the data wait{all_lines}",
        advice=_loading_advice(signals, first) or ADVICE[first.work],
        evidence=(*(_evidence(signals, line) for line in lines), *saving.why),
        gain_us_per_step=gain,
        code=CODE.get(first.work, ""),
    )


def _loading_advice(signals: Signals, line: StepLineSignal) -> str:
    """Where what the dataset handed out is only read in the step, as lazy files are; "" elsewhere."""
    times: dict[str, float] = {}
    for row in signals.stages:
        if all(stage.kind in ("read", "decode") for stage in row.path):  # within no sample, and no wait
            times[row.stage.name] = times.get(row.stage.name, 0.0) + row.self_us
    if line.work != "python" or sum(times.values()) < MOSTLY * line.part.share * signals.window_us:
        return ""
    stage = max(times, key=times.__getitem__)
    advice = f"The step loads data there ({stage}): do that in the dataset's __getitem__"
    if signals.workers is None or not signals.builds_batches_in_workers:
        return f"{advice}, and have DataLoader workers do it in advance."
    return (
        f"{advice}, which DataLoader workers run in advance; they are without work for "
        f"{percent(signals.workers.starved)} {signals.workers.of_whole}."
    )


def _evidence(signals: Signals, line: StepLineSignal) -> Evidence:
    part = in_step(signals, line.part)
    samples = plural(part.samples, "stack sample")
    text = f"{line.text}: {of_step(signals, line.part.share)}, {interval(part)}, {samples}"
    return share("step_line", part.share, "step", text)
