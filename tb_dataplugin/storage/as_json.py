"""The probe as JSON (docs/tune.md); what is not known is absent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from tb_dataplugin.storage.judging import Judgement
from tb_dataplugin.storage.probing import Probed, Series

SCHEMA_VERSION: Final = 1


def as_json(probed: Probed, judgements: Sequence[Judgement], needs: Sequence[str]) -> str:
    samples = probed.samples
    answer = {
        "schema_version": SCHEMA_VERSION,
        "samples": {
            "count": samples.count,
            "bytes": samples.size,
            "probed": len(samples.chosen),
            "probed_bytes": samples.chosen_size,
        },
        "cold": probed.cold,
        "measurements": [_series(series) for series in probed.series if series.reads],
        "judgements": [_judgement(judgement) for judgement in judgements],
        "needs": list(needs),
        "notes": probed.notes,
        "interrupted": probed.interrupted,
    }
    return json.dumps(answer, indent=2)


def _series(series: Series) -> dict[str, Any]:
    rates, median = series.rates, series.median
    return {
        "layout": series.layout,
        "order": series.order,
        "cold": series.is_cold,
        "readers": series.readers,
        "samples_per_s": {"value": series.per_s, "low": rates[0], "high": rates[-1]},
        "bytes_per_s": median.bytes_per_s,
        "latency_us": {"p50": 1e6 * median.latency_s(50), "p95": 1e6 * median.latency_s(95)},
        "samples_read": len(median.latencies_s),
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    known = {"helps": judgement.helps, "gain": judgement.gain}
    named = {name: value for name, value in known.items() if value is not None}
    return {"remedy": judgement.remedy, **named, "sentence": judgement.sentence}
