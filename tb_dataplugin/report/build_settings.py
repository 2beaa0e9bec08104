"""Settings of DataLoaders that are not the training loop's."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.analyses.named_loader import NamedLoader
from tb_dataplugin.analyses.remade import settings_of
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.report import report_pb2 as pb


def other_settings(results: Results) -> Iterator[pb.LoaderSettings]:
    """Those that are alike once, also where the loop's own is made anew as one."""
    pipeline, use = results.trace.info.pipeline, results.use
    loaders = pipeline.loaders if pipeline else ()
    known = {settings_of(loader) for number, loader in enumerate(loaders) if number in use.loops}
    for loader in loaders:
        settings = settings_of(loader)
        if settings not in known:
            known.add(settings)
            yield settings_report(loader)


def named_report(named: NamedLoader) -> pb.NamedLoader:
    return pb.NamedLoader(
        settings=settings_report(named.settings),
        item=named.item,
        samples=named.samples,
        samples_per_batch=named.samples_per_batch,
    )


def settings_report(loader: LoaderInfo) -> pb.LoaderSettings:
    return pb.LoaderSettings(
        name=loader.name,
        dataset=loader.dataset,
        num_workers=loader.num_workers,
        batch_size=loader.batch_size,
        prefetch_factor=loader.prefetch_factor,
        pin_memory=loader.pin_memory,
        persistent_workers=loader.persistent_workers,
        in_order=loader.in_order,
        start_method=loader.start_method,
    )
