"""Building batches from samples caused a large part of the data wait."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.analyses.line_waits import named_wait
from tb_dataplugin.findings.callee_advice import callee_advice
from tb_dataplugin.findings.calls import AllCalls
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.in_memory import TORCHS, advice_for, code_for, saved_at_once, takes_samples
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.line_texts import WAITS
from tb_dataplugin.findings.patterns import FILLS_SLICES
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import HEAVY_PART, HOT_LINE, NO_CPU
from tb_dataplugin.findings.whose_code import package_of
from tb_dataplugin.units import duration, percent, plural
from tb_dataplugin.words import BLOCKED_BY

ADVICE: Final = (
    "Return tensors of one shape and dtype from the dataset, so that collate only stacks them into one block of shared "
    "memory; pad or convert per sample, or once on the device."
)
ALLOCATE: Final = f"{ADVICE} Where batches are padded here, allocate them once and fill their slices."
CODE: Final = "batch = torch.zeros(len(samples), longest, ...)  # once; then batch[i, : len(sample)] = sample"

COPIES: Final = (
    "copies each sample into the batch{new}. Return fewer bytes per sample: uint8 rather than float, converted on the "
    "device; crop or shrink before collate. Where all samples lie in one array, index it once per batch instead."
)
STACKS: Final = f"Here torch {COPIES}"
MAY_STACK: Final = (
    f"Where samples are tensors or arrays of one shape, torch's collate only {COPIES} Where samples hold Python "
    "numbers or lists, return one tensor per field from the dataset."
)
"""Where no line says which of both it is."""
OF_THREADS: Final = (
    "Half of the calls take {median} or less, so it is not what is put together: in the others this thread, or torch's "
    "further threads that it waits for, had no CPU. Let torch use fewer threads there (torch.set_num_threads(1), or "
    "OMP_NUM_THREADS=1), or leave CPUs free, and measure again."
)
AT_TIMES: Final = 0.25
"""Part of the time of all calls that they would take were all like the median one, below which few are slow."""

NEW_MEMORY: Final = ", with DataLoader workers into new shared memory"

OF_LINE: Final = (
    "Do that less often, keep what does not change between calls, use array operations over the whole batch, or do it "
    "on the device."
)
OF_OTHER_LINE: Final = (
    "Do that beforehand, once per sample, and store the result; or less often, and keep what does not change between "
    "calls."
)
OF_LOOP: Final = (
    "That is a loop in Python. Do it for the whole batch at once: index an array with an array of indices, draw random "
    "numbers in one call. Or do what belongs to one sample beforehand, in the dataset, and store it."
)
OF_OTHER_LOOP: Final = (
    "That is a loop in Python. Do what belongs to one sample beforehand, once, and store it, so that collate only puts "
    "samples together. What must be done for each batch: call a library that does it for all of it in compiled code."
)
"""Where the line does not show that it works on numbers: strings know no array operations."""
OF_WAIT: Final = (
    "That line {waits}, so array operations do not make it faster: wait less often, once for all samples of the batch, "
    "or do that beforehand and store the result."
)
"""Of a line that mostly does not run on a CPU, whatever its text looks like."""
BLOCKED: Final = f"is mostly blocked ({', '.join(BLOCKED_BY)})"
GATHER: Final = "rows = array[indices]  # all rows at once, in place of the loop"
UNKNOWN: Final = (
    "This is time in {whose}; no line of it leads, or too few stack samples "
    "were taken: {mark}. Loops over samples in Python are slow: "
    "use array operations over the whole batch. Where it pads batches, allocate them once and fill their slices."
)
OWN: Final = ("a collate function of your own", "mark its parts with annotate.stage to see which is slow")
INSTALLED: Final = (
    "a collate function that runs code of {package}, an installed package, and in what it calls",
    "capture more steps, so that lines can be named, and mark what it calls of your own with annotate.stage",
)

_JOINS: Final = re.compile(
    r"\b(?:stack|cat|concatenate|pad\w*|zeros|empty|full|tensor|as_tensor|from_numpy|copy_)\("
    rf"|{FILLS_SLICES.pattern}|\[(?:i|j|k|n|b|idx|index|row|number)\]\s*=(?!=)"
)
"""In a line that puts samples together, which the advice is about: ``lexicon[word] = ...`` fills a dict."""
_GATHERS: Final = re.compile(r"\]\s*=\s*(?!(?:batch|examples?|items?|rows|samples?|seq\w*)\b)[\w.]+\[")
"""Row by row, from an array that is no list of the samples: ``rows[k] = self.x[v]``."""
_NUMBERS: Final = re.compile(
    r"\b(?:np|numpy|torch|cv2|scipy|jnp|random|rng|math)\.|\b(?:indices|index|idx)\b|\w\[[^\]()]*,[^\]()]*\]"
)
"""In a line that works on arrays or random numbers; an index of two dimensions is an array's."""
_LOOPS: Final = re.compile(r"\bfor\b.*\bin\b|\.append\(")

