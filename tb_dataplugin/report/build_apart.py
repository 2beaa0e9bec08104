"""Data wait that is told apart from the training loop's."""

from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.analyses.apart import OtherLoader
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.intervals import EMPTY
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import maybe_us, us


def apart_report(results: Results, sentence: str) -> pb.Apart:
    loop, pipeline = results.loop, results.trace.info.pipeline
    apart, loaders = loop.apart, pipeline.loaders if pipeline else ()
    return pb.Apart(
        wait_us=us(apart.waits.total_ns),
        starts_us=us(apart.starts.total_ns),
        epochs=len(apart.epochs),
        others=(_other(other, None if other.number is None else loaders[other.number]) for other in apart.others),
        sentence=sentence,
        pauses_us=us(apart.pauses.total_ns),
        pauses=len(apart.pauses),
        wait_by_stage_us={name: us(time) for name, time in loop.apart_by_stage_ns.items()},
        ends=len(apart.ends),
        names=apart.names(results.window),
        between_us=us(apart.between.total_ns),
        between_epochs_us=us(apart.between_epochs.total_ns),
        wait_names=replace(apart, between_epochs=EMPTY).names(results.window),
        idle_us=maybe_us(loop.apart_idle_ns),
    )


def _other(other: OtherLoader, loader: LoaderInfo | None) -> pb.OtherLoader:
    settings = loader or LoaderInfo()
    return pb.OtherLoader(
        dataset=settings.dataset,
        batch_size=settings.batch_size,
        num_workers=settings.num_workers,
        wait_us=us(other.waits.total_ns),
        steps=other.steps,
        step_wait_us=map(us, other.step_waits_ns),
        unannotated=loader is None,
    )
