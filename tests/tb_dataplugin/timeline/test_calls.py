"""Lanes of operators and runtime calls: what a launch is seen in."""

from __future__ import annotations

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_timeline import slice_timeline
from tests.trace_builder import TraceBuilder

AUTOGRAD = 7


def backward_on_its_own_thread() -> TraceBuilder:
    """One step: the forward's kernel is launched by the training thread, the backward's by autograd's."""
    builder = TraceBuilder().step(0, 200).operator(10, 30, "aten::linear").operator(12, 20, "aten::addmm")
    builder.call("cudaLaunchKernel", 20, 5, 1).kernel(40, 20, correlation=1)
    builder.operator(90, 40, "MmBackward0", tid=AUTOGRAD).call("cudaLaunchKernel", 100, 10, 2, tid=AUTOGRAD)
    return builder.kernel(120, 20, correlation=2)


def test_the_training_thread_and_autograd_have_a_row_of_outermost_operators_and_one_of_calls() -> None:
    timeline = slice_timeline(analyse(backward_on_its_own_thread().trace()).timeline, 0, 200, 1000)
    first, second = (lane for lane in timeline.lanes if lane.kind == "calls")
    assert (first.title, first.training_thread) == ("Operators, calls", True)
    assert (second.title, second.training_thread) == (f"Calls, thread {AUTOGRAD}", False)
    shown = [[(timeline.names[name], timeline.colors[name]) for name in lane.name] for lane in (first, second)]
    call = ("cudaLaunchKernel", "runtime")
    assert shown == [[("aten::linear", "operator"), call], [("MmBackward0", "operator"), call]]
    assert list(first.duration_ns) == [30_000, 5_000]


def test_the_launch_that_ended_a_gap_leads_to_the_lane_that_draws_it() -> None:
    analysed = analyse(backward_on_its_own_thread().trace())
    lanes = {lane.id: lane for lane in slice_timeline(analysed.timeline, 0, 200, 1000).lanes}
    [device] = analysed.capture.devices
    launches = {gap.start_us: gap.chain.launch for gap in device.gaps if gap.chain.HasField("launch")}
    assert sorted(launches) == [0, 60]
    for launch in launches.values():
        lane = lanes[launch.lane]
        assert lane.kind == "calls"
        assert round(launch.duration_us * 1000) in list(lane.duration_ns)
    assert lanes[launches[60].lane].title == f"Calls, thread {AUTOGRAD}"


def test_a_gap_without_a_data_wait_names_the_operator_that_had_most_of_it() -> None:
    """From 20 to 150 the host is in one operator, and the launch that ends the gap stands in the next, short one."""
    builder = TraceBuilder().step(0, 300).operator(0, 5, "aten::relu").call("cudaLaunchKernel", 1, 2, 1)
    builder.kernel(4, 16, correlation=1).operator(18, 132, "aten::batch_norm").operator(30, 100, "aten::empty")
    builder.operator(152, 20, "aten::conv2d").call("cudaLaunchKernel", 155, 5, 2).kernel(160, 40, correlation=2)
    capture = analyse(builder.trace()).capture
    [device] = capture.devices
    named = {gap.start_us: gap.chain.operator for gap in device.gaps if gap.chain.HasField("operator")}
    assert {start: (one.name, one.duration_us) for start, one in named.items()} == {
        0: ("aten::relu", 5),
        20: ("aten::batch_norm", 132),
    }
    text = " ".join(as_text(pb.Report(captures=[capture])).split())
    assert "host in aten::batch_norm for 92.9% of the gap (132 µs in all)" in text


def test_steps_and_markers_that_old_torch_files_under_operators_are_none() -> None:
    builder = TraceBuilder().step(0, 100).operator(0, 100, "ProfilerStep#1")
    builder.operator(1, 20, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    builder.operator(30, 10, "aten::relu").operator(60, 20, "Optimizer.step#SGD.step").operator(62, 5, "aten::add_")
    timeline = slice_timeline(analyse(builder.trace()).timeline, 0, 100, 1000)
    [lane] = (lane for lane in timeline.lanes if lane.kind == "calls")
    assert [timeline.names[name] for name in lane.name] == ["aten::relu", "aten::add_"]
