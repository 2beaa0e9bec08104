"""What the text says of a capture, and what it leaves out."""

from __future__ import annotations

from pathlib import PurePath

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.rows import verdict_in_short


def test_the_summary_counts_the_findings_of_a_plain_capture() -> None:
    capture = pb.Capture(mode="unannotated", name="a", findings=[pb.Finding(title="Slow"), pb.Finding(title="Slower")])
    row = as_text(pb.Report(captures=[capture]), only_summary=True).splitlines()[2]
    assert "       2  Slow" in row


def test_the_summary_marks_what_is_doubtful() -> None:
    cut = pb.Capture(mode="train", name="a", doubts=[pb.Doubt(code="cut_off")], findings=[pb.Finding(title="Slow")])
    assert "1  doubtful (cut off): Slow" in as_text(pb.Report(captures=[cut]), only_summary=True)


def test_a_verdict_by_itself_says_what_makes_it_doubtful() -> None:
    capture = pb.Capture(verdict=pb.Verdict(sentence="It waits."), doubts=[pb.Doubt(code="busy_machine")])
    assert verdict_in_short(capture) == "It waits. Doubtful: busy machine."
    assert verdict_in_short(pb.Capture(verdict=pb.Verdict(sentence="It waits."))) == "It waits."


def test_the_terminal_says_all_that_is_missing_as_the_page_does() -> None:
    note = pb.Diagnostic(topic="device", code="no_device_activity", count=1, message="The trace has no device activity")
    cpu = pb.Capture(mode="train", name="a", torch_version="2.13.0+cpu", diagnostics=[note])
    assert "Missing data and warnings\n  - The trace has no device activity" in as_text(pb.Report(captures=[cpu]))


def waiting(low: float, high: float = 0.53, name: str = "a") -> pb.Capture:
    steady = pb.SteadyState(
        state="steady", share=0.235, share_low=low, share_high=high, sentence="The window is steady."
    )
    loader = pb.Loader(wait_us=2350, wait_count=20, steady_state=steady)
    verdict = pb.Verdict(sentence="It waits for data for 23.5% of the window.")
    return pb.Capture(mode="train", name=name, window_us=10_000, loader=loader, verdict=verdict)


def test_the_terminal_has_the_interval_of_the_data_wait() -> None:
    text = " ".join(as_text(pb.Report(captures=[waiting(0.2, 0.27)])).split())
    assert "23.5% of the window, 20 waits, p50 0 µs, max 0 µs, steady state 23.5% of a step (95% interval" in text
    assert "20.0% to 27.0%)" in text


def test_an_interval_that_the_sentence_below_has_is_said_once() -> None:
    capture = waiting(0.05)
    steady = capture.loader.steady_state
    steady.state, steady.sentence = "filling", "The queue fills: about 23.5% of the step (95% interval 5.00% to 53.0%)."
    assert " ".join(as_text(pb.Report(captures=[capture])).split()).count("95% interval") == 1


def test_a_data_wait_that_may_be_less_than_half_is_never_said_alone() -> None:
    said = "In the steady state data wait is 5.00% to 53.0% of a step (95% interval)."
    assert verdict_in_short(waiting(0.05)) == f"It waits for data for 23.5% of the window. {said}"
    assert verdict_in_short(waiting(0.2)) == "It waits for data for 23.5% of the window."
    already = waiting(0.05)
    already.verdict.sentence = "It waits for about 23.5% of the time (95% interval 5.00% to 53.0%)."
    assert verdict_in_short(already) == already.verdict.sentence


def test_the_summary_has_it_below_the_number_where_it_is_wide() -> None:
    captures = [waiting(0.05, name="a"), waiting(0.2, name="b")]
    for capture in captures:
        capture.findings.add(title="Slow")
    _, _, wide, below, other, *_, legend = as_text(pb.Report(captures=captures), only_summary=True).splitlines()
    assert wide.split() == ["a", "23.5%", "–", "1", "Slow"] and below.strip() == "5.00% to 53.0%"
    assert wide.index("23.5%") + len("23.5%") == len(below) and other.split()[:2] == ["b", "23.5%"]
    assert "below a data wait: 95% interval of the steady state" in legend
    narrow = as_text(pb.Report(captures=captures), Style(width=80), only_summary=True).splitlines()
    assert [line.strip() for line in narrow[3:5]] == ["5.00% to 53.0%", "Slow"]


def test_the_summary_says_what_kind_a_capture_is_where_they_differ() -> None:
    plain = pb.Capture(mode="unannotated", name="a", file="run/a.json", findings=[pb.Finding(title="Slow")])
    train = pb.Capture(mode="train", name="b", file="run/b.json", findings=[pb.Finding(title="Slow")])
    text = as_text(pb.Report(captures=[plain, train]), only_summary=True)
    assert "1  plain capture: Slow" in text and "1  Slow" in text


