from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import pytest

from tb_dataplugin.compare.compared import Compared
from tb_dataplugin.compare.limit import judge_limit
from tb_dataplugin.compare.noise import Change
from tb_dataplugin.compare.own_lines import OwnLine
from tb_dataplugin.compare.parts import compare_parts
from tb_dataplugin.compare.quantity import (
    Bounds,
    Interval,
    Judged,
    Outcome,
    Quantity,
    StageCalls,
    judge_change,
    said_limit,
    surest_first,
)
from tb_dataplugin.compare.settings import SettingChange, compare_settings
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.compare.stages import Typical, says_less
from tb_dataplugin.compare.verdict import judge
from tb_dataplugin.export.compare_markdown import compare_markdown
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.brief import brief_names

WIDE = "too uncertain to compare"


@pytest.mark.parametrize(
    ("kind", "value", "bounds", "significant", "said"),
    [
        ("time", -0.2, Bounds(-0.3, -0.1), True, Judged(Interval(-0.3, -0.1), "−30% to −10%", "faster")),
        ("part", -0.2, Bounds(-0.3, -0.1), True, Judged(Interval(-0.3, -0.1), "−30% to −10%", "less")),
        ("stage", 0.2, Bounds(0.1, 0.3), True, Judged(Interval(0.1, 0.3), "+10% to +30%", "slower")),
        ("part", 0.2, Bounds(-0.1, 0.5), False, Judged(Interval(-0.1, 0.5), "−10% to +50%", "not_significant")),
        ("time", 9.0, Bounds(3.0, 30.0), True, Judged(Interval(3.0, None), "at least +300%", "slower")),
        ("part", 9.0, Bounds(3.0, math.inf), True, Judged(Interval(3.0, None), "at least +300%", "more")),
        ("time", 0.3, Bounds(-1.0, 163.93), False, Judged(None, WIDE, "too_short")),
        ("time", 0.3, Bounds(-0.9, 1.2), False, Judged(None, WIDE, "too_short")),
        ("stage", 0.3, None, False, Judged(None, WIDE, "too_short")),
    ],
)  # fmt: skip
def test_an_interval_is_said_where_it_says_something(
    kind: str, value: float, bounds: Bounds | None, significant: bool, said: Judged
) -> None:
    assert judge_change(kind, value, bounds, significant, same=False) == said  # type: ignore[arg-type]


def test_equal_numbers_are_identical_however_noisy() -> None:
    assert judge_change("time", 0, Bounds(-1, 100), False, same=True) == Judged(None, "identical", "identical")


def test_a_limit_beyond_all_use_is_none() -> None:
    assert said_limit(None) is None and said_limit(math.log(2.1)) is None
    assert said_limit(math.log(1.5)) == pytest.approx(0.5)


def test_a_row_says_how_far_its_time_after_allows_for_the_machine() -> None:
    adjusted = Typical(Change(math.log(0.993)), "cpu", 1.0, 48_000, 47_664, speed_adjusted=True, machine=math.log(1.35))
    assert says_less(adjusted) == "; after: less what a machine 35% slower explains"
    assert says_less(replace(adjusted, machine=0.001)) == ""
    assert says_less(Typical(Change(math.log(0.89)), "wall", 1.0, 20_000, 17_800)) == ""


def test_what_is_too_short_to_compare_has_no_change_in_the_terminal() -> None:
    short = pb.Quantity(kind="part", title="sync", change=35.1, outcome="too_short", interval_text=WIDE)
    time = pb.Quantity(title="time", before_us=10, after_us=8, change=-0.2, outcome="faster", detectable=0.24)
    text = compare_text(pb.Comparison(time=time, parts=[short]))
    assert "3,510%" not in text and "smallest detectable change" not in text


def test_a_setting_that_one_side_did_not_record_is_no_change() -> None:
    known = pb.Capture(mode="train", loader=pb.Loader(batch_size=8))
    runs = [[Run("a", (capture,))] for capture in (known, pb.Capture(mode="train"))]
    assert compare_settings(runs[0], runs[1]) == []


def test_workers_that_only_one_side_shows_may_well_have_changed() -> None:
    known = pb.Capture(mode="unannotated", loader=pb.Loader(num_workers=0))
    runs = [[Run("a", (capture,))] for capture in (known, pb.Capture(mode="unannotated"))]
    assert compare_settings(runs[0], runs[1]) == [SettingChange("num_workers", "0", "not recorded")]


