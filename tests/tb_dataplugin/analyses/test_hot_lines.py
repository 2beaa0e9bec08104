from __future__ import annotations

import re
from typing import Any

import pytest

from annotate.trace_format import METADATA_KEY, Stage
from tb_dataplugin.analyses.hot_lines import LEAST_SAMPLES, HotLines
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.report.report_pb2 import Report
from tests.tb_dataplugin.findings.cases import capture_of, finding_in, results_of
from tests.trace_builder import TraceBuilder

Frame = tuple[str, str, int]

MAIN: Frame = ("<module>", "/home/me/train.py", 90)
TORCH: Frame = ("DataLoader.__next__", "/lib/site-packages/torch/utils/data/dataloader.py", 7)
OURS: Frame = ("timed.<locals>.timed", "/annotate/hooks/stand_ins.py", 106)
MASK: Frame = ("main.<locals>.RandomMask.dilate", "/home/me/train.py", 41)
CROP: Frame = ("RandomMask.crop", "/home/me/train.py", 52)
CONVOLVE: Frame = ("convolve2d", "/lib/site-packages/scipy/signal/_signaltools.py", 1796)
LOG: Frame = ("log", "/home/me/logger.py", 8)

INSIDE = (MAIN, TORCH, OURS)
HOT = (*INSIDE, MASK, CONVOLVE)
WARM = (*INSIDE, CROP)
MASKING = Stage("transform", "RandomMask")


def step(**metadata: Any) -> TraceBuilder:
    """Without a device: 10 ms; the first 8 ms wait for a sample, most of it in a transform."""
    builder = TraceBuilder().annotated(**({"loaders": [{"num_workers": 0}]} | metadata)).step(0, 10_000)
    builder.wait(0, 8000, "wait::DataLoader").stage("sample::Pets", 0, 8000)
    return builder.stage(MASKING.name, 0, 8000)


def every(us: float, count: int, start: float = 0.0) -> list[float]:
    return [start + us * (number + 0.5) for number in range(count)]


def lines_of(results: Results) -> HotLines:
    assert results.lines is not None, results.diagnostics
    return results.lines


def test_a_line_has_the_share_of_the_samples_that_it_has_and_names_what_it_calls() -> None:
    builder = step().stacks(every(40, 200), [HOT] * 120 + [WARM] * 80)
    part = lines_of(results_of(builder)).stages[MASKING]
    hot, warm = part.rows
    assert (hot.place.function, hot.place.short, hot.calls) == (
        "RandomMask.dilate",
        "train.py:41",
        "scipy.signal.convolve2d",
    )
    assert hot.share == pytest.approx(0.6, abs=0.01)
    assert hot.calls_share == 1.0
    assert 0.05 < hot.error < 0.09
    assert (warm.place.short, warm.calls) == ("train.py:52", "")
    assert hot.is_user
    assert part.tree is not None
    assert [frame.function for frame in part.tree.frame] == [MASK[0], "convolve2d", "RandomMask.crop"]
    assert part.tree.depth == (0, 1, 0)
    assert part.tree.self_ns[0] == 0


def test_a_sample_counts_as_much_as_the_time_that_it_stands_for() -> None:
    times = [*every(20, 200), *every(40, 100, 4000)]  # the sampler was slower later on
    part = lines_of(results_of(step().stacks(times, [HOT] * 200 + [WARM] * 100))).stages[MASKING]
    assert part.rows[0].share == pytest.approx(0.5, abs=0.01)


