from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.other_programs import OtherPrograms
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.more_workers_will_not_help import check
from tests.tb_dataplugin.findings.cases import STEP, capture_of, finding_in, finding_of, input_bound, signals_of
from tests.trace_builder import TraceBuilder


@pytest.mark.parametrize("evidence", ["load", "run_delay"])
def test_workers_on_taken_cores_get_no_advice_to_be_more(evidence: str) -> None:
    builder = input_bound(cores=2, run_delay=0.5 if evidence == "run_delay" else 0.0)
    if evidence == "load":
        builder.counter("host::cpu", STEP, **{"core 0": 99, "core 1": 97})
    found = finding_in(builder, "more_workers_will_not_help")
    assert "More DataLoader workers will not help" in found.title
    assert (found.severity, found.gain_text) == ("low", "nothing to gain"), "it is no change to make"
    assert finding_of(builder, "too_few_workers") is None


@pytest.mark.parametrize(("workers", "cores", "more"), [(1, 2, 2), (2, 3, 3), (2, 2, None), (3, 3, None)])
def test_what_whatif_expects_of_more_workers_is_not_called_nothing(workers: int, cores: int, more: int | None) -> None:
    """A stranger's report said "nothing to gain", `whatif` 12.3 instead of 13.6 ms per step, his clock 12.9."""
    builder = input_bound(workers=workers, cores=cores, run_delay=0.5, threads=0.3)
    found = finding_in(builder, "more_workers_will_not_help")
    assert found.severity == "low"
    if more is None:
        assert found.title.startswith("More DataLoader workers will not help") and found.gain_text == "nothing to gain"
        return
    assert found.title == f"More DataLoader workers may help, though none of the {cores} CPUs is free"
    assert found.code == f"DataLoader(..., num_workers={more})", "`verify` measures what it names"
    assert found.confidence == "possible" and "a step of about" in found.evidence[-1].text
    assert 0 < found.gain_us_per_step <= 1e4 * (1 - workers / more) + 1, "built by turns, at most so much faster"


@pytest.mark.parametrize(("children", "said"), [(1.2, "other child processes of this program have 1.20"), (0.1, "")])
def test_beside_children_of_the_program_it_is_not_known_what_more_workers_bring(children: float, said: str) -> None:
    """A pool of the program's own had the CPUs: "nothing to gain" was said of what made its steps 1.4 times as fast."""
    signals = signals_of(input_bound(cores=2, run_delay=0.5))
    found = check(replace(signals, other_programs=OtherPrograms(2, 1.0, 0.0, children=children)))
    assert isinstance(found, Finding)
    assert found.saves is bool(said) and (said or "More DataLoader workers will not help") in found.title
    assert ("num_workers=3" in found.code) is bool(said)


def test_workers_that_are_blocked_need_no_free_cpu() -> None:
    """Other programs have both CPUs; the workers wait for storage, and more of them can do so at once."""
    stages = {"sample::Remote": (0.0, 1.0, 0.05)}
    builder = input_bound(cores=2, run_delay=0.02, threads=0.05, stages=stages)
    builder.counter("host::cpu", STEP, **{"core 0": 99, "core 1": 97})
    assert finding_of(builder, "more_workers_will_not_help") is None
    found = finding_in(builder, "too_few_workers")
    assert "more could wait at the same time" in found.title
    assert "num_workers=" in found.code
    assert "In this capture the 2 CPUs are 98.0% busy: more DataLoader workers help there only because" in found.advice


def test_with_free_cpus_nothing_is_said_of_full_ones() -> None:
    stages = {"sample::Remote": (0.0, 1.0, 0.05)}
    found = finding_in(input_bound(run_delay=0.02, threads=0.05, stages=stages), "too_few_workers")
    assert "In this capture" not in found.advice


@pytest.mark.parametrize("is_full", [True, False])
def test_a_blocked_stage_is_not_said_to_gain_by_more_workers_where_another_finding_rules_them_out(
    is_full: bool,
) -> None:
    """Blocked for a part of its time, and waiting for a CPU for another."""
    stages = {"sample::Remote": (0.0, 1.0, 0.35)}
    builder = input_bound(cores=2, run_delay=0.25 if is_full else 0.0, threads=0.35, stages=stages)
    if is_full:
        builder.counter("host::cpu", STEP, **{"core 0": 99, "core 1": 97})
    said = {finding.rule: finding.advice for finding in capture_of(builder).findings}
    assert ("more_workers_will_not_help" in said) is is_full
    assert "it is blocked" in said["leading_stage"]
    assert ("more of them, can wait at the same time" in said["leading_stage"]) is not is_full


def on_full_cpus(own: float, workers: int = 1) -> TraceBuilder:
    """One worker builds all the time, on two CPUs that are busy all the time; `own` of them are this program's."""
    builder = input_bound(workers=workers, cores=2, run_delay=0.5, threads=(own - 0.1) / workers)
    spent = {"cpu_us": 0.1 * 4 * STEP, "run_delay_us": 0.0, "process_cpu_us": 0.1 * 4 * STEP}
    builder.top_level["dataPipeline"]["training_thread"] = spent
    return builder.counter("host::cpu", STEP, **{"core 0": 100, "core 1": 100})


@pytest.mark.parametrize("own", [0.6, 1.6])
def test_where_other_programs_have_the_cpus_it_is_unknown(own: float) -> None:
    """Two workers were 1.2 to 1.9 times as fast as one beside them, and the report said "nothing to gain"."""
    found = finding_in(on_full_cpus(own), "more_workers_will_not_help")
    cpus = {0.6: "1.40", 1.6: "0.400"}[own]
    assert found.title == f"Whether more DataLoader workers help is unknown: other programs have {cpus} of the 2 CPUs"
    assert (found.severity, found.gain_text, found.confidence) == ("low", "gain unknown", "possible")
    assert "Record again when these do not run" in found.advice and "try num_workers=2" in found.advice
    assert found.code == "DataLoader(..., num_workers=2)", "`verify` measures what it names"


def test_where_it_is_unknown_an_undivided_dataset_is_divided_first() -> None:
    builder = on_full_cpus(0.6)
    builder.top_level["dataPipeline"]["loaders"][0] |= {
        "iterable": True,
        "divided": False,
        "drawn": False,
        "dataset": "Lines",
    }
    found = finding_in(builder, "more_workers_will_not_help")
    assert "get_worker_info() in Lines.__iter__" in found.advice
    assert found.code.startswith("# first, in __iter__") and found.code.endswith("DataLoader(..., num_workers=2)")


def test_a_program_that_has_the_cpus_itself_gains_nothing() -> None:
    found = finding_in(on_full_cpus(2.2, workers=3), "more_workers_will_not_help")
    assert found.title == "More DataLoader workers will not help: none of the 2 CPUs is free"
    assert found.gain_text == "nothing to gain" and "2 DataLoader workers would do the same work" in found.advice
    fewer = finding_in(on_full_cpus(0.6, workers=3), "more_workers_will_not_help")
    assert fewer.code == "DataLoader(..., num_workers=4)" and "would do the same work" not in fewer.advice, (
        "fewer processes get a smaller share"
    )
