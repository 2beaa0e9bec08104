"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from benchmarks.dlio_attached.configurations import CONFIGURATIONS, Configuration

TOLERANCE: Final = 2.0
"""Points by which the two utilisations may differ."""
HEAD: Final = (
    "workload",
    "DataLoader workers",
    "batch, record, computation",
    "DLIO, same steps",
    "ours",
    "difference, points",
    "not loading, by DLIO's clocks",
    "DLIO, epochs after",
    "largest data wait",
)


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """One row per configuration: medians of its runs, and the range of the differences."""
    lines = [_row(HEAD), _row(["-"] * len(HEAD))]
    lines += [_row(_cells(configuration, runs)) for configuration, runs in _by_configuration(results)]
    return "\n".join(lines)


def summary(results: Sequence[dict[str, Any]]) -> str:
    within = sum(abs(result["difference"]) <= TOLERANCE for result in results)
    worst = max(results, key=lambda result: abs(result["difference"]))
    reached = sum(
        all(abs(result["difference"]) <= TOLERANCE for result in runs) for _, runs in _by_configuration(results)
    )
    return (
        f"Within {TOLERANCE:.0f} points: {within} of {len(results)} runs, all runs of {reached} configurations; "
        f"the worst {worst['difference']:+.1f} ({worst['configuration']})"
    ).replace("-", "\u2212")


def _by_configuration(results: Sequence[dict[str, Any]]) -> list[tuple[Configuration, list[dict[str, Any]]]]:
    runs = [
        (configuration, [result for result in results if result["configuration"] == configuration.name])
        for configuration in CONFIGURATIONS
    ]
    return [(configuration, of_it) for configuration, of_it in runs if of_it]


def _cells(configuration: Configuration, runs: Sequence[dict[str, Any]]) -> list[str]:
    differences = sorted(run["difference"] for run in runs)
    stages = sorted({run["named"]["stage"] or "\u2013" for run in runs})
    return [
        configuration.name,
        str(configuration.workers),
        f"{configuration.batch_size}, {_bytes(configuration.record_bytes)}, {1e3 * configuration.compute_s:.3g} ms",
        _percent(_median(runs, "dlio")),
        _percent(_median(runs, "ours")),
        " .. ".join(f"{one:+.1f}" for one in dict.fromkeys((differences[0], differences[-1]))).replace("-", "\u2212"),
        _percent(_median(runs, "dlio_loaded")),
        _percent(_median(runs, "dlio_epochs")),
        ", ".join(f"`{stage}` {sum(run['named']['stage'] == stage for run in runs)}/{len(runs)}" for stage in stages),
    ]


def _median(runs: Sequence[dict[str, Any]], key: str) -> float:
    values = sorted(float(run[key]) for run in runs)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _bytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e6 else f"{count / 1e3:.3g} kB"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
