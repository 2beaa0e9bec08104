"""What was measured, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.dlio_attached.configurations import CONFIGURATIONS, Configuration

TOLERANCE: Final = 2.0
"""Points by which the two utilisations may differ."""
PARTS: Final = ("computed_longer", "released", "between_steps", "our_clock")
HEAD: Final = (
    "workload",
    "DataLoader workers",
    "batch, record, computation",
    "DLIO, same steps",
    "DLIO's formula over our steps",
    "difference, points",
    "ours: without the data wait",
    "difference, points",
    "of it: computed longer, released, between steps, our clock",
    "DLIO, epochs after",
    "largest data wait",
)


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """One row per configuration: medians of its runs, and the range of the differences."""
    lines = [_row(HEAD), _row(["-"] * len(HEAD))]
    lines += [_row(_cells(configuration, runs)) for configuration, runs in _by_configuration(results)]
    return "\n".join(lines)


def summary(results: Sequence[dict[str, Any]]) -> str:
    """How many runs are within the tolerance: by DLIO's formula, and by the data wait."""
    by_formula, by_wait = _within(results, "difference_by_definition"), _within(results, "difference")
    clock = max(abs(100 * result["our_clock"]) for result in results)
    return (
        f"DLIO's formula over our steps: {by_formula}\nWithout the data wait: {by_wait}. Of it by our clock: at most "
        f"{clock:.1f}"
    )


def _within(results: Sequence[dict[str, Any]], key: str) -> str:
    within = sum(abs(result[key]) <= TOLERANCE for result in results)
    worst = max(results, key=lambda result: abs(result[key]))
    groups = _by_configuration(results)
    reached = sum(all(abs(result[key]) <= TOLERANCE for result in runs) for _, runs in groups)
    return (
        f"within {TOLERANCE:.0f} points {within} of {len(results)} runs, all runs of {reached} of {len(groups)} "
        f"configurations; the worst {_points(worst[key])} ({worst['configuration']})"
    )


def _by_configuration(results: Sequence[dict[str, Any]]) -> list[tuple[Configuration, list[dict[str, Any]]]]:
    runs = [
        (configuration, [result for result in results if result["configuration"] == configuration.name])
        for configuration in CONFIGURATIONS
    ]
    return [(configuration, of_it) for configuration, of_it in runs if of_it]


def _cells(configuration: Configuration, runs: Sequence[dict[str, Any]]) -> list[str]:
    stages = Counter(f"`{run['named']['stage']}`" if run["named"]["stage"] else "none" for run in runs)
    return [
        configuration.name,
        str(configuration.workers),
        f"{configuration.batch_size}, {_bytes(configuration.record_bytes)}, {1e3 * configuration.compute_s:.3g} ms",
        _percent(_median(runs, "dlio")),
        _percent(_median(runs, "by_definition")),
        _range(runs, "difference_by_definition"),
        _percent(_median(runs, "ours")),
        _range(runs, "difference"),
        ", ".join(_points(100 * _median(runs, part)) for part in PARTS),
        _percent(_median(runs, "dlio_epochs")),
        ", ".join(f"{stage} {count}/{len(runs)}" for stage, count in stages.most_common()),
    ]


def _median(runs: Sequence[dict[str, Any]], key: str) -> float:
    values = sorted(float(run[key]) for run in runs)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _range(runs: Sequence[dict[str, Any]], key: str) -> str:
    differences = sorted(run[key] for run in runs)
    return " .. ".join(dict.fromkeys(map(_points, (differences[0], differences[-1]))))


def _points(difference: float) -> str:
    return f"{difference:+.1f}".replace("-", "\u2212")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _bytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e6 else f"{count / 1e3:.3g} kB"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
