"""What a finding advises to set is among what `whatif` predicts by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tb_dataplugin.findings import advised_settings, judge
from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.whatif import Change, fit_loop, telling_changes, usual_changes
from tb_dataplugin.whatif.loop import Loop, Settings
from tests.tb_dataplugin.findings.cases import input_bound, results_of
from tests.trace_builder import TraceBuilder


def loop_with(builder: TraceBuilder, *advised: Settings) -> Loop:
    found = fit_loop(results_of(builder))
    assert isinstance(found, Loop)
    return replace(found, advised=advised)


def test_workers_that_a_finding_advises_are_a_usual_row(golden: Path) -> None:
    loop, _ = read_loop(golden / "h100_resnet50_workers4.pt.trace.json.gz")
    assert [settings.workers for settings in loop.advised] == [7]
    workers = [change.workers for change in usual_changes(loop) if change.workers is not None]
    assert workers == [0, 1, 5, 7, 16] and len(set(telling_changes(loop))) == len(telling_changes(loop))


def test_settings_are_those_of_the_findings() -> None:
    results = results_of(input_bound(workers=1, cores=16))
    loop = fit_loop(results)
    assert isinstance(loop, Loop)
    findings = judge(results).findings
    advised = [named.finding.change for named in findings if named.finding.change is not None]
    assert advised and [settings.workers for settings in advised_settings(findings, loop.settings)] == [
        change.workers for change in advised
    ]


def test_each_is_once_and_none_is_out_of_range() -> None:
    now = loop_with(input_bound(workers=2)).settings
    order, queue = replace(now, in_order=not now.in_order), replace(now, prefetch=2 * now.prefetch)
    loop = loop_with(input_bound(workers=2), replace(now, workers=3), order, queue, replace(now, workers=1000))
    changes = usual_changes(loop)
    assert changes.count(Change(workers=3)) == 1 and Change(workers=1000) not in changes
    assert Change(in_order=order.in_order) in changes and Change(prefetch=queue.prefetch) in changes
    told = telling_changes(loop)
    assert told.count(Change(prefetch=queue.prefetch)) == 1 and told.count(Change(workers=3)) == 1
