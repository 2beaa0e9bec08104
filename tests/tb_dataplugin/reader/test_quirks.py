"""Every oddity of fourteen torch versions and four vendors, one small file each: the same story comes out of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tb_dataplugin.pipeline import analyse
from tb_dataplugin.reader import read_trace

QUIRKS = Path(__file__).parents[2] / "golden" / "quirks"


@dataclass(frozen=True)
class Story:
    """Times in us. `devices`: id, busy, kernel busy."""

    window: float = 100
    steps: int = 1
    wait: float = 20
    devices: tuple[tuple[int, float, float], ...] = ((0, 30, 30),)
    odd: tuple[str, ...] = ()


PLAIN = Story()
COPY_OF_4_US = replace(PLAIN, devices=((0, 34, 30),))
OTHERS = {
    "a_second_device": replace(PLAIN, devices=((0, 30, 30), (1, 10, 10))),
    "collectives": replace(PLAIN, devices=((0, 35, 35),)),
    "copies_by_the_cupti_monitor": COPY_OF_4_US,
    "corrupt_device_stamps": replace(PLAIN, odd=("absurd_time",)),
    "durations_as_text_or_missing": replace(PLAIN, odd=("event_without_duration",)),
    "hip": replace(PLAIN, devices=((2, 30, 30),)),
    "mtia": COPY_OF_4_US,
    "names_that_are_no_names": replace(PLAIN, devices=((0, 32, 32),)),
    "no_steps": replace(PLAIN, window=80, steps=0),
    "the_same_correlation_twice": replace(PLAIN, devices=((0, 33, 33),)),
    "xpu": COPY_OF_4_US,
}


@pytest.mark.parametrize("path", sorted(QUIRKS.glob("*.json")), ids=lambda path: path.stem)
def test_the_story_comes_out(path: Path) -> None:
    capture = analyse(read_trace(path)).capture
    told = Story(
        window=capture.window_us,
        steps=capture.steps.count,
        wait=capture.loader.wait_us,
        devices=tuple((device.id, device.busy_us, device.kernel_busy_us) for device in capture.devices),
        odd=tuple(one.code for one in capture.diagnostics if one.topic == "file"),
    )
    assert told == OTHERS.get(path.stem, PLAIN)
    assert all(device.busy_us + device.idle_us == capture.window_us for device in capture.devices)


@pytest.mark.parametrize("name", ["absolute_fractional_us", "absolute_integer_us", "base_time_after_the_events"])
def test_times_are_exact_to_the_nanosecond(name: str) -> None:
    trace = read_trace(QUIRKS / f"{name}.json")
    assert trace.events.start_ns.tolist() == [0, 10_000, 35_000, 40_000, 60_000]
    assert trace.events.end_ns.tolist() == [100_000, 30_000, 50_000, 42_000, 90_000]


def test_a_kernel_finds_its_launch_by_ids_of_any_spelling() -> None:
    for name in ("ids_as_text", "hip", "driver_launch", "torch_1_8", "mtia", "xpu", "privateuse1"):
        events = read_trace(QUIRKS / f"{name}.json").events
        assert events.correlation[events.correlation >= 0].tolist() == [9, 9], name