def of_step(
    sharing: tuple[float, float] | None,
    total: Quantity,
    parts: tuple[Quantity, ...] = (),
    stages: tuple[Quantity, ...] = (),
    lines: tuple[OwnLine, ...] = (),
    crowded: str = "",
) -> Compared:
    return Compared("step", 1, sharing, False, "", total, parts, stages, (), own_lines=lines, crowded=crowded)


def test_a_part_that_went_the_other_way_is_said_beside_the_total() -> None:
    total = Quantity("time", "time", "time", 175.0, 140.0, -0.2, Interval(-0.4, -0.01), "−40% to −1.0%", "faster")
    rest = Quantity("part", "rest", "rest of the step", 106.0, 138.0, 0.3, None, WIDE, "too_short")
    known = replace(rest, interval=Interval(0.025, 0.66), interval_text="+2.5% to +66%", outcome="not_significant")
    said = [judge(Compared("step", 1, None, False, "", total, (part,), (), ())).sentence for part in (rest, known)]
    sure = replace(known, outcome="more")
    assert " But the rest of the step rose: 106" in judge(of_step(None, total, parts=(sure,))).sentence
    assert "But" not in said[0]
    assert " But the rest of the step may have risen: 106 → 138 µs" in said[1]
    assert "not significant among all parts" in said[1]


def test_numbers_of_different_programs_are_shown_only_if_asked_for() -> None:
    row = pb.Quantity(kind="stage", title="sample::A", before_us=10, after_us=9, change=-0.1, outcome="not_significant")
    found = pb.Comparison(outcome="not_comparable", sentence="Not comparable: one side is a replay.", stages=[row])
    assert "sample::A" not in compare_text(found) and "--anyway" in compare_text(found)
    assert "sample::A" in compare_text(found, anyway=True)
    assert "sample::A" not in compare_markdown(found) and "sample::A" in compare_markdown(found, anyway=True)


def test_names_lose_the_time_that_ends_them_where_they_still_differ() -> None:
    one, again, other = "a/vm_1.1795581406156583769", "a/vm_1.1795581406156583770", "b/vm_2.1795581406156583771"
    assert brief_names([one, again, other]) == {one: one, again: again, other: "b/vm_2"}


def quantity(name: str, outcome: Outcome, kind: Literal["time", "stage"] = "stage") -> Quantity:
    return Quantity(kind, name, name, 100.0, 150.0, 0.5, None, WIDE, outcome)


def test_what_is_certain_stands_first_and_the_order_stays_otherwise() -> None:
    outcomes: tuple[Outcome, ...] = ("too_short", "not_significant", "slower", "unknown", "new", "identical", "faster")
    ordered = [row.outcome for row in surest_first(quantity(name, name) for name in outcomes)]
    assert ordered == ["slower", "new", "faster", "not_significant", "identical", "too_short", "unknown"]


@pytest.mark.parametrize("total", [quantity("time", "too_short", "time"), None])
def test_a_total_that_is_not_known_comes_after_what_is(total: Quantity | None) -> None:
    stages = [quantity("decode::JPEG", "slower"), quantity("read::open", "too_short")]
    said = judge(Compared("step", 1, None, False, "", total, (), stages, ())).sentence
    first, _, rest = said.partition(". ")
    assert first == "Significant: decode::JPEG takes 50% more self time per call"
    assert rest.startswith("Too short to compare: 100" if total else "How the time changed is unknown: ")


def test_a_stage_whose_change_is_next_to_nothing_of_the_time_is_not_in_the_sentence() -> None:
    total = quantity("time", "not_significant", "time")  # 100 before, 150 after
    calls = [StageCalls(1.0, 1.0, change_us, "cpu", speed_adjusted=False) for change_us in (-2.0, -4.0, None)]
    stages = [replace(quantity("sampler::RandomSampler", "faster"), change=-0.9, calls=each) for each in calls]
    said = ["sampler" in judge(of_step(None, total, stages=(stage,))).sentence for stage in stages]
    assert said == [False, True, True]
    assert any("sampler" in each.text for each in judge(of_step(None, total, stages=(stages[0],))).evidence)
    slower = judge(of_step(None, replace(total, outcome="slower"), stages=(stages[0],)))
    assert "no stage and no setting explains it" in slower.sentence


