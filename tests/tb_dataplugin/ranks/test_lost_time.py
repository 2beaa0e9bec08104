"""Made-up ranks: what is lost, who owns it, and why."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.ranks import RunOfRanks, summarise, tabulate_rank, verdict_of
from tests.rank_traces import Plan, Spent, captures, later, tables
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import WAIT

STEPS = 8
COUNTED = STEPS - 1
"""The first collective has no other before it, from which all ranks started together."""


def run_of(plan: Plan, folder: Path, ranks: int = 2, steps: int = STEPS) -> RunOfRanks:
    return summarise("run", tables(captures(plan, ranks, steps), folder))


def slow(rank: int, spent: Spent) -> Plan:
    return lambda number, step: spent if number == rank else Spent()


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("spent", "cause"),
    [(Spent(decode=4_000), "decode::jpeg"), (Spent(compute=5_000), "compute"), (Spent(host=3_500), "host")],
)
def test_the_last_rank_owns_what_all_others_lose(tmp_path: Path, ranks: int, spent: Spent, cause: str) -> None:
    run = run_of(slow(1, spent), tmp_path, ranks)
    (owner,) = run.owners
    assert (owner.rank, owner.cause, owner.pattern) == (1, cause, "fixed")
    assert owner.lost_us == pytest.approx(3_000 * (ranks - 1) * COUNTED)
    assert [row.inherited_us for row in run.rows] == [0 if rank == 1 else 3_000 * COUNTED for rank in range(ranks)]


def test_lost_time_is_divided_by_excess(tmp_path: Path) -> None:
    run = run_of(slow(0, Spent(decode=3_000, compute=3_000)), tmp_path)
    assert [owner.cause for owner in run.owners] == ["decode::jpeg", "compute"]
    assert [owner.lost_us for owner in run.owners] == pytest.approx([2_000 * COUNTED, 1_000 * COUNTED])


def test_data_wait_goes_to_the_stage_that_is_slower_than_elsewhere(tmp_path: Path) -> None:
    """Whoever waits for data waits for reading too, which takes as long on every rank."""
    fast, late = Spent(read=800, decode=1_000, in_time=True), Spent(read=800, decode=4_000)
    run = run_of(lambda rank, step: late if rank == 1 else fast, tmp_path)
    (owner,) = run.owners
    assert owner.cause == "decode::jpeg"
    assert owner.lost_us == pytest.approx(4_800 * COUNTED)


def test_data_wait_that_no_slower_stage_explains_goes_to_all(tmp_path: Path) -> None:
    """All stages are as fast there: the rank has too few workers, say."""
    run = run_of(lambda rank, step: Spent(read=1_000, decode=2_000, in_time=rank != 1), tmp_path)
    assert [owner.cause for owner in run.owners] == ["decode::jpeg", "read::file"]
    assert [owner.lost_us for owner in run.owners] == pytest.approx([2_000 * COUNTED, 1_000 * COUNTED])


def test_what_the_owner_did_less_of_does_not_count(tmp_path: Path) -> None:
    run = run_of(slow(0, Spent(decode=5_000, compute=1_000)), tmp_path)
    (owner,) = run.owners
    assert owner.cause == "decode::jpeg"
    assert owner.lost_us == pytest.approx(3_000 * COUNTED)


def test_all_lost_time_has_an_owner(tmp_path: Path) -> None:
    run = run_of(lambda rank, step: Spent(decode=1_000 + 700 * ((rank * 5 + step * 3) % 4)), tmp_path, ranks=4)
    assert sum(owner.lost_us for owner in run.owners) == pytest.approx(sum(row.inherited_us for row in run.rows))
    assert run.lost_us < run.whole_us


def test_a_fixed_owner_is_named_in_the_verdict(tmp_path: Path) -> None:
    verdict = verdict_of(run_of(slow(1, Spent(decode=4_000)), tmp_path))
    assert verdict == (
        "Rank 1 holds up the others: 22.8% of all rank time is lost waiting for it, because decode::jpeg takes 4.0 "
        "times as long there (host host1)."
    )


def test_a_slow_rank_that_changes_from_step_to_step_is_roaming(tmp_path: Path) -> None:
    run = run_of(lambda rank, step: Spent(decode=4_000 if step % 4 == rank else 1_000), tmp_path, ranks=4, steps=17)
    assert {owner.pattern for owner in run.owners} == {"roaming"}
    assert verdict_of(run).startswith("The rank that comes last changes from step to step")
    assert "data wait for decode::jpeg" in verdict_of(run)


def test_where_all_ranks_wait_for_data_longer_than_for_one_another_that_is_said(tmp_path: Path) -> None:
    run = run_of(lambda rank, step: Spent(decode=9_000 if step % 4 == rank else 8_000), tmp_path, ranks=4, steps=17)
    assert "More is to gain from their data: all ranks wait for it, for " in verdict_of(run)
    rows = tuple(replace(row, data_wait_us=1.0) for row in run.rows)
    assert "More is to gain" not in verdict_of(replace(run, rows=rows))


def test_equal_ranks_lose_nothing(tmp_path: Path) -> None:
    run = run_of(lambda rank, step: Spent(), tmp_path)
    assert run.owners == ()
    assert verdict_of(run) == "No rank holds up the others: 0% of all rank time is lost in collectives."


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (0, {"host": 2_250, "decode::jpeg": 750}),  # ready to run for half of the time
        (1, {"decode::jpeg": 3_000}),
        (2, {"host": 3_000}),
    ],
)
def test_what_python_s_lock_and_a_missing_cpu_keep_a_rank_from_is_the_host_s(
    tmp_path: Path, state: int, expected: dict[str, float]
) -> None:
    """Whatever it was about to do: whoever holds the lock, or the CPUs, is why."""
    builders = captures(slow(1, Spent(decode=4_000)), 2, STEPS)
    times = range(0, 7_000 * STEPS, 10)
    builders[1].sampled(times, [state] * len(times), delay_us=5)
    run = summarise("run", tables(builders, tmp_path))
    assert {owner.cause: owner.lost_us / COUNTED for owner in run.owners} == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("seconds", [3, -7])
def test_a_shifted_trace_changes_nothing_but_its_clock(tmp_path: Path, seconds: int) -> None:
    plan = slow(1, Spent(decode=4_000))
    straight, (first, second) = run_of(plan, tmp_path), captures(plan)
    (tmp_path / "shifted").mkdir()
    shifted = summarise("run", tables([first, later(second, seconds)], tmp_path / "shifted"))
    assert shifted.owners == straight.owners
    assert (shifted.clocks[1].ahead_ns, shifted.clocks[1].is_applied) == (seconds * 10**9, True)
    assert shifted.clocks[1].error_ns < 1_000


def test_clocks_of_one_host_are_left_alone_unless_they_are_far_apart(tmp_path: Path) -> None:
    builders = captures(slow(1, Spent(decode=4_000)), host="node")
    assert not any(clock.is_applied for clock in summarise("run", tables(builders, tmp_path)).clocks)
    shifted = summarise("run", tables([builders[0], later(builders[1], 0.01)], tmp_path))
    assert shifted.clocks[1].ahead_ns == 10**7


@pytest.mark.parametrize("has_steps", [True, False])
def test_captures_of_one_host_that_do_not_overlap_in_time_are_not_joined(tmp_path: Path, has_steps: bool) -> None:
    """Of two runs, or of other steps: even where their steps have the same numbers."""
    first, second = captures(slow(1, Spent(decode=4_000)), host="node")
    for builder in (first, second) if not has_steps else ():
        builder.events = [event for event in builder.events if "ProfilerStep" not in event["name"]]
    run = summarise("run", tables([first, later(second, 2)], tmp_path))
    assert (run.collectives, run.owners, run.apart is not None) == (0, (), True)
    assert not any(clock.is_applied for clock in run.clocks)
    assert verdict_of(run).startswith(
        "Time lost across ranks is unknown: the captures of rank 0 and rank 1, both of host node, do not overlap in "
        "time: rank 1's begins 1.95 s after rank 0's has ended."
    )


def test_without_numbers_and_steps_the_clock_of_one_host_aligns_the_order(tmp_path: Path) -> None:
    """All steps are alike, so each shift would do by itself; the second window begins two collectives later."""
    first, second = captures(slow(1, Spent(host=3_500)), steps=12, host="node")
    cut = next(event["ts"] for event in second.events if event["name"] == "ProfilerStep#2")
    second.events = [event for event in second.events if event["ts"] >= cut]
    for builder in (first, second):
        builder.events = [event for event in builder.events if "ProfilerStep" not in event["name"]]
    run = summarise("run", tables([first, second], tmp_path))
    assert not run.clocks[1].is_applied
    assert [(owner.rank, owner.cause) for owner in run.owners] == [(1, "host")]
    assert run.owners[0].lost_us == pytest.approx(3_000 * run.collectives)


@pytest.mark.parametrize(("slow_steps", "steps"), [(range(5), 5), ({3}, 12)])
def test_too_few_or_too_uneven_collectives_are_neither_fixed_nor_roaming(
    tmp_path: Path, slow_steps: Container[int], steps: int
) -> None:
    """All lost time is one rank's, in four collectives, or in one of many."""
    run = run_of(
        lambda rank, step: Spent(decode=40_000 if rank == 1 and step in slow_steps else 1_000), tmp_path, steps=steps
    )
    assert [(owner.rank, owner.pattern) for owner in run.owners] == [(1, "unclear")]
    assert "waiting for rank 1, because decode::jpeg takes" in verdict_of(run)
    assert verdict_of(run).endswith("to say whether it is always that rank.")