def test_too_few_samples_are_no_guess() -> None:
    few = LEAST_SAMPLES - 1
    part = lines_of(results_of(step().stacks(every(80, few), [HOT, WARM] * (few // 2) + [HOT]))).stages[MASKING]
    assert (part.samples, part.rows, part.tree) == (few, (), None)
    fewer = capture_of(step().stacks(every(160, 50), [HOT, WARM] * 25)).lines
    assert (
        fewer.stages[0].text
        == "no line has most of its 50 stack samples for certain; from 100 on, lines with less are named too"
    )
    assert f"To see lines of {MASKING.name}, record about 3 steps (active=3; under run: --active 3)." in fewer.sentence
    five = capture_of(step().stacks(every(1600, 5), [HOT] * 5)).lines.stages[0]
    assert five.text == "too few stack samples to name a line (5 of 100 needed)"


def test_a_line_that_has_nearly_all_of_few_samples_is_named_and_only_that() -> None:
    builder = step().stacks(every(107, 75), [HOT] * 36 + [WARM] * 2 + [HOT] * 37)
    part = lines_of(results_of(builder)).stages[MASKING]
    (row,) = part.rows
    assert (row.place.short, part.others) == ("train.py:41", 1)
    assert row.share == pytest.approx(73 / 75, abs=0.01) and row.share - row.error == pytest.approx(0.908, abs=0.01)
    (text,) = (fact.text for fact in finding_in(builder, "leading_stage").evidence if fact.kind == "hot_line")
    assert "train.py:41: 97" in text and "(95% interval 9" in text


def test_the_deepest_stage_has_the_sample() -> None:
    builder = step().stage("decode::PIL.Image", 0, 6000)
    builder.stacks(
        every(20, 400), [(*HOT[:-1], OURS, ("load", "/lib/site-packages/PIL/Image.py", 1))] * 300 + [WARM] * 100
    )
    stages = lines_of(results_of(builder)).stages
    assert stages[Stage("decode", "PIL.Image")].samples == 300
    assert stages[Stage("decode", "PIL.Image")].rows[0].place.short == "PIL/Image.py:1"
    assert not stages[Stage("decode", "PIL.Image")].rows[0].is_user
    assert stages[MASKING].rows[0].place.function == "RandomMask.crop"


def test_a_stage_that_is_c_code_is_at_the_line_that_called_it() -> None:
    part = lines_of(results_of(step().stacks(every(40, 200), [(MAIN, MASK, OURS)] * 200))).stages[MASKING]
    assert part.rows[0].place.short == "train.py:41"


def test_of_what_a_line_calls_the_first_public_name_is_said() -> None:
    torch = "/lib/site-packages/torch/nn/modules/"
    called = (("Module._wrapped_call_impl", f"{torch}module.py", 1), ("Sequential.forward", f"{torch}container.py", 2))
    part = lines_of(results_of(step().stacks(every(40, 200), [(*INSIDE, MASK, *called)] * 200))).stages[MASKING]
    assert part.rows[0].calls == "torch.nn.modules.container.Sequential.forward"


def test_a_line_that_calls_no_python_code_is_shown_as_it_is_written() -> None:
    builder = step().stacks(every(40, 200), [WARM] * 200)
    lines = builder.top_level[METADATA_KEY]["lines"]
    lines["names"].append("total += loss.item()")
    lines["frames"]["source"] = [-1] * len(lines["frames"]["file"])
    lines["frames"]["source"][-1] = len(lines["names"]) - 1
    (line,) = capture_of(builder).lines.stages[0].lines
    assert line.text == "`total += loss.item()` in RandomMask.crop at train.py:52"


def called(line: str, *calls: tuple[Frame, int]) -> Any:
    """The hottest line of the transform: `line`, which calls these, so many times in a hundred."""
    stacks = [(*INSIDE, WARM[-1], frame) for frame, count in calls for _ in range(2 * count)]
    builder = step().stacks(every(40, 200), stacks, sources={(CROP[1], CROP[2]): line})
    return capture_of(builder).lines.stages[0].lines[0]


def test_frames_of_torchs_own_stacks_are_said_to_be_unused_where_no_stacks_were_sampled() -> None:
    def notes(builder: TraceBuilder) -> list[str]:
        return [note.message for note in capture_of(builder).diagnostics if note.topic == "lines"]

    def recorded() -> TraceBuilder:
        return TraceBuilder().step(0, 10_000).wait(0, 8000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter")

    (note,) = notes(recorded().add("python_function", "train.py(5): main", 0, 9000))
    assert note.startswith("No stacks were sampled in this capture, and the Python frames in it, by torch's own with_")
    assert notes(recorded()) == []
    sampled = step().stacks(every(40, 200), [HOT] * 200).add("python_function", "train.py(5): main", 0, 9000)
    assert notes(sampled) == []


def test_a_part_says_what_its_shares_are_of() -> None:
    lines = capture_of(step().stacks(every(40, 200), [HOT] * 200)).lines
    (mask,) = (part for part in lines.stages if part.name == MASKING.name)
    assert re.match(
        rf"Of {re.escape(MASKING.name)} \(.* by stack samples\), the hottest line has 100% \(.*\): ", mask.sentence
    )
    assert lines.pipeline.sentence.startswith("Of the stages of the pipeline, all threads together (")
    outside = capture_of(step().stacks(every(10, 100, 8000), [(MAIN,)] * 100)).lines
    assert outside.training_thread.sentence.startswith("Of the training thread outside the data wait (")


PERCENTILE: Frame = ("percentile", "/lib/site-packages/numpy/lib/_function_base_impl.py", 4000)
MEDIAN: Frame = ("median", "/lib/site-packages/numpy/lib/_function_base_impl.py", 3900)


def test_a_function_has_the_name_by_which_the_line_calls_it() -> None:
    line = called("out[r] = np.percentile(row, 95)", (PERCENTILE, 100))
    assert line.calls == "np.percentile"
    assert line.text == "np.percentile, called in RandomMask.crop at train.py:52"
    assert called("out = signal.convolve2d(a, b)", (CONVOLVE, 100)).calls == "scipy.signal.convolve2d"
    other = called("scale(row)", (PERCENTILE, 100))
    assert other.text == "`scale(row)` in RandomMask.crop at train.py:52 (numpy.lib.percentile 100%)"
    forward = ("Sequential.forward", "/lib/site-packages/torch/nn/modules/container.py", 2)
    assert called("out = net(row)", (forward, 100)).text == "`out = net(row)` in RandomMask.crop at train.py:52"


def test_calls_of_one_line_are_told_apart() -> None:
    line = called("(row - np.median(row)) / np.percentile(row, 95)", (PERCENTILE, 60), (MEDIAN, 40))
    assert [callee.name for callee in line.callees] == ["np.percentile", "np.median"]
    assert line.callees[0].share == pytest.approx(0.6, abs=0.01)
    assert line.text.startswith("`(row - np.median(row)) / np.percentile(row, 95)` in RandomMask.crop at train.py:52 (")
    assert line.text.endswith("(np.percentile 60.1%, np.median 39.9%)")


def test_what_a_line_calls_is_not_said_to_take_all_of_it() -> None:
    backward = ("Tensor.backward", "/lib/site-packages/torch/_tensor.py", 600)
    forward = ("Module._call_impl", "/lib/site-packages/torch/nn/modules/module.py", 1747)
    line = called("loss(model(x), y).backward()", (backward, 70), (forward, 30))
    where = "`loss(model(x), y).backward()` in RandomMask.crop at train.py:52"
    assert line.text == f"{where} (torch.Tensor.backward 70.1%)"


def test_a_call_that_has_only_a_part_of_its_line_is_not_said_to_have_all_of_it() -> None:
    line = called("out = np.percentile(scale(row), 95)", (PERCENTILE, 70), (CROP, 30))
    assert line.text == "`out = np.percentile(scale(row), 95)` in RandomMask.crop at train.py:52 (np.percentile 70.1%)"
    assert called("out = np.percentile(row, 95)", (PERCENTILE, 95), (CROP, 5)).text.startswith("np.percentile, called")


def test_what_the_line_before_calls_is_not_said_of_the_next_one() -> None:
    """A sampler may read a frame's line a moment after the stack above it."""
    later: Frame = (CROP[0], CROP[1], CROP[2] + 1)
    stacks = [(*INSIDE, CROP, PERCENTILE)] * 190 + [(*INSIDE, later, PERCENTILE)] * 7 + [(*INSIDE, later)] * 3
    texts = {(CROP[1], CROP[2]): "top = np.percentile(row, 95)", (later[1], later[2]): "out.append(hash(top))"}
    hot, next_line = capture_of(step().stacks(every(40, 200), stacks, sources=texts)).lines.stages[0].lines
    assert hot.calls == "np.percentile"
    assert next_line.text == "`out.append(hash(top))` in RandomMask.crop at train.py:53"
    assert not next_line.callees


def test_a_line_that_calls_private_code_only_speaks_for_itself() -> None:
    private = ("_strptime_datetime", "/lib/python3.11/_strptime.py", 560)
    line = called("day = datetime.strptime(text, '%Y')", (private, 100))
    assert line.text == "`day = datetime.strptime(text, '%Y')` in RandomMask.crop at train.py:52"


def test_library_code_is_shown_with_the_line_that_calls_it() -> None:
    item = ("Pets.__getitem__", "/home/me/train.py", 30)
    resize = ("resize", "/lib/site-packages/torchvision/transforms/functional.py", 400)
    sources = {("/home/me/train.py", 30): "return self.resize(image)"}
    builder = step().stacks(every(40, 200), [(MAIN, TORCH, OURS, item, OURS, resize)] * 200, sources=sources)
    (line,) = capture_of(builder).lines.stages[0].lines
    assert line.text.endswith(", called from `return self.resize(image)` in Pets.__getitem__ at train.py:30")
    assert line.called_from == "train.py:30"
    loop = step().stacks(every(40, 200), [(MAIN, TORCH, OURS, resize)] * 200)
    assert capture_of(loop).lines.stages[0].lines[0].called_from == ""


def test_the_training_threads_lines_do_not_vanish_below_a_hundred_samples() -> None:
    capture = capture_of(step().stacks(every(200, 10, 8000), [(MAIN, LOG)] * 10))
    text = as_text(Report(captures=[capture]))
    assert "training thread outside the data wait: too few stack samples to name a line (10 of 100 needed)" in text


def test_the_report_has_what_the_step_is_spent_on() -> None:
    found = capture_of(step().stacks(every(20, 100, 8000), [(MAIN, LOG)] * 100)).lines.step
    assert found.samples == 100
    assert found.lines[0].line.place == "logger.py:8"
    assert found.lines[0].window.low < found.lines[0].window.share <= found.lines[0].window.high
    assert found.compute.share == 0


def test_the_recorders_own_time_is_no_line() -> None:
    own = (*INSIDE, ("read_cpu", "/annotate/recording/span_recorder.py", 290))
    part = lines_of(results_of(step().stacks(every(40, 200), [HOT] * 150 + [own] * 50))).stages[MASKING]
    assert part.rows[0].share == 1.0
    assert part.recorder_ns == pytest.approx(2_000_000, rel=0.02)


def test_all_code_of_a_package_is_named_by_its_innermost_line() -> None:
    crop = ("RandomCrop.forward", "/lib/site-packages/torchvision/transforms/transforms.py", 700)
    pad = ("pad", "/lib/site-packages/torchvision/transforms/functional.py", 400)
    part = lines_of(results_of(step().stacks(every(40, 200), [(*INSIDE, crop, pad)] * 200))).stages[MASKING]
    assert part.rows[0].place.short == "torchvision/transforms/functional.py:400"


def test_outside_the_data_wait_the_training_threads_lines_are_the_hosts() -> None:
    times = [*every(80, 100), *every(20, 100, 8000)]
    lines = lines_of(results_of(step().stacks(times, [HOT] * 100 + [(MAIN, LOG)] * 100, states=[0] * 100 + [2] * 100)))
    assert lines.training["host"].rows[0].place.short == "logger.py:8"
    assert lines.training["gil"].rows[0].place.short == "logger.py:8"


def test_with_a_device_they_stand_by_its_idle_causes() -> None:
    builder = step().call("cudaLaunchKernel", 8990, 5, correlation=1).kernel(9000, 1000)
    times = [*every(80, 100), *every(5, 200, 8000)]
    lines = lines_of(results_of(builder.stacks(times, [HOT] * 100 + [(MAIN, LOG)] * 200)))
    assert lines.training["host"].rows[0].place.function == "log"
    assert lines.stages[MASKING].rows[0].idle_share == 1.0


def test_a_worker_is_sampled_like_the_training_thread_and_the_wait_for_it_is_split() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 10_000).wait(0, 9000, "wait::DataLoader")
    builder.worker(0).batch(0, 0, 0, 0, 8000, 8500, {MASKING.name: (0, 8000)})
    lines = lines_of(results_of(builder.stacks(every(40, 200), [HOT[2:]] * 150 + [WARM[2:]] * 50, pid=100)))
    (hot, _) = lines.stages[MASKING].rows
    assert hot.share == pytest.approx(0.75, abs=0.01)
    assert hot.waited_share == pytest.approx(0.75, abs=0.01)


def test_shares_by_samples_are_checked_against_the_spans() -> None:
    builder = step().stage("decode::PIL.Image", 0, 4000)
    lines = lines_of(results_of(builder.stacks(every(16, 500), [HOT] * 500)))
    assert lines.check is not None
    assert lines.check.agrees
    assert abs(lines.check.difference) < 0.005


def test_a_check_that_fails_is_a_diagnostic() -> None:
    builder = step().stage("decode::PIL.Image", 0, 4000)
    times = [*every(4, 500), *every(1500, 2, 5000)]  # as if the sampler had met the first half only
    results = results_of(builder.stacks([*times[:500], 7000, 7990], [HOT] * 502))
    check = lines_of(results).check
    assert check is not None
    assert not check.agrees
    assert any(note.code == "lines_disagree" for note in results.diagnostics)


def test_what_too_few_samples_leave_unchecked_is_said_where_stages_have_lines() -> None:
    sentence = capture_of(step().stacks(every(40, 200), [HOT] * 200)).lines.sentence
    said = "Whether stages have the same shares by stack samples as by spans could not be checked"
    assert f"{said}: 500 stack samples in stages are needed, it has 200." in sentence
    outside = capture_of(step().stacks(every(10, 20, 8000), [(MAIN,)] * 20)).lines.sentence
    assert said not in outside


def test_the_report_says_who_sampled_and_which_lines_are_hot() -> None:
    builder = step().stacks(every(16, 500), [HOT] * 300 + [WARM] * 200, cpu_us=20_000.0, unseen=["Process 7 is blind"])
    capture = capture_of(builder)
    text = as_text(Report(captures=[capture]))
    assert "scipy.signal.convolve2d, called in RandomMask.dilate at train.py:41" in text
    assert "agree to within" in " ".join(text.split())
    assert "Process 7 is blind" in text
    assert "20.0 ms of CPU time (200% of one CPU)" in capture.lines.sentence
    assert "Code in C counts for the line of Python that calls it." in capture.lines.sentence
    assert capture.lines.stages[0].lines[0].text.startswith("scipy.signal.convolve2d")
    (finding,) = (one for one in capture.findings if one.rule == "leading_stage")
    assert any(fact.kind == "hot_line" and "60.0% of RandomMask" in fact.text for fact in finding.evidence)


@pytest.mark.parametrize("why", ("lines=False", "only Linux shows what threads wait for"))
def test_without_samples_the_report_has_the_reason_and_nothing_else(why: str) -> None:
    results = results_of(step(lines={"version": 1, "why_not": why}))
    assert results.lines is None
    assert not capture_of(step(lines={"version": 1, "why_not": why})).HasField("lines")


def test_a_line_of_the_loop_is_in_no_stage_however_late_its_stack_was_read() -> None:
    """Two stacks that were read when the thread had left the stage already."""
    loop: Frame = ("main", "/home/me/train.py", 95)
    builder = step(loaders=[{"name": "DataLoader", "num_workers": 0}])
    inside = [(MAIN, loop) if number in (70, 150) else HOT for number in range(200)]
    builder.stacks([*every(40, 200), *every(40, 50, start=8000)], [*inside, *[(MAIN, loop)] * 50])
    lines = lines_of(results_of(builder))
    assert [row.place.short for row in lines.stages[MASKING].rows] == ["train.py:41"]


def test_code_under_a_marker_of_the_users_own_stays_in_its_stage() -> None:
    """`annotate.stage` in a dataset has no frame of the recorder's below it."""
    builder = step(loaders=[{"name": "DataLoader", "num_workers": 0}])
    builder.stacks([*every(40, 200), *every(40, 50, start=8000)], [*[(MAIN, MASK)] * 200, *[(MAIN, LOG)] * 50])
    assert [row.place.short for row in lines_of(results_of(builder)).stages[MASKING].rows] == ["train.py:41"]


def with_native(builder: TraceBuilder, *libraries: str) -> TraceBuilder:
    """Frames in these files are native."""
    lines = builder.top_level[METADATA_KEY]["lines"]
    names, frames = lines["names"], lines["frames"]
    frames["native"] = [row for row, file in enumerate(frames["file"]) if names[file] in libraries]
    lines["version"] = 2
    lines["native"] = {"samples": 200, "joined": 190, "cpu_us": 5e5, "left_out": 1, "why_not": []}
    return builder


JPEG, LIBC = "/lib/site-packages/pillow.libs/libjpeg-6dc8d115.so.62.4.0", "/usr/lib/libc.so.6"


def test_the_line_stays_the_python_line_and_says_which_native_function_runs_below_it() -> None:
    decode = [("jpeg_read_scanlines", JPEG, 0), ("(no symbol)", JPEG, 0)]
    stacks = [[*INSIDE, MASK, *decode]] * 120 + [[*INSIDE, MASK, *decode, ("memcpy", LIBC, 0)]] * 40 + [WARM] * 40
    builder = with_native(step().stacks(every(40, 200), stacks), JPEG, LIBC)
    line = capture_of(builder).lines.stages[0].lines[0]
    assert line.place == "train.py:41"
    assert line.share == pytest.approx(0.8, abs=0.01)
    assert (line.native_library, line.native_symbol, line.native_share) == ("libjpeg", "jpeg_read_scanlines", 1.0)
    assert line.text == "RandomMask.dilate at train.py:41, in libjpeg's `jpeg_read_scanlines`"
    sentence = capture_of(builder).lines.sentence
    assert "py-spy read the native frames of 95.0% of 200 stacks" in sentence and "1 process beyond" in sentence


def test_native_frames_stand_in_the_tree_below_their_line_marked_as_native() -> None:
    stacks = [[*INSIDE, MASK, ("decode_mcu", JPEG, 0)]] * 200
    tree = capture_of(with_native(step().stacks(every(40, 200), stacks), JPEG)).lines.stages[0].tree
    rows = [(tree.names[tree.label[row]], tree.origin[row], tree.depth[row]) for row in range(len(tree.depth))]
    assert rows == [("RandomMask.dilate", "user", 0), ("decode_mcu", "native", 1)]
    assert tree.names[tree.place[1]] == "libjpeg"


def test_a_stage_in_c_has_native_frames_below_the_line_that_calls_it() -> None:
    stacks = [[MAIN, TORCH, MASK, OURS, ("inflate", "/lib/libz.so.1", 0)]] * 200
    part = capture_of(with_native(step().stacks(every(40, 200), stacks), "/lib/libz.so.1")).lines.stages[0]
    assert [part.tree.names[label] for label in part.tree.label] == ["RandomMask.dilate", "inflate"]
    assert part.lines[0].text == "RandomMask.dilate at train.py:41, in libz's `inflate`"


def test_where_no_function_has_most_of_the_line_its_library_is_named() -> None:
    stacks = [[*INSIDE, MASK, (f"f{number % 4}", JPEG, 0)] for number in range(200)]
    line = capture_of(with_native(step().stacks(every(40, 200), stacks), JPEG)).lines.stages[0].lines[0]
    assert line.text == "RandomMask.dilate at train.py:41, in libjpeg"
