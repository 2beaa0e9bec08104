"""One data wait is offered by one finding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.taken_cpus import TakenCpus
from tb_dataplugin.findings.at_starts import at_starts_us
from tb_dataplugin.findings.device_signals import CopySignals, IdleSignals
from tb_dataplugin.findings.engine import run_rules
from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.gain import gain_of
from tb_dataplugin.findings.rivals import DELIVERY, OUTSIDE, PINNED, Overlap, find_overlaps, without_rivals
from tb_dataplugin.findings.rules import head_of_line, prefetch_too_shallow
from tb_dataplugin.findings.saving import OF_STEP
from tb_dataplugin.findings.step_advice import PINNING
from tb_dataplugin.units import percent
from tests.tb_dataplugin.findings.cases import held_up, launching, signals_of
from tests.tb_dataplugin.findings.test_consistent import PLANTED
from tests.tb_dataplugin.findings.test_gain import with_starts


def test_order_and_prefetching_do_not_both_sell_one_wait() -> None:
    signals = signals_of(held_up())
    assert head_of_line.check(signals) and prefetch_too_shallow.check(signals)
    findings, _ = run_rules(signals)
    (kept,) = [named for named in findings if named.rule in DELIVERY]
    assert kept.rule == "head_of_line" and signals.workers is not None
    assert [fact.text for fact in kept.finding.evidence if "are starved for" in fact.text] == [
        f"DataLoader workers are starved for {percent(signals.workers.starved)} {signals.workers.of_whole}"
    ]  # once: the other finding's title says no more than that


def test_delivery_never_promises_more_than_the_whole_data_wait() -> None:
    for name, builder in PLANTED.items():
        signals = signals_of(builder)
        findings, _ = run_rules(signals)
        gains = [named.finding.gain_us_per_step or 0.0 for named in findings if named.rule in DELIVERY]
        whole = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
        assert len(gains) < 2 or sum(gains) <= whole * 1.001, name


def test_a_transfer_that_leaves_enough_for_the_others_stays_beside_them() -> None:
    signals = signals_of(held_up())
    findings, _ = run_rules(signals)
    first = next(named for named in findings if named.rule == "head_of_line")
    transfer = replace(first, rule="transfer_heavy", finding=replace(first.finding, gain_us_per_step=0.1))
    assert without_rivals([first, transfer], signals) == [first, transfer]
    greedy = replace(transfer, finding=replace(first.finding, gain_us_per_step=signals.wait_cost_us))
    assert [named.rule for named in without_rivals([first, greedy], signals)] == ["head_of_line"]


def test_gains_of_one_data_wait_are_said_not_to_add_up() -> None:
    signals = signals_of(held_up())
    (first, *_), _ = run_rules(signals)
    whole = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
    most = replace(first, gain=gain_of(0.6 * whole, signals, of_wait=True))
    step = replace(first, gain=gain_of(0.6 * whole, signals))
    assert find_overlaps([step, most, most], signals) == (Overlap(whole, (2, 3)),)
    assert not find_overlaps([most, step], signals), "only one of them is about data wait"
    assert not find_overlaps([most], signals)


def test_what_findings_save_together_has_all_of_the_recurring_starts_where_one_has_its_part() -> None:
    signals = signals_of(with_starts(2, 5, 8, built_us=1900))
    findings, _ = run_rules(signals)
    first = next(named for named in findings if at_starts_us(named.finding.evidence))
    loop_us = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
    (together,) = find_overlaps([first, first], signals)
    assert together.us == pytest.approx(loop_us + 2400 / 3)
    besides = replace(first, finding=replace(first.finding, evidence=()), gain=gain_of(loop_us, signals, of_wait=True))
    (together,) = find_overlaps([besides, besides], signals)
    assert together.us == pytest.approx(loop_us)
    assert together.of == "data wait"


def test_what_findings_save_together_counts_what_each_gives_back_to_the_step() -> None:
    """No more than the DataLoader workers take, and never less than one of them alone."""
    signals = signals_of(held_up())
    (first, *_), _ = run_rules(signals)
    whole = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
    gives = replace(first.finding, evidence=(time(OF_STEP, 30.0, "30 us of the step"),))
    more = replace(first, finding=gives, gain=gain_of(whole + 30.0, signals, of_wait=True))
    assert find_overlaps([more, more], signals) == (
        Overlap(whole + 60.0, (1, 2), "data wait and CPU time of the step"),
    )
    taken = TakenCpus(own_ns=100_000, delayed=0.4, threads=1.0, workers_ns=1e6, by_workers=1.0)
    assert taken.saved_us(1.0) == pytest.approx(40.0)
    (together,) = find_overlaps([more, more], replace(signals, taken=taken))
    assert together.us == pytest.approx(whole + 40.0)


def test_what_all_stages_take_of_the_step_is_no_time_beside_what_each_gives_back() -> None:
    signals = signals_of(held_up())
    (first, *_), _ = run_rules(signals)
    whole = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
    taken = TakenCpus(own_ns=100_000, delayed=0.4, threads=1.0, workers_ns=1e6, by_workers=1.0)
    gives = replace(first.finding, evidence=(time(OF_STEP, 30.0, "30 us of the step"),))
    stage = replace(first, finding=gives, gain=gain_of(whole + 30.0, signals, of_wait=True))
    cpus = replace(first, rule="taken_cpus", gain=gain_of(40.0, signals))
    (together,) = find_overlaps([cpus, stage], replace(signals, taken=taken))
    assert together.us == pytest.approx(whole + 40.0) and together.places == (1, 2)


def test_gains_of_one_idle_time_are_said_not_to_add_up() -> None:
    """The device is idle for 1.8 ms of a step of 2 ms; with DataLoader workers that allow less, for less."""
    whole = 10_000.0
    idle = IdleSignals(total_us=0.9 * whole, by_cause_us={"data_wait": 0.1 * whole, "host": 0.8 * whole})
    plain = signals_of(launching())
    (first, *_), _ = run_rules(plain)
    signals = replace(plain, idle=idle, window_us=whole, loop_us=whole, step_count=5)
    asleep = replace(first, rule="python_pauses", gain=gain_of(1500.0, signals))
    synced = replace(first, rule="sync_bound", gain=gain_of(200.0, signals))
    assert not find_overlaps([asleep, replace(synced, gain=gain_of(100.0, signals))], signals)
    copies = CopySignals(4, 4, 0, 4, 4, copy_us=500.0, overlapped_us=100.0, gigabytes_per_s=None)
    signals = replace(signals, copies=copies)
    assert find_overlaps([asleep, synced], signals) == (Overlap(1600.0, (1, 2), OUTSIDE),)
    copied = replace(synced, rule="unpinned_copies")
    assert find_overlaps([asleep, synced, copied], signals) == (Overlap(1680.0, (1, 2, 3), OUTSIDE),)


def test_what_findings_save_together_is_never_less_than_one_of_them_alone() -> None:
    """Also where one of them expects more to be left of a step than the other."""
    signals = signals_of(held_up())
    (first, *_), _ = run_rules(signals)
    step_us = signals.step_us or 0.0
    pins = replace(first.finding, evidence=(time(PINNING, step_us - 10.0, "left"),))
    frees = replace(first, rule="slow_step_line", finding=pins, gain=gain_of(8.0, signals))
    copies = replace(first, rule="unpinned_copies", gain=gain_of(15.0, signals))
    assert Overlap(15.0, (1, 2), PINNED) in find_overlaps([copies, frees], signals)
