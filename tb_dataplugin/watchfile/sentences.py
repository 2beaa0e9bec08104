"""What is said of a whole run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.units import count, data_size, duration, percent, plural
from tb_dataplugin.watchfile.drift import Drift
from tb_dataplugin.watchfile.lines import EventLine
from tb_dataplugin.watchfile.loader_texts import TOGETHER, others_text, waits_text
from tb_dataplugin.watchfile.outside import Outside
from tb_dataplugin.watchfile.summary import Growth, Happening, Summary
from tb_dataplugin.watchfile.takers import FED, wait_clause
from tb_dataplugin.watchfile.trouble import Slow, Trouble

MOST_USUAL: Final = 200
"""Steps that the usual time is the median of, once a run has made so many, as in annotate's `usual`."""

_WORTH_A_WORD: Final = 0.1
"""Of the run, from which its sentence says what is outside of its steps; of that, from which it says what is left."""

_WORTH_A_NUMBER: Final = 0.001
"""Of the run: with less, what recording took of it is no part of a line that has the others."""

COLLECT_LESS: Final = (
    "call gc.freeze() once model and dataset are built, and gc.disable() while very many objects are made at once, as "
    "by json.load"
)
"""It begins as objects are made, and walks through those that are alive."""

NO_EVENT: Final = "seen afterwards, in the recorded intervals"
"""Of a slow time that was no event as it went on."""

WHILE_RECORDED: Final = "while a window was recorded, which slows the loop"


def run_sentence(summary: Summary) -> str:
    """The run in a line."""
    parts = [
        f"{plural(summary.steps, 'step')} in {duration(summary.seconds * 1e6)}{_recording(summary)}"
        f"{untimed_text(summary)}: "
        f"{wait_clause(summary.whose, summary.wait_share)}{_for_whom(summary)}{stalls_text(summary)}",
        *(drift_text(drift) for drift in summary.drifts),
        *_events(summary.happenings),
        first_step_text(summary),
        *_troubles(summary),
    ]
    if summary.outside is not None and summary.outside.share >= _WORTH_A_WORD:
        parts.insert(0 if summary.outside.leads else 1, _outside(summary.outside))
    if others := others_text(summary.loaders, summary.outside, _WORTH_A_WORD):
        parts.append(others)
    if collecting := collecting_text(summary):
        parts.append(collecting)
    if growing := _growing(summary):
        parts.append(growing)
    return "; ".join(filter(None, parts)) + "."


def _for_whom(summary: Summary) -> str:
    """Which of several DataLoaders each step waits for."""
    parts = waits_text(summary.loaders)
    return f" ({parts})" if parts else ""


def run_in_short(summary: Summary) -> str:
    """What stands out in a run, in as few words as a row has room for."""
    outside = summary.outside
    parts = [
        FED if summary.whose == "fed" else "",
        f"{percent(outside.share)} of the run is outside of steps" if outside and outside.leads else "",
        made_text(outside) if outside and outside.made else "",
        *(drift_text(drift).partition(" (")[0] for drift in summary.drifts),
        *_events(summary.happenings, with_times=False),
        first_step_text(summary).partition(":")[0],
        *_troubles(summary),
        _collecting(summary).partition(",")[0],
        _growing(summary),
    ]
    return "; ".join(filter(None, parts)) or "no stall, no slow time"


def _outside(outside: Outside) -> str:
    """``62.2% of the run is outside of steps (38.0 s: 44 times between two epochs, 838 ms each, at most 1.20 s)``."""
    made = f"; {made_text(outside)}" if outside.made else ""
    return (
        f"{percent(outside.share)} of the run is outside of steps "
        f"({duration(outside.us)}{_between(outside, ': ')}){made}"
    )


def outside_text(outside: Outside) -> str:
    """``62.2% of the run, beside 31.5% in steps and 6.25% until first batches: 44 times between ...``."""
    steps, first = (percent(part / outside.whole_us) for part in (outside.steps_us, outside.first_us))
    recording = outside.recording_us / outside.whole_us
    rest = [f"{steps} in steps{' of all DataLoaders' if outside.is_of_several else ''}", f"{first} until first batches"]
    if recording >= _WORTH_A_NUMBER:
        rest.append(f"{percent(recording)} to record windows")
    whole = f"{percent(outside.share)} of the run, beside {' and '.join((', '.join(rest[:-1]), rest[-1]))}"
    return f"{whole}{_between(outside, '; ')}"