@pytest.mark.parametrize(
    ("sharing", "said"),
    [
        ((0.1, 0.9), "so two captures of the same program may differ by as much"),  # e^0.8 explains all of 1.5x
        ((0.0, math.log(1.2)), "per step, 1.5x as slow, about 45% of that by more waiting for a CPU. For certainty"),
        ((0.7, 0.7), "and took 2.0x as long for it before, 2.0x after, which is none of the change"),
        ((0.9, 0.1), "which is none of the change"),  # it waited less, and became slower
    ],
)
def test_waiting_for_a_cpu_explains_no_more_than_it_stretched_the_stages(
    sharing: tuple[float, float], said: str
) -> None:
    total = quantity("time", "too_short", "time")
    sentence = judge(Compared("step", 1, sharing, False, "", total, (), (), ())).sentence
    assert sentence.startswith("Not certain: 100 → 150 µs per step") and said in sentence


@pytest.mark.parametrize(("sharing", "why"), [(None, "one run each"), ((0.1, 0.2), "stages waited for a CPU")])
def test_what_makes_a_total_of_single_runs_uncertain_is_one_reason(
    sharing: tuple[float, float] | None, why: str
) -> None:
    total = replace(quantity("time", "slower", "time"), interval=Interval(0.1, 0.9), interval_text="+10% to +90%")
    said = judge(Compared("step", 1, sharing, False, "", total, (), (), ())).sentence
    assert f"({why}: +50%, 95% interval +10% to +90%)" in said


def test_a_change_beyond_waiting_for_a_cpu_is_likely_where_a_stage_certainly_went_that_way() -> None:
    total, stages = quantity("time", "too_short", "time"), [quantity("decode::JPEG", "slower")]
    said = judge(Compared("step", 1, (0.0, math.log(1.2)), False, "", total, (), stages, ()))
    assert said.basis == "“likely” rests on: decode::JPEG takes 50% more self time per call"
    assert said.sentence.startswith(
        "Likely slower, not certain: 100 → 150 µs per step (1.5x), about 45% of that by more waiting for a CPU. "
        "Significant: decode::JPEG takes 50% more self time per call. "
    )
    explained = judge(Compared("step", 1, (0.1, 0.9), False, "", total, (), stages, ()))
    assert "Likely" not in explained.sentence and explained.basis == ""


def test_data_wait_of_which_nothing_is_sure_and_little_there_is_has_no_row() -> None:
    def part(name: str, us: float) -> pb.Quantity:
        kind, text = "data_wait_by_stage", "needs repeated runs"
        return pb.Quantity(kind=kind, name=name, title=name, before_us=us, after_us=us, interval_text=text)

    time = pb.Quantity(kind="time", title="time per step", before_us=1000, after_us=900)
    text = compare_text(
        pb.Comparison(unit="step", time=time, parts=[part("data wait: A", 50), part("data wait: B", 3)])
    )
    assert "data wait: A" in text and "data wait: B" not in text
    assert text.count("needs repeated runs") == 1


def test_the_sides_are_named_by_the_folders_that_were_typed() -> None:
    runs = [
        pb.ComparedRun(name=f"vm_{pid}.1", files=[f"/logs/{run}/vm_{pid}.1.json"]) for pid, run in ((7, "a"), (8, "b"))
    ]
    head = compare_text(pb.Comparison(before=runs[:1], after=runs[1:])).splitlines()[:2]
    assert head == ["before 1 run: a/vm_7.1", "after  1 run: b/vm_8.1"]


def test_folders_of_folders_are_named_by_what_sets_the_sides_apart() -> None:
    runs = [pb.ComparedRun(name="r1/vm_7.1", files=[f"/logs/{side}/r1/vm_7.1.json"]) for side in ("before", "after")]
    head = compare_text(pb.Comparison(before=runs[:1], after=runs[1:])).splitlines()[:2]
    assert head == ["before 1 run: before/r1/vm_7.1", "after  1 run: after/r1/vm_7.1"]


def test_who_held_the_cpus_is_said_only_where_it_is_known() -> None:
    total = quantity("time", "too_short", "time")
    said = [judge(of_step((0.5, 0.5), total, crowded=crowded)).sentence for crowded in ("", "other programs (after)")]
    assert "other programs" not in said[0] and "quieter" not in said[0]
    assert "on a quieter machine (other programs used the CPUs), or 3 to 5 runs" in said[1]


def come_or_gone(outcome: Literal["new", "gone"], us: float) -> Quantity:
    before, after = (None, us) if outcome == "new" else (us, None)
    calls = StageCalls(before and 1.0, after and 1.0, us if outcome == "new" else -us, "cpu", speed_adjusted=False)
    return Quantity(
        "stage", "decode::json.load", "decode::json.load", before, after, None, None, "", outcome, calls=calls
    )


