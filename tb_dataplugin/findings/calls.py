"""The calls of a stage, and whether a few of them are all that it costs: the first in a process may import."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tb_dataplugin.analyses.call_kinds import SLOW
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import ONE_CALL


@dataclass(frozen=True, slots=True)
class AllCalls:
    """All calls of a stage, anywhere in the tree; also those that began before the window, where they matter."""

    count: int
    total_us: float  # of the calls, with nested stages, without full collections of garbage
    median_us: float  # of the row with most calls
    longest_us: float  # at least so long without them
    long_wait: float | None  # share of the data wait that those like the longest caused; None where that is not known

    may_be_first: bool = True  # most of those like the longest, in their process (`first_calls`)
    long_line: HotLine | None = None  # of those like the longest; None where their stacks do not show one

    @staticmethod
    def of(rows: Iterable[StageCalls]) -> AllCalls | None:
        known = list(rows)
        if not known:
            return None
        before = [calls.before for calls in known if calls.before is not None]
        longest = [_longest_us(calls) for calls in known]
        longest_us = max(*longest, *(one.longest_ns / 1e3 for one in before), 0.0)
        long = [calls for calls in known if 2 * calls.max_us >= longest_us]
        long_before = [one for one in before if 2 * one.longest_ns / 1e3 >= longest_us]
        waited_us = sum(calls.data_wait_us or 0.0 for calls in known)
        is_known = waited_us > 0 and all(calls.long_wait_us is not None for calls in long)
        long_wait_us = sum(calls.long_wait_us or 0.0 for calls in long) + sum(one.wait_ns / 1e3 for one in long_before)
        times = [(calls.max_us, calls.long_first) for calls in long]
        times += [(one.longest_ns / 1e3, float(one.is_first)) for one in long_before]
        return AllCalls(
            count=sum(calls.count for calls in known) + sum(one.count for one in before),
            total_us=sum(calls.total_us - calls.collected_us for calls in known)
            + sum(one.total_ns / 1e3 for one in before),
            median_us=max(known, key=lambda calls: calls.count).p50_us,
            longest_us=longest_us,
            long_wait=long_wait_us / waited_us if is_known else None,
            long_line=max(long, key=_longest_us).long_line if long else None,
            may_be_first=2 * sum(us * first for us, first in times) >= sum(us for us, _ in times),
        )

    @property
    def is_one(self) -> bool:
        """One call of several has most of the time, and the others are far shorter."""
        if self.count < 2 or self.longest_us < ONE_CALL * self.total_us:
            return False
        return self.longest_us >= SLOW * (self.total_us - self.longest_us) / (self.count - 1)

    def are_few(self, signals: Signals) -> bool:
        """One call of several has most of the time, or as many as there are DataLoader workers: and of the data wait,
        as a call that the steps looked at do not wait for is another step's.
        """
        if self.long_wait is not None and self.long_wait < ONE_CALL:
            return False
        workers = signals.num_workers or 1
        typical_us = self.count * self.median_us
        is_uneven = self.count > 2 * workers and typical_us < ONE_CALL * self.total_us
        return self.is_one or (is_uneven and self.longest_us * workers >= ONE_CALL * self.total_us)


def _longest_us(calls: StageCalls) -> float:
    """Without full collections of garbage."""
    if calls.longest_us is not None:
        return calls.longest_us
    return max(calls.p50_us, calls.max_us - calls.collected_us)
