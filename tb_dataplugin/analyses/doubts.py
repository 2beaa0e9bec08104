"""What makes a report doubtful: one list, the worst first, that stands above all else and lowers every confidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.calm_window import calm_sentence, find_calm_window
from tb_dataplugin.analyses.evaluation import find_evaluation
from tb_dataplugin.analyses.more_steps import asked_for
from tb_dataplugin.analyses.other_programs import crowd_sentence, find_other_programs
from tb_dataplugin.analyses.profiler_weight import weight_sentence
from tb_dataplugin.analyses.recorder_load import find_recorder_load, recorder_sentence
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.steps import lacks_whole_step
from tb_dataplugin.diagnostics import Doubt
from tb_dataplugin.units import count, listed, plural

NO_WHOLE_STEP: Final = (
    "The program, or its recording, ended before the window had a whole step: it shows the loop's end, or what the "
    "program did after it, and nothing of the loop as it goes on. Record a window that opens earlier."
)

OTHER: Final = (
    "If the program trains after it, record a window that opens later; if it ends with it, one that opens earlier "
    "(annotate.profile(..., wait=...); under run: --wait)"
)
"""When a window would show the training. What comes after an evaluation, a capture of it does not show."""

FEW_STEPS: Final = 8
"""Steps in a window up to which one slow batch may decide what the window shows."""

_LOST: Final = {"bad_metadata", "bad_batches", "bad_member", "bad_event", "limit_junk"}
_LOST_NOTES: Final = ("no sample was recorded", "no stage was recorded", "spans of other threads")
_LATE_NOTE: Final = "no data from"


def find_doubts(results: Results) -> tuple[Doubt, ...]:
    """From the diagnostics of `results` among others: these have to be there."""
    first = (_cut_off, _late_workers, _lost, _kernels, _dropped, _clocks)
    parts = (*first, _evaluation, _short, _profiler, _crowd, _recorder, _calm)
    return tuple(doubt for part in parts for doubt in part(results))


def _codes(results: Results) -> dict[str, int]:
    return {note.code: note.count for note in results.diagnostics}


def _notes(results: Results) -> tuple[str, ...]:
    return results.trace.info.pipeline.notes if results.trace.info.pipeline else ()


def _cut_off(results: Results) -> Iterator[Doubt]:
    if not results.trace.is_cut:
        return
    is_damaged = "damaged_gzip" in _codes(results)
    what, missing = ("damaged", "what stands behind that") if is_damaged else ("cut off", "what its missing end had")
    sentence = f"The file is {what}, and {missing} is not in this report"
    if results.trace.is_device_cut:
        sentence += ": part of the device activity is missing, so none is shown"
    elif not results.devices:
        sentence += "; device activity stands near the end of a trace, so there may have been a device"
    first = "Copy it once more, or" if is_damaged else "If a job is still writing it, wait; else"
    yield Doubt("cut_off", f"{sentence}. {first} capture again.")


def _late_workers(results: Results) -> Iterator[Doubt]:
    if results.trace.info.mode != "train" or lacks_whole_step(results.trace):
        return
    note = next((note for note in _notes(results) if note.startswith(_LATE_NOTE)), "")
    settings = results.settings
    if note:
        yield Doubt("late_workers", _as_sentence(note))
    elif "no_worker_records" in _codes(results):
        if settings is not None and settings.persistent_workers:
            why = "persistent workers had started before the capture. Enter annotate.profile before the loop."
        else:
            why = (
                "they had started before the capture, or the loop uses another loader. Enter annotate.profile before "
                "the loop, and annotate its loader."
            )
        yield Doubt("late_workers", f"No data from DataLoader workers: {why}")


def _lost(results: Results) -> Iterator[Doubt]:
    for note in results.diagnostics:
        if note.code in _LOST:
            yield Doubt("data_loss", _as_sentence(note.message))
            return
    for text in _notes(results):
        if any(words in text for words in _LOST_NOTES):
            yield Doubt("data_loss", _as_sentence(text))
            return


def _kernels(results: Results) -> Iterator[Doubt]:
    """A device that only copies: nobody can tell whether it computed nothing, or kernels were not recorded."""
    unknown = [str(device.device) for device in results.devices if device.reserve]
    if not unknown:
        return
    of = f"device{'s' if len(unknown) > 1 else ''} {listed(unknown)}"
    yield Doubt(
        "no_kernels",
        f"No kernels of {of} were recorded, only copies: any compute counts as idle there, so idle time, its "
        "causes and the exposed data wait may be far too large. Where the loop computes on it, capture again.",
    )


def _dropped(results: Results) -> Iterator[Doubt]:
    pipeline = results.trace.info.pipeline
    dropped = _codes(results).get("dropped_spans", 0) or (pipeline.dropped_spans if pipeline else 0)
    if dropped:
        were = "span was" if dropped == 1 else "spans were"
        yield Doubt(
            "dropped_spans",
            f"{count(dropped)} {were} dropped at the recorder's limit, so stage times are too low. Record fewer steps.",
        )


def _clocks(results: Results) -> Iterator[Doubt]:
    said = any("arrived before they were finished" in note for note in _notes(results))
    if said or "clock_violation" in _codes(results):
        yield Doubt(
            "clock_violation",
            "The clocks of two processes disagree: batches arrived before they were finished. Transfer times cannot be "
            "relied on.",
        )


def _evaluation(results: Results) -> Iterator[Doubt]:
    found, settings = find_evaluation(results.trace), results.settings
    of = f" of the DataLoader of {settings.dataset}" if settings is not None and settings.dataset else ""
    if found is None:
        return
    if found.kind == "recorded":
        sentence = (
            f"This window lies in an evaluation: all its batches{of} were taken without gradients, and the program had "
            "taken others with them before. Its verdict, rates and findings are of that evaluation, and nothing here "
            f"is of the training. {OTHER}."
        )
    elif found.kind == "mostly":
        sentence = (
            f"{count(found.untrained)} of {plural(found.steps, 'step')} run no backward pass and no optimizer, others "
            "do, and the program iterates more than one DataLoader: most of this window seems to lie in an evaluation, "
            "whose batches are counted as steps. Record again: batches that are taken without gradients no longer are."
        )
    else:
        sentence = (
            "No step of this window runs a backward pass or an optimizer, and the program iterates more than one "
            "DataLoader: if it trains with another one, the window lies in an evaluation, and its verdict, rates and "
            f"findings are of that. {OTHER}."
        )
    yield Doubt("evaluation", sentence)


def _short(results: Results) -> Iterator[Doubt]:
    if lacks_whole_step(results.trace):
        yield Doubt("no_whole_step", NO_WHOLE_STEP)
    steps = len(results.steps.rows) if results.steps else 0
    if results.trace.info.mode != "replay" and 0 < steps < FEW_STEPS:
        yield Doubt(
            "short_window",
            f"The window has only {plural(steps, 'step')}, so one slow batch may decide the numbers. {_more(results)}",
        )


def _profiler(results: Results) -> Iterator[Doubt]:
    weight = results.profiler_weight
    if weight is not None and weight.is_heavy:
        yield Doubt("profiler_weight", _as_sentence(weight_sentence(weight)))


def _crowd(results: Results) -> Iterator[Doubt]:
    found = find_other_programs(results)
    if found is not None and found.crowd:
        yield Doubt("busy_machine", crowd_sentence(found))


def _recorder(results: Results) -> Iterator[Doubt]:
    found = find_recorder_load(results)
    if found is not None and found.crowds:
        yield Doubt("recorder_load", recorder_sentence(found))


def _calm(results: Results) -> Iterator[Doubt]:
    found = find_calm_window(results)
    if found is not None:
        yield Doubt("calm_window", calm_sentence(found, results.trace.info.pipeline))


def _more(results: Results) -> str:
    if results.selection is not None and results.selection.recorded_count >= FEW_STEPS:
        return f"Choose {FEW_STEPS} or more."
    pipeline = results.trace.info.pipeline
    is_numbered = pipeline is None or (pipeline.asked_s is None and pipeline.step_source == "profiler")
    if is_numbered and results.steps is not None and [row.number for row in results.steps.rows] == [0]:
        return (
            f"Call prof.step() after each batch, and record at least {FEW_STEPS} (active={FEW_STEPS}): where nobody "
            "calls it, the first step of a profiler's schedule lasts to the end."
        )
    return f"Record at least {FEW_STEPS} ({asked_for(pipeline, FEW_STEPS)})."


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
