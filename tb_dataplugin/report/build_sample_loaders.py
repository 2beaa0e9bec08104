"""The part of the report about whose the slow samples are: units change here (ns to us)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tb_dataplugin.analyses.items import Item, item_of
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sample_loaders import LoaderSamples
from tb_dataplugin.analyses.samples import SlowSample
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import us

SEVERAL: Final = "one of several DataLoaders, not known which"


def sample_loaders(results: Results, slow: Iterable[SlowSample], names: Mapping[int, str]) -> list[pb.SampleLoader]:
    """Those of the samples that are listed. `names`: by number."""
    pipeline, main, listed = results.trace.info.pipeline, results.use.main, {sample.loader for sample in slow}
    known = pipeline.loaders if pipeline else ()
    mine = [one for one in results.samples.loaders if one.number in listed]
    return [
        _report(
            one,
            known[one.number] if 0 <= one.number < len(known) else LoaderInfo(),
            names,
            main,
            item_of(results.trace, one.number),
        )
        for one in mine
    ]


def _report(
    one: LoaderSamples, settings: LoaderInfo, names: Mapping[int, str], main: int, item: Item
) -> pb.SampleLoader:
    return pb.SampleLoader(
        loader=one.number,
        name=names.get(one.number, "") if one.number >= 0 else SEVERAL,
        main=one.number == main,
        usual_samples=one.usual,
        p50_us=us(one.median_ns),
        item=item,
        dataset=settings.dataset,
        batch_size=settings.batch_size,
        num_workers=settings.num_workers,
        sampler_length=settings.sampler_length,
    )