@pytest.mark.parametrize("sharing", [None, (0.1, 0.2)])
def test_a_new_stage_is_named_as_a_stage_that_is_gone_is(sharing: tuple[float, float] | None) -> None:
    total = quantity("time", "too_short", "time")
    new, gone = (
        judge(of_step(sharing, total, stages=(come_or_gone(outcome, 3_760.0),))) for outcome in ("new", "gone")
    )
    assert "decode::json.load is new (3.76 ms per call)" in new.sentence
    assert [fact.text for fact in new.evidence] == ["decode::json.load is new: 3.76 ms per call"]
    assert [fact.text for fact in gone.evidence] == ["decode::json.load is gone: 3.76 ms per call before"]
    little = judge(of_step(sharing, total, stages=(come_or_gone("new", 1.0),)))
    assert "json" not in little.sentence and "json" in little.evidence[0].text


def swapped(total: Quantity) -> Quantity:
    """The same change the other way."""
    assert total.interval is not None and total.interval.high is not None and total.change is not None
    low, high = (1 / (1 + end) - 1 for end in (total.interval.high, total.interval.low))
    judged = judge_change("time", -total.change / (1 + total.change), Bounds(low, high), False, False)
    other = replace(total, before_us=total.after_us, after_us=total.before_us, outcome=judged.outcome)
    return replace(other, interval=judged.interval, interval_text=judged.text)


@pytest.mark.parametrize("sharing", [None, (0.9, 0.6)])
@pytest.mark.parametrize(
    ("after", "ends"), [(297.0, (-0.70, 0.073)), (494.0, (-0.2, 0.1)), (350.0, (-0.56, 0.007)), (500.0, (-0.4, 0.5))]
)
def test_both_directions_of_a_pair_give_one_kind_of_verdict(
    after: float, ends: tuple[float, float], sharing: tuple[float, float] | None
) -> None:
    total = Quantity("time", "time", "time", 525.0, after, after / 525 - 1, Interval(*ends), "", "not_significant")
    stages = (quantity("decode::JPEG", "faster"),)
    there = judge(of_step(sharing, total, stages=stages))
    back = judge(of_step(sharing and sharing[::-1], swapped(total), stages=(replace(stages[0], outcome="slower"),)))
    assert there.outcome == back.outcome == ("too_short" if ends[0] == -0.70 else "not_significant")
    assert (
        there.sentence.split(",")[0].replace("faster", "slower").split(":")[0]
        == back.sentence.split(",")[0].split(":")[0]
    )
    assert ("Likely" in there.sentence) == (after == 350.0 or (after == 297.0 and sharing is not None))


def test_more_runs_do_not_make_less_of_a_change_that_they_confirm() -> None:
    """A pair of single runs says "Likely faster": two a side, of which the interval only just has no change, too."""
    total = Quantity("time", "time", "time", 1620.0, 1080.0, -0.333, Interval(-0.56, 0.007), "−56% to +0.7%", "faster")
    stages = (quantity("decode::JPEG", "faster"),)
    said = judge(replace(of_step((0.5, 0.5), replace(total, outcome="not_significant"), stages=stages), runs=2))
    assert (said.outcome, said.basis[:8]) == ("not_significant", "“likely”")
    assert said.sentence.startswith("Likely faster, not certain: 1.62 → 1.08 ms per step (−33%, 95% interval −56% to ")
    assert said.sentence.endswith("for certainty capture 3 to 5 runs on each side.")
    nothing = judge(replace(of_step((0.5, 0.5), replace(total, outcome="not_significant")), runs=2))
    assert nothing.sentence.startswith("No significant difference: "), "no stage certainly went that way"


def test_a_line_that_is_gone_makes_a_change_likely_and_one_that_waiting_may_have_moved_does_not() -> None:
    total = replace(quantity("time", "too_short", "time"), before_us=891.0, after_us=504.0)
    gone, moved = OwnLine("`int(token)`", 242.0, 0.0, False), OwnLine("`loss.backward()`", 300.0, 200.0, False)
    said = judge(of_step((0.5, 0.5), total, lines=(moved, gone))).sentence
    assert said.startswith("Likely faster, not certain: ") and "`int(token)` takes 242 µs less per step in the" in said
    doubtful = judge(of_step((0.5, 0.5), total, lines=(moved,)))
    assert doubtful.sentence.startswith("Not certain: ")
    assert not [fact for fact in doubtful.evidence if fact.kind == "own_line"], "it stands below as if it were certain"


