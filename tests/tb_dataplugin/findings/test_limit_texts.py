from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.analyses.thread_limits import Limits
from tb_dataplugin.findings.limit_texts import limit_text


def limits(no_cpu_ns: int | None, blocked_ns: int = 0, samples: int = 100) -> Limits:
    return Limits(10_000_000, 0, 0, no_cpu_ns, blocked_ns, 0, samples)


def test_the_largest_share_has_its_interval_and_what_ran_stands_beside_it() -> None:
    assert limit_text(limits(4_500_000)) == (
        "the training thread was waiting for a CPU for 45.0% of it (95% interval 35.6% to 54.8%), running for 55.0%, "
        "from 100 samples of its state"
    )


def test_fewer_samples_say_less() -> None:
    assert "95% interval 24.5% to 67.3%" in limit_text(limits(4_500_000, samples=17))


def test_what_ran_is_unknown_where_one_limit_is() -> None:
    assert "running" not in limit_text(limits(None, blocked_ns=6_000_000))


def test_whose_collector_it_is_is_said_and_what_is_measured_has_no_interval() -> None:
    both = replace(limits(1_000_000), gc_ns=5_000_000, gc_in_workers_ns=1_500_000, with_workers=True)
    assert limit_text(both) == (
        "the training thread was in Python's garbage collector for 35.0% of it; the DataLoader workers were in "
        "Python's garbage collector for 15.0% of it (95% interval 9.31% to 23.3%), waiting for a CPU for 10.0%, "
        "running for 40.0%, from 100 samples of their state"
    )


def test_it_is_said_who_waits_for_pythons_lock() -> None:
    both = replace(limits(0), gil_ns=6_000_000, in_workers_ns=1_000_000, with_workers=True)
    assert limit_text(both) == (
        "the training thread was waiting for Python's lock (GIL) for 50.0% of it (95% interval 40.4% to 59.6%); the "
        "DataLoader workers were waiting for Python's lock (GIL) for 10.0% of it (95% interval 5.52% to 17.4%), "
        "running for 40.0%, from 100 samples of their state"
    )
