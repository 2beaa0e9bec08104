from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from annotate.trace_format import THREAD_STATES, Stage
from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.analyses.line_rows import LineRow
from tb_dataplugin.analyses.shared_lock import SharedLock
from tb_dataplugin.diagnostics import Doubt
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.rules.slow_samples import _loading, _OfOne, check
from tb_dataplugin.pipeline import as_report
from tests.tb_dataplugin.findings.cases import abstentions, capture_of, evidence_of, finding_in, signals_of
from tests.trace_builder import TraceBuilder

BUSY: Final = Doubt("busy_machine", "Other programs used the CPUs.")
RUNNING, BLOCKED = THREAD_STATES.index("running"), THREAD_STATES.index("blocked")


def one_slow_sample(cpu: float = 1.0, **costs: float) -> TraceBuilder:
    """`cpu`: part of the slow one's time that it is on the CPU."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 1000)
    builder.wait(0, 900)
    for number in range(9):
        start, length = (10.0 * number, 10.0) if number < 8 else (100.0, 700.0)
        stages = {"sample::Pets": (start, length, 1.0 if number < 8 else cpu * length)}
        builder.batch(number, 0, 0, start, start + length, start + length, stages, **costs)
    return builder


def test_slow_samples_are_named_by_their_index() -> None:
    said = finding_in(one_slow_sample(), "slow_samples")
    assert any(line.startswith("index 8: 700") for line in evidence_of(said))


def test_samples_that_compute_in_a_transform_are_slow_by_no_file() -> None:
    builder = one_slow_sample()
    assert finding_in(builder, "slow_samples").advice.startswith("Look at these samples: huge or damaged files")
    for number, start, length in ((7, 71.0, 5.0), (8, 101.0, 650.0)):
        blur = {"cpu_us": length, "index": number, "batch": number, "epoch": 0}
        builder.add("user_annotation", "transform::Blur", start, length, pid=100, tid=100, **blur)
    advice = finding_in(builder, "slow_samples").advice
    assert advice.startswith("See what transform::Blur does for these samples: large or long data, a parameter drawn")


QUERY: Final = ("Pets.get", "/home/me/pets.py", 24)
OURS: Final = ("timed.<locals>.timed", "/annotate/hooks/stand_ins.py", 106)


def in_a_line(builder: TraceBuilder, source: str) -> TraceBuilder:
    times = [5.0 + 10 * number for number in range(80)]
    states = [BLOCKED if time > 100 else RUNNING for time in times]
    return builder.stacks(times, [(OURS, QUERY)] * 80, 100, states, {(QUERY[1], QUERY[2]): source})


def test_slow_samples_whose_batches_nobody_waited_for_are_named_beside_those_that_count() -> None:
    builder = one_slow_sample()
    builder.batch(9, 0, 0, 801, 1501, None, {"sample::Pets": (801, 700, 700.0)})
    said = finding_in(builder, "slow_samples")
    assert "as slow, and not counted: 1 sample (index 9) whose batches the loop did not wait for here" in evidence_of(
        said
    )
    assert "not counted" not in str(evidence_of(finding_in(one_slow_sample(), "slow_samples")))


def test_slow_samples_that_compute_have_other_data_than_the_rest() -> None:
    said = finding_in(one_slow_sample(), "slow_samples")
    assert "Look at these samples" in said.advice and "waiting" not in said.title
    assert evidence_of(said)[1].endswith("100% in sample::Pets, off the CPU for 0%")


def test_slow_samples_that_waited_say_so_and_where() -> None:
    said = finding_in(one_slow_sample(cpu=0.02), "slow_samples")
    assert said.title.endswith(", mostly waiting") and evidence_of(said)[1].endswith("off the CPU for 98.0%")
    assert "but waited (storage, the network, a lock, another process, sleep)." in said.advice
    assert "damaged" not in said.advice
    said = finding_in(in_a_line(one_slow_sample(cpu=0.02), "reply = ask(i)"), "slow_samples")
    assert "but waited at `reply = ask(i)` in Pets.get at pets.py:24 (storage, the network, a lock" in said.advice


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("if i % 23 == 5: time.sleep(0.12)  # as storage does", "which sleeps. See what it sleeps for"),
        ("reply = requests.get(url)", "which waits for the network. See why"),
        ("item = self.queue.get()", "which waits for a queue. See why what it waits for comes late"),
        ("with self.lock:", "which waits for a lock. See who has"),
        ("out = subprocess.run(command)", "which waits for another process. See why"),
    ],
)
def test_a_line_that_names_what_it_waits_for_is_taken_at_its_word(source: str, what: str) -> None:
    said = finding_in(in_a_line(one_slow_sample(cpu=0.02, read_chars=5000, read_bytes=0), source), "slow_samples")
    assert f"but waited at `{source}` in Pets.get at pets.py:24, {what}" in said.advice
    assert "in memory" not in said.advice


def test_what_was_in_memory_did_not_make_them_wait() -> None:
    said = finding_in(one_slow_sample(cpu=0.02, read_chars=5000, read_bytes=0), "slow_samples")
    assert "but waited (the network, a lock, another process, sleep: what was read was in memory)." in said.advice
    assert "storage" not in said.advice


def test_slow_samples_that_waited_for_a_shared_lock_say_so() -> None:
    signals = signals_of(in_a_line(one_slow_sample(cpu=0.02), "con.execute(sql)"))
    row = LineRow(Place("Pets.get", QUERY[1], 24, "con.execute(sql)"), True, 9, 9, 1.0, 0.0, None, None, "", 0.0)
    lock = SharedLock(Stage("sample", "Pets"), row, 1.0, 0.5, 0.5, 2)
    said = check(replace(signals, shared_lock=lock))
    assert isinstance(said, Finding)
    assert "pets.py:24, where DataLoader workers wait for one another" in said.advice and "storage" not in said.advice


def test_a_sample_that_may_only_have_waited_for_a_cpu_is_not_named() -> None:
    """It has 3.5 us of CPU time, the others have 1."""
    assert "CPU" in abstentions(one_slow_sample(cpu=0.005, run_delay_us=50))["slow_samples"]


def test_a_sample_with_many_times_the_cpu_time_of_others_is_slow_however_long_it_waited_for_a_cpu() -> None:
    said = finding_in(one_slow_sample(cpu=0.05, run_delay_us=50), "slow_samples")
    # 35 us of CPU time, and others take 10 for 1: of its 700 us, 350 are its own.
    assert said.title == "1 of 9 samples takes 35x the median" and "waited" not in said.advice
    assert evidence_of(said)[0].startswith("median 10.0 µs; together they take 340 µs")
    assert evidence_of(said)[0].endswith("if they wait for a CPU no more than others (estimated)")
    assert evidence_of(said)[1].endswith("35.0 µs of CPU time, where a common sample has 1.00 µs")
    assert said.gain_us_per_step <= 340


def test_cpu_time_proves_nothing_where_a_thread_may_spin_for_hidden_ones() -> None:
    costs = {"run_delay_us": 50.0, "process_cpu_us": 3000.0, "cpu_us": 10.0}
    assert "CPU" in abstentions(one_slow_sample(cpu=0.05, **costs))["slow_samples"]


def test_slow_samples_that_nobody_waited_for_are_no_finding() -> None:
    """All batches are finished when the training thread asks for the last one, which is long on its way."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 3000)
    builder.wait(2000, 900)
    for number in range(9):
        start, length = (10.0 * number, 10.0) if number < 8 else (100.0, 700.0)
        consumed = None if number < 8 else 2899
        builder.batch(number, 0, 0, start, start + length, consumed, {"sample::Pets": (start, length, 1.0)})
    capture = capture_of(builder)
    assert next(sample.index for sample in capture.slow_samples) == 8
    assert "slow_samples" not in [finding.rule for finding in capture.findings]


