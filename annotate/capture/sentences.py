"""What a capture says to its user."""

from __future__ import annotations

from typing import Final

from annotate.options import CaptureOptions

OTHER: Final = "another torch.profiler is open in this process, and torch can run one at a time"
RECORDING_ALREADY: Final = "an annotate.profile is open already: leave it before another profile or replay"
NO_STAGE: Final = (
    "no stage was recorded: no annotated object ran in the window. Pass the loader that you iterate to "
    "annotate.loader, or loop over prof.steps(loader)"
)
USES_OURS: Final = "the program uses annotate itself"
GAVE_WAY: Final = (
    "annotate.profile stopped recording this window: another torch.profiler began, and torch can run one at a time. "
    "The other's trace is as torch writes it, without stages. Remove one of the two, or let them record different steps"
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
