"""A single stage in words: how its calls spread, and the line that a slow call was in."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.hot_lines import ALMOST_ALL
from tb_dataplugin.analyses.slow_calls import SlowCall
from tb_dataplugin.analyses.stage_details import LEAST_FOR_SHARE, StageDetail
from tb_dataplugin.units import count, duration, percent, plural

MOSTLY: Final = 0.5
"""Share of the time that slow calls have, from which the median call says little of a stage."""

ALIKE: Final = 0.02
"""Longest less shortest over the mean duration, up to which calls count as equally long."""


SEVERAL: Final = ": it makes several samples at once, or does what the others need not (a wait, the next file)"
"""The spans of both look alike."""


def detail_sentence(detail: StageDetail) -> str:
    """``600 calls: half take less than 3.20 ms, 95% less than 9.80 ms. The slowest 5% take 41.0% of the time.``"""
    calls = plural(detail.count, "call")
    shortest = detail.histogram.edges_ns[0]
    if detail.max_ns - shortest <= ALIKE * detail.mean_ns:
        return f"{calls} of {duration(detail.mean_ns / 1e3)}{' each' if detail.count > 1 else ''}."
    if detail.count < LEAST_FOR_SHARE:
        return f"{calls}, from {duration(shortest / 1e3)} to {duration(detail.max_ns / 1e3)}."
    p50, p95 = duration(detail.p50_ns / 1e3), duration(detail.p95_ns / 1e3)
    slow = f"The slowest 5% take {percent(detail.slow_share)} of the time."
    return f"{calls}: half take less than {p50}, 95% less than {p95}. {slow}{slow_kind_sentence(detail)}"


def slow_kind_sentence(detail: StageDetail | None) -> str:
    """To stand behind another sentence."""
    text = slow_kind_text(detail) if detail else ""
    return f" {text[0].upper()}{text[1:]}." if text else ""


def slow_kind_text(detail: StageDetail) -> str:
    """``one call in 4 has 99.7% of the time: it makes several samples at once, or ...``; "" where no such calls have
    most of it.
    """
    kind = detail.slow_kind
    if kind is None or kind.time_share < MOSTLY:
        return ""
    makes_all = detail.stage.kind == "sample" and not detail.has_index and kind.time_share >= ALMOST_ALL
    makes_all &= kind.among_quick  # else they are of one DataLoader worker, which has slow data
    why = SEVERAL if makes_all else ""
    return f"one call in {count(round(kind.of / kind.calls))} has {percent(kind.time_share)} of the time{why}"


def call_line(call: SlowCall) -> str:
    """``RandomMask.dilate at train.py:41``; "" where too few stacks were sampled in the call."""
    return f"{call.place.function} at {call.place.short}" if call.place else ""
