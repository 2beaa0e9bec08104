from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.findings.garbage_signals import GarbageSignals
from tb_dataplugin.findings.rules import garbage_collection, transfer_heavy
from tests.tb_dataplugin.findings.cases import finding_in, finding_of, input_bound, signals_of

BUILDING_US = 20_000


def test_a_collector_that_takes_a_third_of_the_build_time_is_named() -> None:
    said = finding_in(input_bound(costs={"gc_us": round(BUILDING_US * 0.3)}), "garbage_collection")
    assert "in DataLoader workers" in said.title
    assert "gc.freeze()" in said.advice
    assert 0 < said.gain_us_per_step <= 8000
    assert said.confidence == "likely", "a window of four steps"


def test_evidence_says_on_how_many_batches_a_share_rests() -> None:
    builder = input_bound(steps=6, costs={"gc_us": round(BUILDING_US * 0.3)})
    (text,) = (fact.text for fact in finding_in(builder, "garbage_collection").evidence if fact.kind == "collecting")
    assert text == "30.0% of the build time in DataLoader workers in the collector, of all 4 batches"
    builder.costs["gc_us"][::2] = [None] * len(builder.costs["gc_us"][::2])
    (text,) = (fact.text for fact in finding_in(builder, "garbage_collection").evidence if fact.kind == "collecting")
    assert text.endswith("in the collector, by 2 of 4 batches alone")


def test_a_little_collecting_is_not_worth_a_word() -> None:
    assert finding_of(input_bound(costs={"gc_us": round(BUILDING_US * 0.02)}), "garbage_collection") is None
    assert finding_of(input_bound(), "garbage_collection") is None


def test_a_collection_while_a_batch_is_received_is_no_transfer() -> None:
    signals = replace(signals_of(input_bound()), garbage=GarbageSignals(wait_us=18_000.0), data_wait_us=20_000.0)
    found = garbage_collection.check(signals)
    assert isinstance(found, tuple)
    (said,) = found
    assert said.title == "Python's garbage collector takes 90.0% of the data wait, in the training process"
    assert transfer_heavy.check(signals) is None