def test_the_summary_says_verdicts_to_their_end_and_sets_replays_apart() -> None:
    title = "transform::RandomMask caused 66.0% of the data wait: it computes for most of that time, on one CPU"
    train = pb.Capture(mode="train", name="a", file="run/a.json", findings=[pb.Finding(title=title)])
    replay = pb.Capture(mode="replay", name="b", file="run/b.json", findings=[pb.Finding(title="Slow")])
    text = as_text(pb.Report(captures=[replay, train]), only_summary=True)
    assert title in " ".join(text.split()) and max(map(len, text.splitlines())) <= 100
    assert text.index("transform::RandomMask") < text.index("replays, which train nothing") < text.index("Slow")


def test_the_summary_lists_no_other_capture_as_a_replay() -> None:
    """The order has captures with neither number behind replays."""
    replay = pb.Capture(mode="replay", name="b", file="run/b.json", window_us=100, loader=pb.Loader(wait_us=90))
    train = pb.Capture(mode="train", name="a", file="run/a.json", window_us=100, loader=pb.Loader(wait_us=10))
    unknown = pb.Capture(mode="unannotated", name="c", file="run/c.json")
    heads = ["replays, which train nothing:", "data wait and idle time unknown:"]

    def rows(*captures: pb.Capture) -> list[str]:
        lines = as_text(pb.Report(captures=captures), only_summary=True).splitlines()
        return [line if (line := text.strip()) in heads else line[:1] for text in lines[2:-1]]

    assert rows(unknown, replay, train) == ["a", heads[0], "b", heads[1], "c"]
    assert rows(unknown, replay) == [heads[0], "b", heads[1], "c"]
    assert rows(unknown, train) == ["a", "c"]


def test_the_summary_cuts_long_names_in_the_middle_and_one_folder_is_not_repeated() -> None:
    names = [f"resnet50_on_many_machines_of_the_cluster_workers{count}" for count in (0, 4)]
    captures = [pb.Capture(mode="train", name=name, file=f"run/{name}.json") for name in names]
    rows = as_text(pb.Report(captures=captures), only_summary=True).splitlines()[2:4]
    assert [row.split()[0][-8:] for row in rows] == ["workers0", "workers4"]
    assert not any("run/" in row for row in rows)


def test_a_stage_that_nothing_limits_for_most_of_its_time_has_all_shares() -> None:
    half = pb.Stage(path=["transform::Blur"], count=2, self_us=2000, cpu_self_us=1100, run_delay_us=900, blocked_us=0)
    short = pb.Stage(path=["read::open"], count=200, self_us=2000, cpu_self_us=1100, run_delay_us=900, blocked_us=0)
    text = as_text(pb.Report(captures=[pb.Capture(mode="train", name="a", window_us=5000, stages=[half, short])]))
    assert "mixed: transform::Blur ran 55.0%, waited for a CPU 45.0%" in text and "read::open ran" not in text


def test_the_stages_have_what_the_verdict_has_apart_and_it_is_said() -> None:
    stage = pb.Stage(path=["sample::A"], kind="sample", blame_us=5)
    capture = pb.Capture(mode="train", name="a", loader=pb.Loader(wait_us=10), stages=[stage])
    said = "includes the epoch's end and the other DataLoader, which the verdict leaves out"
    assert said not in " ".join(as_text(pb.Report(captures=[capture])).split())
    capture.loader.apart.CopyFrom(pb.Apart(wait_us=2, wait_names="the epoch's end and the other DataLoader"))
    assert said in " ".join(as_text(pb.Report(captures=[capture])).split())


def test_the_summary_names_runs_by_the_way_to_their_folders_as_the_tab_does() -> None:
    files = ("runs/images/after/a.json", "runs/text/before/c.json", "runs/demo/d.json", "runs/e.json")
    captures = [pb.Capture(mode="train", name=PurePath(file).name, file=file) for file in files]
    text = as_text(pb.Report(captures=captures), only_summary=True)
    assert all(f"  {folder} " in text for folder in ("images/after", "text/before", "demo", "runs"))


def test_in_a_narrow_terminal_the_finding_of_the_summary_stands_below_its_numbers() -> None:
    title = "transform::RandomMask caused 66.0% of the data wait: it computes for most of that time"
    capture = pb.Capture(mode="train", name="a", findings=[pb.Finding(title=title)])
    narrow = as_text(pb.Report(captures=[capture]), Style(width=80), only_summary=True).splitlines()
    wide = as_text(pb.Report(captures=[capture]), Style(width=200), only_summary=True).splitlines()
    assert narrow[3].startswith("    transform::RandomMask caused 66.0%") and len(narrow[3]) > 60
    assert max(map(len, narrow)) <= 80
    assert wide[2].endswith(title)


def test_what_the_training_thread_did_in_a_small_cause_is_not_what_limits_the_loop() -> None:
    limits = pb.LimitedBy(text="the training thread was blocked for 8.28% of it, running for 91.5%")
    causes = pb.IdleByCause(data_wait=400, host=100)
    device = pb.Device(idle_us=500, idle_by_cause_us=causes, limited_by_us={"host": limits})
    text = as_text(pb.Report(captures=[pb.Capture(mode="train", name="a", window_us=1000, devices=[device])]))
    assert "limited by" not in text
    host = text[text.index("host code   ") :].splitlines()
    assert host[1] == f"    meanwhile, {limits.text}"
