"""Whether a capture shows enough of its loop to predict from."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.built_beside import find_built_beside
from tb_dataplugin.analyses.driving import unmatched_loader
from tb_dataplugin.analyses.fed_loop import is_fed
from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.unfollowed import unfollowed_workers
from tb_dataplugin.units import plural

LEAST_STEPS: Final = 4
"""Fewer do not show how steps differ."""

AGAIN: Final = "call annotate.loader(loader) and capture again"

BUILT_BESIDE: Final = (
    "another thread of the program builds the loop's batches, which cannot be simulated; what takes its time is in the "
    "findings of the report"
)

TAKEN_BESIDE: Final = (
    "another thread takes the batches from the DataLoader, so the data wait is unknown; pass the DataLoader to "
    "annotate.loader, loop over prof.steps(...) of annotate.profile in the thread that trains, and capture again"
)

NOT_FOLLOWED: Final = (
    "its loop iterates no DataLoader, and the program one that it does not follow; pass that one to annotate.loader "
    "before it is iterated, and capture again"
)

UNMATCHED: Final = (
    "its steps take from {iterator}, which is no DataLoader, while another thread takes batches from {loader}: these "
    "are not one for each step, so which of them a step waits for is not known; what takes their time is in the "
    "findings of the report"
)


def why_unpredictable(results: Results) -> str:
    """ "" where it does."""
    steps = 0 if results.steps is None else len(results.steps.rows)
    if steps < LEAST_STEPS:
        return f"it has {plural(steps, 'step') if steps else 'no steps'}, and a prediction takes {LEAST_STEPS}"
    if results.trace.info.mode == "replay":
        return "a replay has no training steps; take the capture of a run"
    if results.loader is None and is_fed(results.trace, results.window):
        return BUILT_BESIDE if results.settings and results.settings.num_workers == 0 else TAKEN_BESIDE
    if results.loader is None:
        return f"the data wait was not recorded; {AGAIN}"
    if results.settings is None:
        return f"the settings of its DataLoader were not recorded (a plain capture has none); {AGAIN}"
    if results.restarts:
        return "its steps make their iterators anew, so it has no steady state; mend that first"
    if loader := unmatched_loader(results.trace, results.window, results.settings):
        return UNMATCHED.format(iterator=f"a {results.settings.name or 'iterator'}", loader=name_of(loader))
    if results.settings.num_workers and results.workers is None:
        return "its DataLoader workers left no records"
    if results.settings.num_workers is None and results.workers is None and unfollowed_workers(results) is not None:
        return NOT_FOLLOWED
    if find_built_beside(results) is not None:
        return BUILT_BESIDE
    return "" if results.stages else f"no stage was recorded; {AGAIN}"
