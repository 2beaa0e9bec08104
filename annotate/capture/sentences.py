"""What a capture says to its user."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from annotate.capture import verdict
from annotate.capture.steadiness import LONG_PAUSE_S, EndsWithEpoch, Fewer
from annotate.options import LEAST_STEPS, CaptureOptions, has_other_ranks
from annotate.recording import recording_time
from annotate.saying import in_short, one_line, say

OTHER: Final = "another torch.profiler is open in this process, and torch can run one at a time"
OTHER_IS_OPEN: Final = f"annotate.profile cannot record: {OTHER}. Leave the other one first, or remove it"
STEPPED_TWICE: Final = (
    "annotate.profile: prof.step() was called inside a loop over prof.steps(...), which takes a step after each batch "
    "by itself: such batches count as two steps. Leave prof.step() out."
)
RECORDING_ALREADY: Final = "an annotate.profile is open already: leave it before another profile or replay"
NO_STAGE: Final = (
    "no stage was recorded: no annotated object ran in the window. Pass the loader that you iterate to "
    "annotate.loader, or loop over prof.steps(loader)"
)
NO_LAST_WINDOW: Final = "headspace follows the last window, and a schedule does not say which that is: give one of both"
USES_OURS: Final = "the program uses annotate itself"
GAVE_WAY: Final = (
    "annotate.profile stopped recording this window: another torch.profiler began, and torch can run one at a time. "
    "The other's trace is as torch writes it, without stages. Remove one of the two, or let them record different steps"
)


def no_loader(what: object) -> str:
    """`prof.steps` was given something that cannot be iterated."""
    return (
        f"prof.steps takes a DataLoader or another iterable of batches, not {in_short(what)}: "
        "write `for batch in prof.steps(loader):`"
    )


def check_headspace(steps: int, keywords: Mapping[str, object]) -> None:
    """Raises ValueError where it is asked for beside a schedule."""
    if steps and keywords.get("schedule") is not None:
        raise ValueError(NO_LAST_WINDOW)


def shorter_window(window: Fewer) -> str:
    """Why a window has fewer steps than it would have by their time."""
    if isinstance(window, EndsWithEpoch):
        return few_left(*window, how=f"active={window.wanted}")
    pause = window.wanted * window.pause.seconds
    return (
        f"The window has {window.steps} steps instead of {window.wanted}, whose trace would have paused the program "
        f"for about {pause:.1f} s: each step has {window.pause.events:,} events of torch's profiler."
    )


def few_left(steps: int, wanted: int, how: str) -> str:
    """Why a window has fewer steps than it would have by their time: it was to end before its epoch, as far as the
    fewest steps of a window allow. Whether it did is not said: where it did not, it has some of the next epoch.

    Args:
        how: to have `wanted` all the same.
    """
    return (
        f"The window has {steps} steps instead of {wanted}, since few batches of its epoch were left: with {how} "
        f"a window has {wanted}, however few are left."
    )


def fewer_steps(count: int) -> str:
    """What helps against a long pause after a window of `count` steps, or more."""
    if count <= LEAST_STEPS:
        return "Fewer steps would have a shorter pause, and make the report doubtful"
    return f"Record fewer steps for a shorter pause (active={LEAST_STEPS})"


def stood_still(seconds: float) -> str:
    """How long the program waited for the end of a window; "" where that was short."""
    if seconds < LONG_PAUSE_S:
        return ""
    return f"the program was paused for {seconds:.1f} s while the trace was written"


def say_written(paths: Sequence[str], logdir: Path, window: Fewer | None, *, asks: bool) -> None:
    """The one line of a capture that has succeeded.

    Args:
        window: it has fewer steps than by its time.
        asks: for the verdict; where Ctrl-C ends that, the line is said without it.
    """
    found = None
    try:
        with recording_time.taken():
            found = verdict.ask(paths[-1]) if asks else None
    finally:
        say(written(paths, logdir, window, found))


def written(
    paths: Sequence[str], logdir: Path, window: Fewer | None = None, found: verdict.Answer | None = None
) -> str:
    """What was written, the verdict that was found on the last of them or why it is late, and how to look at it."""
    what = "1 capture" if len(paths) == 1 else f"{len(paths)} captures"
    why = f" {shorter_window(window)}" if window else ""
    of_which = [name for name, holds in (("rank 0", has_other_ranks()), ("the last one", len(paths) > 1)) if holds]
    return f"wrote {what}.{_verdict(found, of_which)}{why} {_look(paths, logdir)}"


def _verdict(found: verdict.Answer | None, of_which: Sequence[str]) -> str:
    if found is None:
        return ""
    if found.is_late:
        return f" No verdict here: computing it takes longer than {verdict.PATIENCE_S} s; the report has it."
    sentence = found.sentence.rstrip(". ")
    if not sentence:
        return ""
    return f" {', '.join(of_which).capitalize()}: {sentence}." if of_which else f" {sentence}."


def added(path: str) -> str:
    """Where the rows are that a profiler of the user's own exported, and how to look at them."""
    return f"what was annotated is in the trace that torch.profiler wrote. {_look([path], Path(path).parent)}"


def _look(paths: Sequence[str], logdir: Path) -> str:
    """Where there are other ranks, the rank that the others wait for need not be this one."""
    ranks = has_other_ranks()
    shown = Path(paths[0]) if len(paths) == 1 and not ranks else logdir
    with suppress(ValueError, OSError):
        shown = shown.relative_to(Path.cwd())
    folder = shlex.quote(str(shown))
    return f"Look at all ranks: tb-dataplugin ranks {folder}" if ranks else f"Look at it: tb-dataplugin report {folder}"


def not_written(logdir: Path, error: Exception) -> str:
    """A window that is lost."""
    return (
        f"annotate.profile could not write its trace to {logdir}: {one_line(error)}. The steps of this window are lost"
    )


def stopped(error: Exception) -> str:
    """A fault of ours has ended a capture."""
    return f"annotate.profile has stopped recording, and the training goes on. Internal error: {one_line(error)}"


def cut_short(asked: int, count: int) -> str:
    """Why a window has fewer steps than were asked for, and what to do."""
    return (
        f"annotate.profile recorded {count} of the {asked} steps that were asked for (active={asked}): the loop ended. "
        "Lower `active`, or run more steps."
    )


def nothing_recorded(options: CaptureOptions, steps: int, own_schedule: bool) -> str:
    """Why a capture has no window, and what to do."""
    what = "annotate.profile recorded nothing"
    if steps == 0:
        return f"{what}: no step was taken. Loop over `prof.steps(loader)`, or call `prof.step()` after each batch."
    if not own_schedule:
        return (
            f"{what}: the loop ended after {steps} steps, before the schedule asked for recording. Have it ask "
            "earlier, or run more steps."
        )
    if options.first_recorded_step is None:
        return (
            f"{what}: the loop ended after {steps} steps, before its step time had settled. Give a number of steps: "
            "wait=2, for instance."
        )
    return (
        f"{what}: the loop ended after {steps} steps, and recording starts after "
        f"{options.first_recorded_step} (wait={options.wait}, warmup={options.warmup}). Lower `wait`, or run "
        "more steps."
    )