_COPIES: Final = re.compile(r"\btorch\.stack\(|\b_new_(?:shared|using_\w+)\(")
"""In a line of torch's own that makes a batch of tensors, or the memory for it."""
TORCHS_FILES: Final = "torch/"
"""Begins the places of torch's own lines."""


def _calls(calls: StageCalls) -> Evidence:
    mean = calls.total_us / calls.count
    text = f"{plural(calls.count, 'call')} of {duration(mean)} on average"
    return time("call_time", mean, text, whole="call", stage=calls.stage.name)


@rule(title="Slow collate", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    waits = (wait for wait in signals.waits_by_stage or () if wait.stage is not None and wait.stage.kind == "collate")
    wait = next(waits, None)
    if wait is None or wait.stage is None or wait.share < HEAVY_PART:
        return None
    whole = takes_samples(signals) and wait.stage.label.startswith(TORCHS)
    samples = signals.wait_for_kinds("sample")
    if whole and samples is not None and samples.share >= HEAVY_PART:  # the finding about them says the same
        return None
    rows = [calls for calls in signals.stages if calls.stage == wait.stage]
    advice, code = (advice_for(signals), code_for(signals)) if whole else _advice(signals, wait.stage)
    if threads := _of_threads(signals, wait.stage, rows):
        advice, code, whole = threads, "", False
    saving = (saved_at_once if whole else saved_without)(signals, rows, wait.cost_us)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=wait.cost_us),
        title=f"{wait.name} caused {percent(wait.share)} of the {signals.own_wait}",
        advice=advice,
        stage=wait.name,
        evidence=(*map(_calls, rows[:1]), *stage_line(signals, wait.name), *(saving.why if gain else ())),
        gain_us_per_step=gain,
        code=code,
    )


def _advice(signals: Signals, stage: Stage | None) -> tuple[str, str]:
    """What to do, and code: by its hottest line. Only a line that puts samples together is advised to do so better."""
    line = None if stage is None else signals.stage_lines.get(stage.name)
    if line is None or line.share < HOT_LINE:
        is_torchs = stage is None or stage.label.startswith(TORCHS)
        return _copying(signals, MAY_STACK) if is_torchs else (_unknown(signals, stage), "")
    source = line.source or line.text
    if line.place.startswith(TORCHS_FILES) and _COPIES.search(source):
        return _copying(signals, STACKS)
    if line.waits:
        named = named_wait(source)
        return f"{_begin(line)} {OF_WAIT.format(waits=WAITS[named] if named else BLOCKED)}", ""
    if _GATHERS.search(source) or (_LOOPS.search(source) and not _JOINS.search(source)):
        gathers = bool(_GATHERS.search(source))
        return f"{_begin(line)} {OF_LOOP if gathers or _NUMBERS.search(source) else OF_OTHER_LOOP}", (
            GATHER if gathers else ""
        )
    if _JOINS.search(f"{source} {line.calls}("):
        return (ADVICE, "") if FILLS_SLICES.search(source) else (ALLOCATE, CODE)
    then = f" Then see {line.second} of it." if line.second else ""
    of_line = OF_LINE if _NUMBERS.search(source) else OF_OTHER_LINE
    return f"{_begin(line)} {callee_advice(line.calls) or of_line}{then}", ""


def _unknown(signals: Signals, stage: Stage | None) -> str:
    package = "" if stage is None else package_of(signals, stage.name)
    whose, mark = INSTALLED if package else OWN
    return UNKNOWN.format(whose=whose.format(package=package), mark=mark)


def _of_threads(signals: Signals, stage: Stage | None, rows: Sequence[StageCalls]) -> str:
    """What to do where torch's own function takes many times as long at times, without a CPU: batches are alike, and it
    is no matter of their bytes; "" elsewhere.
    """
    calls = AllCalls.of(rows)
    if calls is None or stage is None or not stage.label.startswith(TORCHS) or not calls.total_us:
        return ""
    waited = sum(row.cpu_use.run_delay_us for row in rows if row.cpu_use is not None)
    if calls.count * calls.median_us >= AT_TIMES * calls.total_us or waited < NO_CPU * calls.total_us:
        return ""
    return OF_THREADS.format(median=duration(calls.median_us))


def _copying(signals: Signals, words: str) -> tuple[str, str]:
    return words.format(new=NEW_MEMORY if signals.num_workers else ""), ""


def _begin(line: HotLine) -> str:
    return f"{line.share_of('it')} is {line.text}: begin there."
