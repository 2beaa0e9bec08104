"""What of a stage was recorded, in words."""

from __future__ import annotations

from tb_dataplugin.units import listed, plural

NOT_PROBED = "what torch's profiler records in it, and takes for that, was not measured"
"""Of a stage in the training thread, where what one operator costs is not known."""


def unknown_text(operators: float, per: str) -> str:
    """Of a stage in the training thread whose operators take most of its time, by an estimate that is too rough."""
    return (
        f"most of its time may be torch's profiler, which recorded {recorded_text(operators, 0)}{per} there: how much "
        "less runs without it take is not known"
    )


def recorded_text(operators: float, spans: float) -> str:
    """ "165 spans", "800 operators and 3 spans"; neither where there is less than half a one."""
    parts = (round(operators), "operator"), (round(spans), "span")
    return listed([plural(many, noun) for many, noun in parts if many])
