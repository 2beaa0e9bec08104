"""Runs every rule and orders what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.rules import (
    batchable_transforms,
    blocking_copies,
    collate_heavy,
    device_bound,
    float_before_transfer,
    head_of_line,
    launch_bound,
    lazy_decode,
    leading_stage,
    more_workers_will_not_help,
    no_stage_markers,
    oversubscribed,
    prefetch_too_shallow,
    python_pauses,
    shrink_first,
    single_process_loading,
    slow_first_batch,
    slow_samples,
    small_reads,
    storage_bound,
    sync_bound,
    too_few_workers,
    transfer_heavy,
    uneven_workers,
    unpinned_copies,
)
from tb_dataplugin.findings.signals import Signals

Rule = Callable[[Signals], Finding | Abstention | None]

RULES: tuple[Rule, ...] = (
    leading_stage.check,
    small_reads.check,
    shrink_first.check,
    batchable_transforms.check,
    collate_heavy.check,
    transfer_heavy.check,
    float_before_transfer.check,
    lazy_decode.check,
    single_process_loading.check,
    too_few_workers.check,
    more_workers_will_not_help.check,
    storage_bound.check,
    oversubscribed.check,
    prefetch_too_shallow.check,
    head_of_line.check,
    uneven_workers.check,
    slow_samples.check,
    slow_first_batch.check,
    unpinned_copies.check,
    blocking_copies.check,
    launch_bound.check,
    sync_bound.check,
    python_pauses.check,
    device_bound.check,
    no_stage_markers.check,
)
"""In the order of a batch's way: what samples cost, who makes them, how they arrive, and what is no matter of data."""

REPLAY_RULES: tuple[Rule, ...] = (
    leading_stage.check,
    small_reads.check,
    shrink_first.check,
    batchable_transforms.check,
    collate_heavy.check,
    lazy_decode.check,
    no_stage_markers.check,
)
"""A replay has neither workers nor training: only what the samples cost can be told from it."""

_RANK = {"high": 0, "medium": 1, "low": 2}


def _told(finding: Finding) -> Finding:
    """Without evidence that is empty because nothing was known of it."""
    return replace(finding, evidence=tuple(filter(None, finding.evidence)))


def find(signals: Signals) -> tuple[tuple[Finding, ...], tuple[Abstention, ...]]:
    """Findings, the severest first, then what is only possible last, then the most gain; and the rules that could not
    tell.
    """
    said = [rule(signals) for rule in (REPLAY_RULES if signals.mode == "replay" else RULES)]
    found = [_told(one) for one in said if isinstance(one, Finding)]
    found.sort(key=lambda one: (_RANK[one.severity], one.confidence == "possible", -(one.gain_us_per_step or 0.0)))
    return tuple(found), tuple(one for one in said if isinstance(one, Abstention))
