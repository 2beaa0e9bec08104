"""Whole runs in the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tb_dataplugin.reader.discovery import strip_suffix
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.shown import encodable
from tb_dataplugin.watchfile.axis import Phase, Point, phases_of, points_of
from tb_dataplugin.watchfile.by_loader import LoaderTotal, in_steps
from tb_dataplugin.watchfile.drift import Drift
from tb_dataplugin.watchfile.loader_texts import loader_name, loader_text, waits_text, worked_text
from tb_dataplugin.watchfile.outside import Outside
from tb_dataplugin.watchfile.reading import Run
from tb_dataplugin.watchfile.sentences import (
    drift_text,
    event_note,
    event_sentence,
    growth_text,
    keep_text,
    made_text,
    outside_text,
    recording_text,
    run_sentence,
    slow_text,
    trouble_text,
)
from tb_dataplugin.watchfile.stepless import why_no_step
from tb_dataplugin.watchfile.summary import Growth, Happening, Summary, summary_of
from tb_dataplugin.watchfile.takers import wait_note
from tb_dataplugin.watchfile.trouble import Slow, Trouble
from tb_dataplugin.watchfile.workers import busy_note, busy_number, ready_text

MOST_MARKS: Final = 500
MOST_STAGES: Final = 20
MOST_LOADERS: Final = 20

HINT: Final = (
    "No whole run was recorded here. Put annotate.watch(loader, logdir=...) before the loop, or start the program with "
    "ANNOTATE_WATCH=FOLDER in its environment, with FOLDER below this log directory."
)
_MEMORY: Final = ("rss_bytes", "workers_rss_bytes", "shm_bytes")
_LOAD: Final = ("cpu_percent", "device_percent", "gil_share", "gc_share")


def whole_run_report(run: Run, name: str) -> pb.WholeRun | None:
    """`name`: the folder, as captures in it have it. None: the run made no step."""
    summary = summary_of(run)
    if summary is None:
        return None
    head, last = run.parts[0].head, run.parts[-1]
    report = pb.WholeRun(
        run=encodable(name),
        rank=run.rank,
        world_size=head.world_size,
        host=encodable(head.host),
        began=head.t,
        ended=last.has_ended,
        points=map(_point, points_of(run)),
        marks=map(_mark, summary.happenings[:MOST_MARKS]),
        mark_count=len(summary.happenings),
        phases=map(_phase, phases_of(run, summary.happenings)[:MOST_MARKS]),
        growth=map(_growth, summary.growth),
        drifts=map(_drift, summary.drifts),
        outside=_outside(summary.outside) if summary.outside else None,
        loaders=[_loader(one, summary) for one in summary.loaders[:MOST_LOADERS]],
        stages=[pb.StageTime(name=encodable(stage), self_us=us) for stage, us in summary.stages[:MOST_STAGES]],
        stages_note=encodable(f"{summary.stages_note}{worked_text(summary.loaders)}"),
        troubles=[_trouble(one, summary) for one in summary.troubles[:MOST_STAGES]],
        slow_samples=map(_slow, summary.slow_samples),
        sentence=encodable(run_sentence(summary)),
    )
    report.MergeFrom(_numbers(summary))
    report.MergeFrom(_workers(summary))
    return report


def _numbers(summary: Summary) -> pb.WholeRun:
    note = wait_note(summary.whose, summary.wait_share)
    return pb.WholeRun(
        seconds=summary.seconds,
        processes=summary.processes,
        killed=summary.killed,
        steps=summary.steps,
        step_us=summary.step_us,
        p95_us=summary.p95_us,
        longest_us=summary.longest_us,
        data_wait_share=summary.data_wait_share,
        data_wait_note=encodable(", ".join(filter(None, (note, waits_text(summary.loaders))))),
        samples_per_s=summary.rate.samples_per_s,
        samples_per_s_of=summary.rate.of,
        recording_us=summary.recording_us,
        recording_text=recording_text(summary),
        epochs=summary.epochs,
        first_batch_us=summary.first_batch_us,
        first_batch_epochs=summary.first_waits,
        raised=summary.raised,
        measured_samples=summary.measured_samples,
        other_samples=summary.other_samples,
        gil_share=summary.gil_share,
        gc_share=summary.gc_share,
        bad_lines=summary.bad_lines,
    )


def _workers(summary: Summary) -> pb.WholeRun:
    """How busy DataLoader workers were, and what lay ready."""
    busy, ready, found, worked = summary.busy, summary.ready, pb.WholeRun(), worked_text(summary.loaders)
    if ready is not None:
        found.ready, found.ready_batches, found.ready_text = ready.mean, ready.batches, ready_text(ready)
    if busy is not None:
        found.busy_share, found.busy_batches = busy.share, busy.batches
        found.busy_text, found.busy_note = busy_number(busy), encodable(f"{busy_note(busy)}{worked}")
        if busy.low is not None and busy.high is not None:
            found.busy_low, found.busy_high = busy.low, busy.high
    return found


def _point(point: Point) -> pb.RunPoint:
    machine = {name: point.machine[name] for name in (*_MEMORY, *_LOAD) if name in point.machine}
    return pb.RunPoint(
        from_s=point.from_s,
        to_s=point.to_s,
        steps=point.steps,
        step_us=point.step_us,
        p95_us=point.p95_us,
        data_wait_share=point.wait_share,
        samples_per_s=point.samples_per_s,
        epochs=point.epochs,
        ready=point.ready,
        busy_share=point.busy_share,
        **machine,
    )


def _mark(happening: Happening) -> pb.RunMark:
    event, capture = happening.event, happening.capture
    return pb.RunMark(
        at_s=happening.after_s,
        change=encodable(event.change),
        what=encodable(event.what),
        epoch=event.epoch,
        batch=event.batch,
        took_us=event.took_us,
        usual_us=event.usual_us,
        capture=encodable(strip_suffix(capture.capture)) if capture else "",
        sentence=encodable(event_sentence(happening)),
        by_intervals=happening.by_intervals,
        note=encodable(event_note(happening)),
        missed=encodable(capture.missed) if capture else "",
        long_us=happening.long_us,
        captured_after=happening.is_captured_after,
    )


def _phase(phase: Phase) -> pb.RunPhase:
    return pb.RunPhase(
        from_s=phase.from_s,
        to_s=phase.to_s,
        kind=phase.kind,
        text=encodable(phase.text),
        capture=encodable(strip_suffix(phase.capture)),
    )


def _growth(growth: Growth) -> pb.MemoryGrowth:
    return pb.MemoryGrowth(
        what=growth.what, before_bytes=growth.before, after_bytes=growth.after, text=growth_text(growth)
    )


def _drift(drift: Drift) -> pb.StepDrift:
    stage = drift.stage
    return pb.StepDrift(
        before_us=drift.before,
        after_us=drift.after,
        stage=encodable(stage.name) if stage else "",
        stage_before_us=stage.before if stage else None,
        stage_after_us=stage.after if stage else None,
        text=encodable(drift_text(drift)),
    )


def _outside(outside: Outside) -> pb.RunOutside:
    return pb.RunOutside(
        outside_us=outside.us,
        steps_us=outside.steps_us,
        first_batches_us=outside.first_us,
        share=outside.share,
        between=outside.times if outside.between_us is not None else None,
        between_us=outside.each_us,
        longest_us=outside.longest_us if outside.times else None,
        loaders_made=outside.made,
        text=outside_text(outside),
        made_text=f"T{made_text(outside)[1:]}: {keep_text(outside)}" if outside.made else "",
    )


def _loader(one: LoaderTotal, summary: Summary) -> pb.RunLoader:
    outside, is_known = summary.outside, one.whose != "fed"
    return pb.RunLoader(
        name=encodable(loader_name(one)),
        is_main=one.is_main,
        batches=one.batches,
        unknown=one.unknown,
        data_wait_us=one.wait_us if is_known else None,
        share=outside.share_of(one.wait_us) if outside is not None and is_known else None,
        first_waits_us=one.first_wait_us if is_known else None,
        epochs=one.epochs,
        between=one.between or None,
        between_us=one.each_between_us,
        text=encodable(loader_text(one, outside)),
        data_wait_part=next((share for each, share in in_steps(summary.loaders) if each is one), None),
        busy_share=one.busy.share if one.busy else None,
        busy_text=busy_number(one.busy) if one.busy else "",
    )


def _trouble(trouble: Trouble, summary: Summary) -> pb.StageTrouble:
    return pb.StageTrouble(
        stage=encodable(trouble.stage),
        failures=trouble.failures,
        retries=trouble.retries,
        text=trouble_text(trouble, summary),
        samples=trouble.samples,
    )


def _slow(slow: Slow) -> pb.RunSample:
    sample = slow.sample
    files = map(encodable, sample.files)
    return pb.RunSample(
        index=sample.index,
        took_us=sample.took_us,
        times=slow.times,
        text=slow_text(slow),
        files=files,
        epoch=sample.epoch,
        batch=sample.batch,
        worker=sample.worker,
    )


def whole_runs_report(runs: Iterable[tuple[Run, str]], problems: Iterable[str] = ()) -> pb.WholeRuns:
    """Of runs and the names of their folders. One whose numbers no report can hold costs a problem."""
    report = pb.WholeRuns(problem_texts=map(encodable, problems))
    for run, name in runs:
        try:
            found = whole_run_report(run, name)
        except ValueError:
            report.problem_texts.append(encodable(f"{run.folder}: the record of its whole run has impossible numbers"))
            continue
        if found is not None:
            report.runs.append(found)
            continue
        report.runs_without_steps.add(run=encodable(name), rank=run.rank, reason_text=why_no_step(run))
    if not report.runs and not report.runs_without_steps:
        report.hint_text = HINT
    return report