def of_parts(wait: float, rest: float, outcome: Outcome = "faster") -> Compared:
    """10 ms per step less, or as much as these parts (ms) make it; a line of the rest of the step has 2 ms of that."""
    total = quantity("time", outcome, "time")
    total = replace(total, before_us=30e3, after_us=30e3 - 1e3 * (wait + rest), interval=Interval(-0.5, -0.1))
    parts = [
        Quantity("part", name, title, 15e3, 15e3 - 1e3 * less, None, None, WIDE, "too_short")
        for name, title, less in (("data_wait", "data wait", wait), ("rest", "rest of the step", rest))
    ]
    line = OwnLine("`loss.backward()`", 5e3, 3e3, False)
    compared = of_step((0.0, 0.05) if outcome == "too_short" else None, total, (*parts,), lines=(line,))
    return replace(compared, settings=(SettingChange("num_workers", "2", "5"),))


def test_what_has_most_of_a_difference_is_said_first_then_settings_then_a_line() -> None:
    said = judge(of_parts(7, 3)).sentence
    assert said.startswith("Faster: 30.0 → 20.0 ms per step (one run each: ")
    assert "); 7.00 ms of the 10.0 ms less is data wait, by itself not significant. Settings changed" in said
    assert said.endswith(
        " Settings changed: num_workers 2 to 5. In the training thread, `loss.backward()` takes 2.00 ms less per step."
    )
    likely = judge(of_parts(7, 3, "too_short")).sentence
    assert likely.startswith("Likely faster, not certain: 30.0 → 20.0 ms per step (1.5x); 7.00 ms of the 10.0 ms less")
    assert "is data wait, by itself not significant. Settings changed: num_workers 2 to 5. Significant: `loss" in likely


def test_a_line_explains_what_is_mostly_of_its_thread_and_nothing_of_what_is_all_data_wait() -> None:
    of_thread, of_wait = judge(of_parts(3, 7)).sentence, judge(of_parts(12, -2)).sentence
    assert "takes 2.00 ms less per step in the training thread, by stack samples alone. Settings" in of_thread
    assert "data wait" not in of_thread
    assert "); the data wait takes 12.0 ms less, by itself not significant." in of_wait
    assert "backward" not in of_wait


def test_a_line_that_took_longer_by_less_than_its_thread_waited_for_a_cpu_is_not_named() -> None:
    total = replace(quantity("time", "too_short", "time"), before_us=34.0, after_us=49.6)
    line = OwnLine("`loss.backward()`", 4.15, 10.2, False)
    for waited, is_named in ((9.14, False), (2.0, True)):
        part = Quantity("part", "rest:no_cpu", "waiting for a CPU", 0.62, waited, None, None, WIDE, "too_short")
        found = judge(of_step((0.1, 0.2), total, parts=(part,), lines=(line,)))
        assert ("backward" in found.sentence) == is_named
        assert any(fact.kind == "own_line" for fact in found.evidence) == is_named


def test_little_data_wait_that_is_gone_by_chance_stands_below_what_has_much() -> None:
    def of(stages: dict[str, float]) -> list[Run]:
        loader = pb.Loader(wait_us=5e4, wait_by_stage_us=stages)
        capture = pb.Capture(mode="train", window_us=1e6, loader=loader, throughput=pb.Throughput(samples=100))
        return [Run("a", (capture,))]

    found = compare_parts(of({"read::a": 4e4, "transfer::index": 20.0}), of({"read::a": 900.0}), "sample", 0.0)
    names = [part.name for part in found if part.kind == "data_wait_by_stage"]
    assert names == ["data_wait:read::a", "data_wait:transfer::index"]


def test_what_needs_repeated_runs_has_no_change() -> None:
    def of(us: float) -> list[Run]:
        loader = pb.Loader(wait_us=us, wait_by_stage_us={"read::a": us})
        capture = pb.Capture(mode="train", window_us=1e6, loader=loader, throughput=pb.Throughput(samples=100))
        return [Run("a", (capture,))]

    caused = next(part for part in compare_parts(of(1.0), of(4e4), "sample", 0.0) if part.name == "data_wait:read::a")
    assert (caused.interval_text, caused.change) == ("needs repeated runs", None)


def test_a_slowdown_is_judged_by_the_interval_that_is_there_though_the_other_direction_has_none() -> None:
    time = pb.Quantity(before_us=525, after_us=297, change=-0.43, low=-0.7, high=0.073, outcome="not_significant")
    found = pb.Comparison(outcome="too_short", unit="step", time=time)
    assert [judge_limit(found, allowed).outcome for allowed in (0.1, 0.05)] == ["fine", "inconclusive"]
    time.outcome = "too_short"
    assert judge_limit(pb.Comparison(outcome="too_short", time=time), 0.1).outcome == "inconclusive"
