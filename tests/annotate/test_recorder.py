"""The recorder by itself: the timed form of a method passes everything through, and records what `call` records."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from annotate.hooks.patching import Patches, Timing
from annotate.hooks.stand_ins import timed_method
from annotate.recording import other_threads, span_recorder, switch
from annotate.recording.rows import CPU_BITS, read_readings, read_rows


class Echo:
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "error" in kwargs or args[:1] == ("error",):
            raise ValueError("as asked")
        return args, kwargs


@pytest.fixture
def recording() -> Iterator[None]:
    span_recorder.attach(lambda: None, lambda: True, 1 << 20)
    switch.set_recording(True)
    yield
    switch.set_recording(False)
    span_recorder.detach()


echo = Echo()
timed = span_recorder.timed(Echo.__call__, {id(echo): "transform::Echo"})
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((None,), {}),
    ((1, 2), {}),
    ((), {"value": 1}),
    ((1,), {"args": 2, "kwargs": 3}),
]


def recorded() -> list[tuple[str, int]]:
    """Name and extra of each span so far."""
    packed = struct.pack(f"{len(span_recorder.rows)}q", *span_recorder.rows)
    return [(span_recorder.names[row["name_cpu"] >> CPU_BITS], row["extra"]) for row in read_rows(packed)]


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_any_call_gives_what_the_method_gives_in_one_span(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert timed(echo, *args, **kwargs) == (args, kwargs)
    assert [name for name, _ in recorded()] == ["transform::Echo"]


@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_nothing_is_recorded_while_no_window_is(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert timed(echo, *args, **kwargs) == (args, kwargs)
    assert not span_recorder.rows


@pytest.mark.usefixtures("recording")
def test_an_error_passes_and_closes_its_span() -> None:
    for args, kwargs in ((("error",), {}), ((), {"error": 1})):
        with pytest.raises(ValueError, match="as asked"):
            timed(echo, *args, **kwargs)
    assert recorded() == [("transform::Echo", -1)] * 2


@pytest.mark.usefixtures("recording")
def test_results_are_measured_at_the_first_call_and_every_seventeenth() -> None:
    same = span_recorder.timed(lambda self, value: value, {id(None): "transform::bytes"})
    for _ in range(span_recorder.MEASURE_EACH + 1):
        same(None, b"12345")
    sizes = [size for _, size in recorded()]
    assert [at for at, size in enumerate(sizes) if size == 5] == [0, span_recorder.MEASURE_EACH]


@pytest.mark.usefixtures("recording")
def test_of_samples_of_an_image_and_its_mask_both_are_measured() -> None:
    same = span_recorder.timed(lambda self, value: value, {id(None): "decode::image"})
    for _ in range(2 * span_recorder.MEASURE_EACH):
        same(None, b"image")
        same(None, b"mask")
    assert {5, 4} <= {size for _, size in recorded()}


@pytest.mark.usefixtures("recording")
def test_batches_are_all_measured() -> None:
    same = span_recorder.timed(lambda self, value: value, {id(None): "collate::pad"})
    for _ in range(3):
        same(None, b"12345")
    assert [size for _, size in recorded()] == [5, 5, 5]


@pytest.mark.usefixtures("recording")
def test_methods_that_were_replaced_before_get_the_form_of_the_recorder_that_is_installed() -> None:
    patches, plain = Patches(), Echo.__call__
    assert patches.follow(echo, {"__call__": Timing("transform", timed_method)})
    generic = Echo.__call__
    switch.install(span_recorder.worker_recorder(lambda: False))
    assert Echo.__call__ is not generic
    assert echo(1) == ((1,), {})
    assert recorded() == [("transform::Echo", -1)]
    assert Echo()(1) == ((1,), {}), "not followed"
    assert len(recorded()) == 1
    patches.undo()
    switch.install(switch.TORCH_MARKERS)
    assert Echo.__call__ is plain


@pytest.mark.usefixtures("recording")
def test_spans_of_another_thread_are_kept_apart() -> None:
    thread = threading.Thread(target=timed, args=(echo, 1))
    thread.start()
    thread.join()
    assert not span_recorder.rows
    (span,) = other_threads.take()
    assert span.thread == thread.native_id
    assert span.name == "transform::Echo"


@pytest.mark.usefixtures("recording")
def test_where_a_reading_of_cpu_time_took_long_its_times_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the call that reading is not in the span, behind it it is its last part."""

    def cpu_clock() -> int:
        time.sleep(0.001)
        return time.thread_time_ns()

    monkeypatch.setattr(span_recorder, "cpu_clock", cpu_clock)

    def slow(self: None, value: bytes) -> bytes:
        time.sleep(0.001)
        return value

    span_recorder.timed(slow, {id(None): "transform::slow"})(None, b"12345")
    assert span_recorder.span_count() == 1
    packed = span_recorder.take_rows()
    (span,), (before, behind) = read_rows(packed), read_readings(packed).tolist()
    assert before[1] == span["start"]
    assert behind[1] == span["end"]
    assert behind[1] - behind[0] >= 1_000_000
    assert span["extra"] == 5, "its size, in the row behind it"
