from __future__ import annotations

import re
from dataclasses import replace

from tb_dataplugin.analyses.thread_limits import Limits, Side
from tb_dataplugin.findings.limit_texts import limit_text
from tb_dataplugin.findings.rules.leading_stage import check
from tests.tb_dataplugin.findings.cases import input_bound, signals_of


def side(no_cpu_ns: int = 0, running_ns: int = 0, samples: int = 100, gc_ns: int = 0, gil_ns: int | None = 0) -> Side:
    return Side(gil_ns, gc_ns, no_cpu_ns, 0, running_ns, samples)


def limits(training: Side, workers: Side | None = None, awaited_ns: int = 0) -> Limits:
    return Limits(10_000_000, training, 0, awaited_ns, workers)


def test_the_largest_share_has_its_interval_and_what_ran_stands_beside_it() -> None:
    assert limit_text(limits(side(4_500_000, 5_500_000))) == (
        "the training thread was waiting for a CPU for 45.0% of it (95% interval 35.6% to 54.8%), running for 55.0%, "
        "from 100 samples of its state"
    )


def test_fewer_samples_say_less() -> None:
    assert "95% interval 24.5% to 67.3%" in limit_text(limits(side(4_500_000, 5_500_000, samples=17)))


def test_nothing_is_said_of_a_thread_that_only_runs() -> None:
    assert limit_text(limits(side(running_ns=10_000_000))) == ""
    assert limit_text(limits(side(), side(running_ns=10_000_000), awaited_ns=10_000_000)) == ""


def test_what_the_training_thread_does_in_its_data_wait_is_not_called_the_workers() -> None:
    """They hold up the smallest part of it."""
    both = limits(side(2_400_000, 7_500_000), side(running_ns=100_000), awaited_ns=100_000)
    assert limit_text(both) == (
        "the training thread was waiting for a CPU for 24.0% of it (95% interval 16.7% to 33.2%), running for 75.0%, "
        "from 100 samples of its state"
    )


def test_it_is_said_for_how_long_it_waits_for_workers_and_what_these_did() -> None:
    both = limits(side(0, 2_000_000), side(6_000_000, 2_000_000, samples=300), awaited_ns=8_000_000)
    assert limit_text(both) == (
        "the training thread was running for 20.0% of it (95% interval 13.3% to 28.9%), waiting for DataLoader workers "
        "to build its batch for 80.0%: these were waiting for a CPU for 60.0% (95% interval 50.2% to 69.1%), "
        "running for 20.0%, from 100 samples of the training thread and 300 of theirs"
    )


def test_what_it_is_blocked_on_is_said_where_a_finished_batch_is_on_its_way_and_why_a_stage_may_have_the_wait() -> None:
    blocked = Side(0, 0, 0, 4_500_000, 5_500_000, 100)
    assert limit_text(limits(blocked)).startswith("the training thread was blocked for 45.0% of it (95% interval ")
    assert limit_text(replace(limits(blocked), arriving_ns=3_000_000)) == (
        "the training thread was waiting for a finished batch to arrive for 30.0% of it (95% interval 21.9% to 39.6%), "
        "blocked for 15.0%, running for 55.0%, from 100 samples of its state; stages have their parts of the data wait "
        "by what made batches late, not by what went on meanwhile"
    )


def test_of_workers_that_were_not_sampled_nothing_is_said_but_the_wait_for_them() -> None:
    unknown = limits(side(2_000_000), awaited_ns=8_000_000)
    assert unknown.blocked_ns is None
    assert limit_text(unknown).startswith("the training thread was waiting for a CPU for 20.0% of it (95% interval ")
    assert limit_text(unknown).endswith(
        "), waiting for DataLoader workers to build its batch for 80.0%, from 100 samples of its state"
    )


def test_whose_collector_it_is_is_said_and_what_is_measured_has_no_interval() -> None:
    workers = side(1_000_000, 4_000_000, gc_ns=1_500_000)
    assert limit_text(limits(side(gc_ns=3_500_000), workers, awaited_ns=6_500_000)) == (
        "the training thread was in Python's garbage collector for 35.0% of it, waiting for DataLoader workers to "
        "build its batch for 65.0%: these were in Python's garbage collector for 15.0% (95% interval 9.31% to "
        "23.3%), waiting for a CPU for 10.0%, running for 40.0%, from 100 samples of the training thread and 100 of "
        "theirs"
    )


def test_shares_add_up_to_the_whole_however_little_of_it_ran() -> None:
    both = limits(side(3_100_000, 400_000), side(4_300_000, 2_200_000), awaited_ns=6_500_000)
    assert [float(share) for share in re.findall(r"for ([\d.]+)%", limit_text(both))] == [31.0, 4.0, 65.0, 43.0, 22.0]


def test_it_is_said_who_waits_for_pythons_lock() -> None:
    both = limits(side(gil_ns=5_000_000), side(0, 4_000_000, gil_ns=1_000_000), awaited_ns=5_000_000)
    assert both.gil_ns == 6_000_000
    assert limit_text(both) == (
        "the training thread was waiting for Python's lock (GIL) for 50.0% of it (95% interval 40.4% to 59.6%), "
        "waiting for DataLoader workers to build its batch for 50.0%: these were waiting for Python's lock (GIL) for "
        "10.0% (95% interval 5.52% to 17.4%), running for 40.0%, from 100 samples of the training thread and 100 of "
        "theirs"
    )
    assert replace(both, training=side(gil_ns=None)).gil_ns is None


def test_calls_that_are_too_short_for_their_limit_have_none_in_evidence_either() -> None:
    """As the table of stages says of them; a clock reading is off by a third of such a call."""
    signals = signals_of(input_bound(stages={"sample::Pets": (0.0, 1.0, 1.0)}))
    rows = tuple(replace(row, count=1_000 * row.count) for row in signals.stages)
    said = [str(check(one)) for one in (signals, replace(signals, stages=rows))]
    assert ["running on a CPU for" in text for text in said] == [True, False]