def test_a_slow_sample_costs_no_step_that_waited_for_earlier_batches() -> None:
    """The one that begins in these steps is in a batch that they do not receive, or receive last."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    for number in range(9):
        start, length = (10.0 * number, 10.0) if number < 8 else (100.0, 700.0)
        at = 100.0 * number
        builder.step(at, 100).wait(at, 90)
        builder.batch(number, 0, 0, start, start + length, at + 89, {"sample::Pets": (start, length, 1.0)})
    assert finding_in(builder, "slow_samples").gain_us_per_step == 90 / 9


def test_slow_samples_of_the_training_thread_are_named_too() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}])
    for number in range(10):
        took = 9000 if number == 7 else 500
        builder.step(10_000 * number, 10_000).wait(10_000 * number, took + 50, "wait::DataLoader")
        builder.stage("sample::Pets", 10_000 * number + 10, took)
        builder.events[-1]["args"] = {"index": 40 + number}
    capture = capture_of(builder)
    assert (capture.slow_samples[0].index, capture.slow_samples[0].worker) == (47, -1)
    assert len(capture.usual_samples) == 5 and 47 not in capture.usual_samples
    said = finding_in(builder, "slow_samples")
    assert said.title == "1 of 10 samples takes 18x the median" and "handed over" not in said.advice
    text = as_text(as_report([capture]))
    assert "Slowest samples" in text and "DataLoader worker  batch" not in text
    capture.slow_samples[0].index = -1
    del capture.slow_samples[1:]
    assert "index" not in as_text(as_report([capture])).partition("Slowest samples")[2].splitlines()[1]


def filling(*, slow: int | None = None) -> TraceBuilder:
    """An iterable dataset whose first next() fills a buffer; `slow`: the number of a slow sample."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "iterable": True}]).worker(0)
    builder.step(0, 2000).wait(0, 1900)
    start = 0.0
    for number in range(9):
        length = 400.0 if number == 0 else 700.0 if number == slow else 25.0
        builder.batch(number, 0, 0, start, start + length, start + length, {"sample::Clips": (start, length)})
        builder.events[-1]["args"]["index"] = -1
        start += length
    return builder