def test_windows_of_different_steps_are_joined_where_they_overlap(tmp_path: Path) -> None:
    first, second = captures(slow(1, Spent(decode=4_000)), steps=12)
    for builder, gone in ((first, range(1, 4)), (second, range(10, 13))):
        steps = [event for event in builder.events if event["name"] in {f"ProfilerStep#{number}" for number in gone}]
        spans = [(event["ts"], event["ts"] + event["dur"]) for event in steps]
        builder.events = [event for event in builder.events if not any(a <= event["ts"] < b for a, b in spans)]
    run = summarise("run", tables([first, second], tmp_path))
    assert (run.joined_by, run.collectives) == ("step", 5)
    assert [row.steps for row in run.rows] == [6, 6]
    assert run.owners[0].lost_us == pytest.approx(3_000 * 5)


def test_captures_without_a_step_in_common_say_so(tmp_path: Path) -> None:
    first, second = captures(slow(1, Spent(decode=4_000)), steps=12)
    for builder, keep in ((first, range(1, 7)), (second, range(7, 13))):
        names = {f"ProfilerStep#{number}" for number in keep}
        spans = [(event["ts"], event["ts"] + event["dur"]) for event in builder.events if event["name"] in names]
        builder.events = [event for event in builder.events if any(a <= event["ts"] < b for a, b in spans)]
    run = summarise("run", tables([first, second], tmp_path))
    assert run.collectives == 0 and run.owners == ()
    assert any("no collective in common" in note for note in run.notes)