def _between(outside: Outside, before: str) -> str:
    """When it is, as far as that was recorded."""
    together = f" {TOGETHER}" if outside.is_of_several else ""
    if outside.between_us is None and outside.epochs < 2:
        return ""
    if outside.between_us is None:
        return f"{before}{duration(outside.us / outside.epochs)} for each of {count(outside.epochs)} epochs{together}"
    if outside.each_us is None:
        return ""
    each = duration(outside.each_us)
    mean = each if outside.times == 1 else f"{each} each, at most {duration(outside.longest_us)}"
    rest_us = outside.us - (outside.between_us or 0.0)
    rest = f"; {duration(rest_us)} at other times" if rest_us >= _WORTH_A_WORD * outside.us else ""
    return f"{before}{_times(outside.times)} between two epochs{together}, {mean}{rest}"


def made_text(outside: Outside) -> str:
    """``the DataLoader is made anew, 45 times for 45 epochs``."""
    return f"the DataLoader is made anew, {_times(outside.made)} for {count(outside.made_epochs)} epochs"


def keep_text(outside: Outside) -> str:
    """What to do about that."""
    return f"make it and its dataset once{', with persistent_workers=True' if outside.has_workers else ''}"


def collecting_text(summary: Summary) -> str:
    """What to do about the garbage collector; "" where it has little of the run."""
    said = _collecting(summary)
    return f"{said}: {COLLECT_LESS}" if said else ""


def _collecting(summary: Summary) -> str:
    if (summary.gc_share or 0.0) < _WORTH_A_WORD:
        return ""
    part = percent(summary.gc_share or 0.0)
    beyond = ", what is outside of steps included" if summary.outside is not None else ""
    return f"Python's garbage collector has {part} of the run{beyond}"


def _growing(summary: Summary) -> str:
    """``memory grows: training process, /dev/shm``; "" where none does."""
    grown = ", ".join(dict.fromkeys(growth.what for growth in summary.growth))
    return f"memory grows: {grown}" if grown else ""


def stalls_text(summary: Summary) -> str:
    """`` (6.16 s of 9.35 s added by 8 stalls)``: how much of the data wait is more than usual in the stalls that are
    listed; "" where none is of the data wait. An epoch's first batch is none of it.
    """
    waits = [one.event for one in summary.happenings if _is_counted(one) and one.event.loader == summary.main]
    added_us = sum(max(0.0, event.took_us - event.usual_us) for event in waits)
    whole_us = summary.wait_share * summary.step_us * summary.steps
    if not 0 < added_us <= whole_us:
        return ""
    return f" ({duration(added_us)} of {duration(whole_us)} added by {plural(len(waits), 'stall')})"


def _is_counted(one: Happening) -> bool:
    """A stall whose wait is part of the run's: not where its process was killed before it wrote that interval."""
    is_stall = one.event.change == "stall" and one.event.what == "data wait"
    return is_stall and (one.known_until is None or one.time <= one.known_until)


def recording_text(summary: Summary) -> str:
    """``1.85 s of it to record windows``; "" where that is next to nothing."""
    if summary.recording_us < _WORTH_A_NUMBER * 1e6 * summary.seconds or not summary.recording_us:
        return ""
    return f"{duration(summary.recording_us)} of it to record windows"


def _recording(summary: Summary) -> str:
    text = recording_text(summary)
    return f", {text}" if text else ""


def untimed_text(summary: Summary) -> str:
    """In brackets, with a space before them; "" where all steps are timed."""
    why = "recorded, or with another DataLoader's batches between"
    return f" (and {count(summary.untimed)} not timed: {why})" if summary.untimed else ""


def _events(happenings: Sequence[Happening], *, with_times: bool = True) -> Iterator[str]:
    stalls = [one.event for one in happenings if one.event.change == "stall"]
    slow = [one for one in happenings if one.event.change == "slow"]
    if stalls:
        yield f"{plural(len(stalls), 'stall')}, the longest {duration(max(event.took_us for event in stalls))}"
    if slow:
        longest = max(slow, key=lambda one: (one.long_us, one.event.took_us))
        which = ", the longest time" if len(slow) > 1 else ""
        times = f" ({times_text(longest)})" if with_times else ""
        yield f"slow {_times(len(slow))}{which} {_when(longest)}{times}"


def first_step_text(summary: Summary) -> str:
    """``the first step took 2.51 s, usually 20.1 ms: ...``; "" where it took no longer than others."""
    step = summary.first_step
    if step is None:
        return ""
    took, usually = duration(step.took_us), duration(step.usual_us)
    return f"the first step took {took}, usually {usually}: in it many programs compile and allocate"


def _when(happening: Happening) -> str:
    after = f"after {duration(1e6 * happening.after_s)}"
    return f"{after}, to the end" if happening.lasted_s is None else f"{after}, for {lasted_text(happening)}"


