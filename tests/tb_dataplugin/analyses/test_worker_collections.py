"""What the garbage collector of a DataLoader worker takes is no slow sample, and no memory of its arrays."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.worker_collections import collected_by_span
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import as_report
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, results_of
from tests.trace_builder import TraceBuilder

BUILD, USUAL_GC, LONG, HIT = 10_000.0, 3_000.0, 290_000.0, 6
SAMPLES = 4


def loop(*, collected: float = LONG, longer: float = LONG, samples: int = 1, faults: int = 3) -> TraceBuilder:
    """Sixteen batches of one worker, of 10 ms, 3 ms of them in the collector. One takes `longer` more, in its first
    sample, and collects for `collected` more: that one has 24,000 page faults and is in the kernel for a fifth of its
    time. The others have `faults`, and are there for a third of it.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": samples}], host={"cores": 8})
    builder.worker(0)
    now = 0.0
    for number in range(16):
        is_hit = number == HIT
        build = BUILD + (longer if is_hit else 0.0)
        costs = {
            "gc_us": USUAL_GC + (collected if is_hit else 0.0),
            "minor_faults": 24_000 if is_hit else faults,
            "system_cpu_us": build * (0.2 if is_hit else 0.33),
        }
        end = now + build
        builder.step(now, build + 1_000).wait(now, build + 500, "wait::DataLoader")
        builder.batch(number, 0, now - 500, now, end, end + 400, None, **costs)
        length = [BUILD / samples + (longer if is_hit and not each else 0.0) for each in range(samples)]
        for each in range(samples):
            args = {"batch": number, "index": samples * number + each, "epoch": 0, "cpu_us": length[each]}
            pid = builder.pids.get(0, 100)
            builder.add(
                "user_annotation", "sample::Trees", now + sum(length[:each]), length[each], pid=pid, tid=pid, **args
            )
        now = end + 1_000
    return builder


@pytest.mark.parametrize("samples", [1, SAMPLES])
def test_a_sample_that_a_long_collection_fell_on_is_not_slow(samples: int) -> None:
    capture = capture_of(loop(samples=samples))
    assert "slow_samples" not in {finding.rule for finding in capture.findings}
    (said,) = (finding for finding in capture.findings if finding.stage == "sample::Trees")
    assert "call" not in said.title
    assert f"longest {'10.0' if samples == 1 else '2.50'} ms without long collections" in str(evidence_of(said))
    results = results_of(loop(samples=samples))
    collected, tree = collected_by_span(results.trace, results.tree), results.tree
    assert collected.sum() == LONG * 1e3
    hit = collected.argmax()
    assert tree.end_ns[hit] - tree.start_ns[hit] == (BUILD / samples + LONG) * 1e3


def test_a_sample_that_takes_long_beside_the_collector_is() -> None:
    assert finding_of(loop(collected=0.0), "slow_samples") is not None
    builder = loop(collected=100_000.0, samples=SAMPLES)
    said = evidence_of(finding_in(builder, "slow_samples"))
    assert any("index 24: 193 ms and 100 ms of garbage collection, 100% in sample::Trees" in line for line in said)
    assert "of it 100 ms Python's garbage collector" in as_text(as_report([capture_of(builder)]))


def test_a_step_that_alone_has_much_of_the_data_wait_says_that_its_batch_collected() -> None:
    sentence = capture_of(loop()).verdict.sentence
    assert f"Step {HIT + 1} alone has" in sentence
    assert "of the data wait, for a batch of which Python's garbage collector took 290 ms: choose" in sentence
    sentence = capture_of(loop(collected=0.0)).verdict.sentence
    assert f"Step {HIT + 1} alone has" in sentence and "garbage" not in sentence


def test_a_stage_says_how_much_of_it_is_the_collector() -> None:
    builder = loop()
    (said,) = (finding for finding in capture_of(builder).findings if finding.stage == "sample::Trees")
    part = (16 * USUAL_GC + LONG) / (16 * BUILD + LONG)
    assert f"at least {100 * part:.1f}% of its self time is Python's garbage collector" in str(evidence_of(said))


def test_nothing_is_said_of_a_stage_whose_batches_had_room_for_it() -> None:
    """Half of each batch is in another stage, that may have all that was collected."""
    builder = loop(collected=0.0, longer=0.0)
    for number in range(16):
        start = number * (BUILD + 1_000)
        args = {"batch": number, "index": number, "epoch": 0, "cpu_us": BUILD / 2}
        builder.add("user_annotation", "transform::Slow", start, BUILD / 2, pid=100, tid=100, **args)
    for finding in capture_of(builder).findings:
        assert "Python's garbage collector" not in str(evidence_of(finding)) or not finding.stage


def test_pages_that_the_collector_copied_are_no_memory_that_malloc_could_keep() -> None:
    builder = loop()
    assert finding_of(builder, "memory_taken_anew") is None
    said = finding_in(builder, "garbage_collection")
    assert "before the workers start" in said.advice
    assert "have 23,997 page faults more than others, which may be copies of pages" in str(evidence_of(said))


def test_large_arrays_beside_a_long_collection_are() -> None:
    said = finding_in(loop(faults=13_000), "memory_taken_anew")
    assert "13,000 page faults for each batch" in str(evidence_of(said))