def test_collectives_with_numbers_are_joined_by_them(tmp_path: Path) -> None:
    builders = captures(slow(1, Spent(compute=5_000)))
    for builder in builders:
        builder.events = [event for event in builder.events if "ProfilerStep" not in event["name"]]
        calls = [event for event in builder.events if event["name"] == "c10d::allreduce_"]
        for number, event in enumerate(calls):
            event["args"] |= {"Process Group Name": "0", "Seq": 100 + number}
    run = summarise("run", tables(builders, tmp_path))
    assert (run.joined_by, run.collectives) == ("number", COUNTED)
    assert run.owners[0].rank == 1 and run.owners[0].cause == "compute"


def test_without_numbers_and_steps_the_order_is_aligned(tmp_path: Path) -> None:
    """One window begins two collectives later."""
    jitter = [0, 900, 200, 1_500, 400, 0, 1_100, 700, 300, 1_900]
    first, second = captures(lambda rank, step: Spent(host=500 + jitter[step] + 3_000 * rank), steps=10)
    cut = next(event["ts"] for event in second.events if event["name"] == "ProfilerStep#3")
    second.events = [event for event in second.events if event["ts"] >= cut]
    for builder in (first, second):
        builder.events = [event for event in builder.events if "ProfilerStep" not in event["name"]]
    run = summarise("run", tables([first, second], tmp_path))
    assert (run.joined_by, run.collectives) == ("order", 7)
    assert [(owner.rank, owner.cause) for owner in run.owners] == [(1, "host")]