def lasted_text(happening: Happening) -> str:
    """How long a slow time went on; "" where its end is unknown. While a window is recorded the program works, too: how
    long it stood still for that is another number (`recording_text`).
    """
    if happening.lasted_s is None:
        return ""
    lasted, recorded = (duration(1e6 * seconds) for seconds in (happening.lasted_s, happening.recorded_s))
    return f"{lasted}, {recorded} of it {WHILE_RECORDED}" if happening.recorded_s else lasted


def _troubles(summary: Summary) -> Iterator[str]:
    if summary.raised:
        yield f"{plural(summary.raised, 'exception')} came to the loop in place of a batch"
    if summary.troubles:
        worst = summary.troubles[0]
        yield f"{worst.stage} fails ({trouble_text(worst, summary)})"


def trouble_text(trouble: Trouble, summary: Summary) -> str:
    """How often a stage failed; retries are what came of it."""
    measured = summary.measured_samples
    share = f" in {plural(measured, 'measured sample')}" if measured else ""
    again = f", called again {_times(trouble.retries)}" if trouble.retries else ""
    if trouble.samples > measured:
        share = f" in {plural(trouble.samples, 'sample')}"
        again = f"{again} in the {count(measured)} measured ones" if again else ""
    return f"{_times(trouble.failures)}{share}{again}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{count(number)} times"


def slow_text(slow: Slow) -> str:
    """Where the sample with an index took longest."""
    sample = slow.sample
    worker = "" if sample.worker is None else f", DataLoader worker {sample.worker}"
    times = f"; among the slowest in {slow.times} intervals" if slow.times > 1 else ""
    return f"epoch {sample.epoch}, batch {sample.batch}{worker}{times}"


def event_sentence(happening: Happening) -> str:
    event, capture = happening.event, happening.capture
    if happening.by_intervals:
        return f"Slow {_when(happening)}: {times_text(happening)}; {NO_EVENT}."
    place = "" if event.what == "first batch" else f", batch {event.batch}"
    took = times_text(happening)
    if event.change == "slow":
        took = f"slow {_when(happening)}: {took}"
    missed = f"; not recorded: {capture.missed}" if capture and capture.missed else ""
    return f"Epoch {event.epoch}{place}: {took}{missed}."


def event_note(happening: Happening) -> str:
    """What a table of events says in words beside its times: what else was slow, and what is odd about the times."""
    event = happening.event
    texts = [
        NO_EVENT if happening.by_intervals else "",
        f"{duration(1e6 * happening.recorded_s)} of it {WHILE_RECORDED}" if happening.recorded_s else "",
        "the usual time is a step's" if event.what == "first batch" else "",
        f"usual is the {_few_steps(event)}" if _few_steps(event) else "",
        *_beside(happening),
    ]
    text = "; ".join(filter(None, texts))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def times_text(happening: Happening) -> str:
    """``step time 33.6 ms, usually 9.69 ms; data wait 25.1 ms, usually 1.18 ms``; of a slow time the means."""
    return "; ".join((_time_text(happening.event), *_beside(happening)))


def _beside(happening: Happening) -> Iterator[str]:
    """What else was slow; where the step time alone was an event, what the data wait came to."""
    yield from map(_time_text, happening.also)
    if happening.wait is not None:
        wait = happening.wait
        how = " by the means of intervals" if wait.by_intervals else ""
        yield f"{happening.wait_name} {duration(wait.mean_us)}, usually {duration(wait.usual_us)}{how}"


def _time_text(event: EventLine) -> str:
    """``step time 33.6 ms, usually 9.69 ms``; early in a run ``... (median of 50 steps so far)``."""
    who = "a step usually takes " if event.what == "first batch" else "usually "
    so_far = f" ({_few_steps(event)})" if _few_steps(event) else ""
    return f"{event.what} {duration(event.took_us)}, {who}{duration(event.usual_us)}{so_far}"


def _few_steps(event: EventLine) -> str:
    """``median of 50 steps so far``; "" once it is of as many as later."""
    steps = event.usual_steps
    return "" if steps is None or steps >= MOST_USUAL else f"median of {count(steps)} steps so far"


def drift_text(drift: Drift) -> str:
    """``step time rises from 7.44 ms to 16.5 ms (data wait from ...)``."""
    parts = [f"{drift.wait_name} from {duration(drift.wait_before)} to {duration(drift.wait_after)}"]
    if drift.stage is not None:
        stage = drift.stage
        parts.append(f"{stage.name} from {duration(stage.before)} to {duration(stage.after)} per batch")
    verb = "rises" if drift.rises else "falls"
    return f"step time {verb} from {duration(drift.before)} to {duration(drift.after)} ({', '.join(parts)})"


def growth_text(growth: Growth) -> str:
    each = ""
    if growth.epochs > 1:
        each = f", about {data_size((growth.after - growth.before) / growth.epochs)} per epoch"
    return f"{growth.what}: from {data_size(growth.before)} to {data_size(growth.after)}{each}"