def test_filling_a_buffer_makes_no_sample_slow() -> None:
    capture = capture_of(filling())
    first = capture.slow_samples[0]
    assert (first.index, first.duration_us, first.first) == (-1, 400, True)
    assert not any(sample.first for sample in capture.slow_samples[1:])
    assert "slow_samples" not in [finding.rule for finding in capture.findings]
    assert "the first of its iterator" in as_text(as_report([capture]))


def test_a_slow_sample_beside_a_filled_buffer_is_named_by_its_batch() -> None:
    said = finding_in(filling(slow=5), "slow_samples")
    assert said.title == "1 of 9 samples takes 28x the median"
    named = [line for line in evidence_of(said) if "in sample::" in line]
    assert named == ["in batch 5: 700 µs, 100% in sample::Clips"]


def in_bursts(every: int, slow: float, cpu: float = 1.0, longest: int = -1) -> TraceBuilder:
    """An iterable dataset of which one next() in `every` makes what the others hand out; that of sample `longest` takes
    300 ms.
    """
    batch, samples = 8, 480
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": batch, "iterable": True}]).worker(0)
    now = 0.0
    for number in range(samples // batch):
        begin, steps = now, []
        for sample in range(number * batch, (number + 1) * batch):
            took = 300_000.0 if sample == longest else slow if sample % every == every // 2 else 30.0
            steps.append((now, took))
            now += took
        builder.step(begin, now - begin).wait(begin, now - begin - 1)
        builder.batch(number, 0, begin - 1, begin, now, now - 1)
        for start, took in steps:
            args = {"batch": number, "index": -1, "epoch": 0, "cpu_us": took * cpu}
            builder.add("user_annotation", "sample::Pieces", start, took, pid=100, tid=100, **args)
    return builder


@pytest.mark.parametrize("every", (4, 30))
def test_samples_that_one_call_makes_at_once_are_no_slow_ones(every: int) -> None:
    capture = capture_of(in_bursts(every, 20_000.0))
    assert [sample.duration_us for sample in capture.slow_samples][:4] == [20_000] * 4
    assert "slow_samples" not in [finding.rule for finding in capture.findings]
    told = f"one call in {every} has 9{'9.6' if every == 4 else '5.8'}% of the time: it makes several samples at once, "
    told += "or does what the others need not (a wait, the next file)"
    assert told in evidence_of(next(one for one in capture.findings if one.stage == "sample::Pieces"))
    assert capture.stage_summary.sentence.endswith(f". O{told[1:]}.")
    assert capture.stage_details[0].sentence.endswith(f". O{told[1:]}.")


def test_pages_that_are_fetched_for_the_samples_after_them_are_no_slow_ones() -> None:
    capture = capture_of(in_bursts(30, 20_000.0, cpu=0.02))
    assert "slow_samples" not in [finding.rule for finding in capture.findings]


def test_a_sample_that_is_slow_beside_a_slow_kind_is_named() -> None:
    said = finding_in(in_bursts(4, 2_000.0, longest=300), "slow_samples")
    assert said.title == "1 of 480 samples takes 10,000x the median"


def chunked(*longest: float, rest: int = 40) -> TraceBuilder:
    """One batch of samples that take 10 us, 100 us each fourth; those of `longest` decode a chunk first."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": rest + len(longest)}])
    now = 0.0
    for number in range(rest + len(longest)):
        loads = longest[number // 10] if number % 10 == 0 and number // 10 < len(longest) else 0.0
        took = loads + (100.0 if number % 4 == 3 else 10.0)
        builder.stage("sample::Chunks", now, took)
        builder.events[-1]["args"] = {"index": number}
        if loads:
            builder.stage("decode::numpy.NpzFile", now, loads)
        now += took
    return builder.wait(0, now, "wait::DataLoader").step(0, now + 100)


def test_few_samples_that_load_for_those_after_them_are_told_from_huge_ones() -> None:
    said = finding_in(chunked(80_000.0, 79_000.0), "slow_samples")
    assert said.title == "2 of 42 samples take 7,901x the median or more"
    assert "Only they run decode::numpy.NpzFile" in said.advice and "damaged" not in said.advice
    assert len(said.evidence) == 3  # those of 100 us are no slow samples beside them


def test_two_calls_of_one_length_are_no_first_call() -> None:
    alike = [finding.title for finding in capture_of(chunked(80_000.0, 79_000.0)).findings]
    assert any(title.startswith("decode::numpy.NpzFile caused ") for title in alike)
    assert not any("One call" in title for title in alike)


def test_only_those_that_were_seen_at_a_line_are_said_to_wait_there() -> None:
    signals = signals_of(in_a_line(one_slow_sample(cpu=0.02), "time.sleep(0.7)"))
    slow = signals.slow_samples[0]
    unseen = replace(slow, index=3, waited_at=None)
    said = check(replace(signals, slow_samples=(slow, unseen)))
    assert isinstance(said, Finding) and said.advice.startswith("Index 8 did not compute, but waited at `time.sleep(")
    said = check(replace(signals, slow_samples=(slow, replace(slow, index=3))))
    assert isinstance(said, Finding) and said.advice.startswith("They did not compute, but waited at")


def test_all_that_are_as_slow_are_counted() -> None:
    """The last ones have little of what all of them take more."""
    signals = signals_of(one_slow_sample())
    slow = signals.slow_samples[0]
    alike = tuple(replace(slow, index=index, duration_us=900.0 - index) for index in range(25))
    habits = {0: replace(signals.sample_habits[0], count=200)}
    said = check(replace(signals, slow_samples=alike, sample_habits=habits))
    assert isinstance(said, Finding) and said.title.startswith("25 or more of 200 samples take 87x the median")


def test_more_slow_ones_than_are_known_one_by_one_are_counted() -> None:
    signals = signals_of(one_slow_sample())
    habits = {0: replace(signals.sample_habits[0], slow=65, slow_us=105.0, count=900)}
    said = check(replace(signals, sample_habits=habits))
    assert isinstance(said, Finding) and said.title.startswith("1 of the slowest among 900 samples takes 70x")
    texts = [fact.text for fact in said.evidence]
    assert any(text.startswith("in all, 65 samples take 10x the median or more, of which the 9") for text in texts)


def test_samples_that_were_seen_blocked_waited_for_no_cpu_whoever_used_them() -> None:
    signals = replace(signals_of(in_a_line(one_slow_sample(cpu=0.005), "time.sleep(0.7)")), doubts=(BUSY,))
    slow = signals.slow_samples[0]
    assert isinstance(check(signals), Finding)
    assert isinstance(check(replace(signals, slow_samples=(replace(slow, waited_at=None),))), Abstention)


def test_samples_that_are_slow_more_than_once_are_named() -> None:
    signals = signals_of(in_a_line(one_slow_sample(cpu=0.02), "time.sleep(0.7)"))
    slow = signals.slow_samples[0]
    once, again = check(signals), check(replace(signals, slow_samples=(slow, slow)))
    assert isinstance(once, Finding) and "only if the same ones are slow again" in once.advice
    assert isinstance(again, Finding) and "; index 8 is slow more than once: look at its data as well." in again.advice
    texts = [fact.text for fact in again.evidence if fact.kind == "slow_sample"]
    assert len(texts) == 1 and texts[0].startswith("index 8: 700 µs, the slowest of 2 times, ")


def test_what_each_worker_loads_once_in_an_epoch_is_no_chunk() -> None:
    """Two workers, one sample a batch of 1 ms; for its first each loads something for 20 ms more."""
    loaders = [{"name": "DataLoader", "num_workers": 2, "batch_size": 1}]
    builder, at = TraceBuilder().annotated(loaders=loaders).worker(0).worker(1), 0.0
    for number in range(40):
        took = 21_000.0 if number < 2 else 1000.0
        stages = {"sample::Texts": (at + 20, took - 40)} | ({"read::load": (at + 30, 20_000.0)} if number < 2 else {})
        builder.batch(number, number % 2, -100.0, at + 10, at + took - 10, at + took - 5, stages)
        builder.wait(at, took, "wait::DataLoader").step(at, took + 5000)
        at += took + 5000
    signals = signals_of(builder)
    slow = [sample for sample in signals.slow_samples if sample.stage == "read::load"]
    said = _loading(signals, _OfOne(signals.slow_samples, slow, signals.sample_habits[0]))
    assert said.startswith("Only they run read::load, once in each DataLoader worker and epoch")
    assert "chunk" not in said
