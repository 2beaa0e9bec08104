"""Data pipelines whose parts can be taken away one at a time, in the manner of real users.

`kit` has what they are made of; `in_workers`, `in_loop`, `of_files`, `of_records`, `in_python`, `unseen_*`,
`street_*`, `fresh_*`, `unread_*`, `stored_*` and `of_dlio` the pipelines. Which of them rules may be tuned on was fixed
before the first run: `group` is "tune" or "judge"; "third" came when the model had been mended in view of "judge",
"fourth" in view of "third", and "fifth" in view of "fourth"; "sixth" judges the same model as "fifth". "seventh" came
later, and reads from disks and networks; four of its pipelines run in DLIO's environment.
"""

from __future__ import annotations

from benchmarks.counterfactual_pipelines import (
    fresh_images,
    fresh_records,
    fresh_signals,
    in_loop,
    in_python,
    in_workers,
    of_dlio,
    of_files,
    of_records,
    stored_files,
    stored_packs,
    street_images,
    street_signals,
    street_stores,
    street_words,
    unread_images,
    unread_records,
    unread_signals,
    unseen_data,
    unseen_loops,
)
from benchmarks.counterfactual_pipelines.kit import Pipeline

PIPELINES: dict[str, Pipeline] = {
    pipeline.name: pipeline
    for module in (
        in_workers,
        in_loop,
        of_files,
        of_records,
        in_python,
        unseen_data,
        unseen_loops,
        street_images,
        street_signals,
        street_words,
        street_stores,
        fresh_images,
        fresh_signals,
        fresh_records,
        unread_images,
        unread_signals,
        unread_records,
        stored_files,
        stored_packs,
        of_dlio,
    )
    for pipeline in module.PIPELINES
}