def test_one_rank_alone_cannot_be_judged(tmp_path: Path) -> None:
    run = summarise("run", tables(captures(lambda rank, step: Spent(), ranks=4)[2:3], tmp_path))
    assert verdict_of(run) == "Only rank 2 has a usable capture: who waits for whom is unknown; capture all ranks."
    assert run.missing == (0, 1, 3)


def test_a_device_that_only_sends_and_receives_says_so() -> None:
    (builder,) = captures(lambda rank, step: Spent(), ranks=1)
    for event in builder.events:
        if event["name"] == "gloo:all_reduce":
            event |= {"cat": "kernel", "name": "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "pid": 0}
            event["args"] = {"device": 0, "stream": 9}
    found = tabulate_rank(results_of(builder))
    assert isinstance(found, Unavailable)
    assert found.message == (
        "the only communication on its device is sends and receives (ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t), of "
        "which the trace does not say which ranks they join"
    )


def test_kernels_of_devices_are_collectives(tmp_path: Path) -> None:
    builders = captures(slow(1, Spent(compute=5_000)))
    for builder in builders:
        for event in builder.events:
            if event["name"] == "gloo:all_reduce":
                event |= {"cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 9}
                event["args"] = {"device": 0, "stream": 9, "Process Group Name": "0"}
    run = summarise("run", tables(builders, tmp_path))
    assert run.collectives == COUNTED
    assert (run.owners[0].rank, run.owners[0].cause) == (1, "compute")


def test_loss_in_another_group_is_passed_on_to_its_owner(tmp_path: Path) -> None:
    """Ranks 0 and 1 meet first, then 1 and 2: rank 2 loses by rank 0's decoding."""
    builders = captures(lambda rank, step: Spent(), ranks=3, steps=0)
    groups = [
        {"pg_name": "a", "ranks": [0, 1]},
        {"pg_name": "b", "ranks": [1, 2]},
        {"pg_name": "all", "ranks": [0, 1, 2]},
    ]
    for builder in builders:
        builder.top_level["distributedInfo"]["pg_config"] = groups
    number = 0
    for step in range(6):
        start = step * 10_000.0
        for rank, builder in enumerate(builders):
            wait = 5_000 if rank == 0 else 1_000
            builder.step(start, 9_900).wait(start, wait, "wait::DataLoader").stage("decode::jpeg", start, wait)
        for group, members, arrivals, end in (
            ("a", (0, 1), (5_000, 1_000), 5_050),
            ("b", (1, 2), (5_100, 1_000), 5_150),
            ("all", (0, 1, 2), (9_000, 9_000, 9_000), 9_050),
        ):
            for rank, arrival in zip(members, arrivals, strict=True):
                named: dict[str, Any] = {"Process Group Name": group, "Seq": number}
                builders[rank].add("cpu_op", "c10d::allreduce_", start + arrival - 10, 10, **named)
                builders[rank].add("user_annotation", "gloo:all_reduce", start + arrival, end - arrival, tid=2)
            number += 1
    run = summarise("run", tables(builders, tmp_path))
    owned = {(owner.rank, owner.cause): owner.lost_us for owner in run.owners}
    assert run.rows[2].inherited_us == pytest.approx(4_100 * 5)
    assert owned[0, "decode::jpeg"] >= 0.95 * run.lost_us


def test_plain_captures_name_the_rank_without_a_stage(tmp_path: Path) -> None:
    """As plain torch.profiler writes them: torch's own wait spans, no stages."""
    builders = captures(slow(1, Spent(decode=4_000)))
    for builder in builders:
        del builder.top_level["dataPipeline"]
        builder.events = [event for event in builder.events if event["name"] != "decode::jpeg"]
        for event in builder.events:
            if event["name"] == "wait::DataLoader":
                event["name"] = WAIT
    run = summarise("run", tables(builders, tmp_path))
    assert [(owner.rank, owner.cause) for owner in run.owners] == [(1, "data wait")]
    assert "because it waits longer for its data" in verdict_of(run)
