from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from capture_helpers import load, names, record, spans_of, trees
from torch.utils.data import DataLoader, default_collate

import annotate
from annotate.capture.sentences import written
from annotate.capture.verdict import Answer
from annotate.recording import switch
from annotate.trace import writer
from annotate.trace_format import FORMAT_VERSION, TRACE_SUFFIX, PipelineMetadata
from tests.support.torchs_lines import is_torchs_own


class Numbers(torch.utils.data.Dataset[int]):
    def __init__(self, size: int = 40) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return index


def my_collate(batch: list[int]) -> list[int]:
    return sorted(batch)


class Stacker:
    extra = 7

    def __call__(self, batch: list[int]) -> list[int]:
        return batch

    def __repr__(self) -> str:
        return "Stacker()"


@annotate.stage("transform", "dilate")
def marked(x: int) -> int:
    """Adds one."""
    return x + 1


KEPT = annotate.stage("user", "kept")


def steps_of(trace: dict[str, Any]) -> list[str]:
    return [e["name"] for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#") and e.get("ph") == "X"]


# collate and loader


def test_collate_is_picklable_and_passes_for_its_function() -> None:
    one = annotate.collate(my_collate)
    assert one([3, 1]) == [1, 3]
    assert (repr(one), one.__name__) == (repr(my_collate), "my_collate")
    assert one == my_collate
    assert pickle.loads(pickle.dumps(one)) == one
    assert annotate.collate(one) is one
    assert annotate.collate(Stacker()).extra == 7
    assert repr(annotate.collate(Stacker())) == "Stacker()"
    assert torch.equal(annotate.collate()([1, 2]), torch.tensor([1, 2]))
    assert not hasattr(one, "nothing")
    with pytest.raises(TypeError, match="takes a function that builds a batch"):
        annotate.collate(3)  # type: ignore[arg-type]


def test_loader_is_annotated_in_place_with_the_same_results_and_random_numbers(tmp_path: Path) -> None:
    def epoch(loader: Any) -> list[list[int]]:
        torch.manual_seed(1)
        return [batch.tolist() for batch in loader]

    expected = epoch(DataLoader(Numbers(), batch_size=4, shuffle=True))
    after = torch.rand(3)
    loader = DataLoader(Numbers(), batch_size=4, shuffle=True)
    ds = loader.dataset
    assert annotate.loader(annotate.loader(loader)) is loader
    assert type(loader) is DataLoader
    assert loader.dataset is ds
    assert loader.collate_fn == default_collate
    assert epoch(loader) == expected
    assert torch.equal(torch.rand(3), after)
    results: list[Any] = []
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2) as prof:
        torch.manual_seed(1)
        results.extend(batch.tolist() for batch in prof.steps(loader))
    assert results == expected
    assert torch.equal(torch.rand(3), after)


def test_a_loader_without_batches_keeps_its_conversion(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(3), batch_size=None))
    roots = record(tmp_path, lambda: list(loader))
    assert trees(roots) == ["sample::Numbers", "collate::default_convert"] * 3


def test_only_loaders_are_annotated() -> None:
    with pytest.raises(TypeError, match=r"annotate\.loader takes a torch DataLoader, not a list"):
        annotate.loader([1])


# stage


def test_stage_forms_nest_and_are_reusable(tmp_path: Path) -> None:
    again = annotate.stage("user", "again")

    def code() -> None:
        with annotate.stage("h2d"):
            pass
        with again, again, annotate.stage("read", "inner"):
            assert marked(1) == 2

    assert trees(record(tmp_path, code)) == [
        "h2d::h2d",
        ("user::again", [("user::again", [("read::inner", ["transform::dilate"])])]),
    ]
    assert marked.__name__ == "marked"
    assert marked.__doc__ == "Adds one."
    assert pickle.loads(pickle.dumps(marked)) is marked
    assert pickle.loads(pickle.dumps(KEPT)).label == "kept"
    assert repr(KEPT) == "annotate.stage('user', 'kept')"


def test_a_decorator_is_labelled_by_its_function(tmp_path: Path) -> None:
    @annotate.stage("decode")
    def unpack() -> None: ...

    assert trees(record(tmp_path, unpack)) == ["decode::unpack"]


def test_a_generator_function_is_a_span_per_resume_and_keeps_its_protocol(tmp_path: Path) -> None:
    log: list[Any] = []

    @annotate.stage("read")
    def numbers() -> Any:
        try:
            log.append((yield 1))
            try:
                yield 2
            except KeyError:
                yield "caught"
            return "end"
        finally:
            log.append("closed")

    def code() -> None:
        generator = numbers()
        assert next(generator) == 1
        with annotate.stage("user", "consumer"):
            pass
        assert generator.send("sent") == 2
        assert generator.throw(KeyError()) == "caught"
        with pytest.raises(StopIteration) as stop:
            next(generator)
        assert stop.value.value == "end"
        other = numbers()
        next(other)
        other.close()

    roots = record(tmp_path, code)
    assert trees(roots) == ["read::numbers", "user::consumer", *["read::numbers"] * 4]
    assert log == ["sent", "closed", "closed"]


def test_async_functions_classes_and_unknown_kinds_are_refused_in_one_line() -> None:
    async def wait() -> None: ...

    with pytest.raises(TypeError, match="async function 'wait': mark the synchronous parts"):
        annotate.stage("read")(wait)
    with pytest.raises(TypeError, match="decorates functions"):
        annotate.stage("read")(Stacker)
    with pytest.raises(ValueError, match=r"'load' \(str\) is not a stage kind\. Use one of: wait, sampler, wrapper"):
        annotate.stage("load")  # type: ignore[arg-type]


def test_one_stage_object_serves_two_threads_at_once(tmp_path: Path) -> None:
    shared = annotate.stage("user", "shared")
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with shared:
            inside.set()
            leave.wait(10)

    def code() -> None:
        thread = threading.Thread(target=other)
        with shared:
            thread.start()
            inside.wait(10)
        leave.set()
        thread.join()

    assert names(record(tmp_path, code))["user::shared"] >= 1


def test_labels_that_kineto_cannot_write_come_out_right(tmp_path: Path) -> None:
    labels = ['say "hi"', "back\\slash", "two\nlines", "größe ☃ 😀", "</script>", "plain"]

    def code() -> None:
        for label in labels:
            with annotate.stage("user", label):
                pass

    assert trees(record(tmp_path, code)) == [f"user::{label}" for label in labels]


# profile


def test_one_file_per_window_with_steps_waits_and_metadata(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=4, num_workers=0, drop_last=True))
    seen: list[str] = []
    with annotate.profile(
        tmp_path / "new" / "run",
        wait=1,
        warmup=1,
        active=2,
        repeat=2,
        on_trace_ready=lambda p: seen.append(type(p).__name__),
    ) as prof:
        assert len(prof.steps(loader)) == 10
        batches = list(prof.steps(loader))
    assert len(batches) == 10
    assert seen == ["profile", "profile"]
    assert len(prof.trace_files) == 2
    assert sorted(map(str, (tmp_path / "new" / "run").iterdir())) == prof.trace_files
    assert re.fullmatch(r".+_\d+\.\d+" + re.escape(TRACE_SUFFIX), Path(prof.trace_files[0]).name)
    trace = load(prof.trace_files[0])
    assert steps_of(trace) == ["ProfilerStep#2", "ProfilerStep#3"]
    counts = names(spans_of(trace))
    assert counts == {"wait::DataLoader": 2, "sample::Numbers": 8, "collate::default_collate": 2}
    assert next(iter(trace)) == "dataPipeline"
    metadata = trace["dataPipeline"]
    assert metadata["version"] == FORMAT_VERSION
    assert metadata["mode"] == "train"
    assert metadata["loaders"] == [
        {
            "name": "DataLoader",
            "dataset": "Numbers",
            "batch_size": 4,
            "num_workers": 0,
            "pin_memory": False,
            "drop_last": True,
            "sampler": "SequentialSampler",
            "shuffle": False,
            "sampler_length": 40,
            "iterated": 1,
            "iterated_in_window": 0,
            "stepped": True,
        }
    ]
    assert metadata["host"]["cores"] >= 1
    assert metadata["versions"]["torch"] == torch.__version__
    assert metadata["overhead"]["marker_count"] == 12
    assert 0 < metadata["overhead"]["marker_us"] < 1000
    assert 0 <= metadata["overhead"]["operator_us"] < 1000


def test_the_old_profiler_plugin_takes_the_file_for_a_trace(tmp_path: Path) -> None:
    consts = pytest.importorskip("torch_tb_profiler.consts")
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        list(prof.steps(DataLoader(Numbers(8))))
    assert consts.WORKER_PATTERN.match(Path(prof.trace_files[0]).name)


def test_the_first_wait_is_told_apart(tmp_path: Path) -> None:
    from torch.profiler import ProfilerAction

    with annotate.profile(tmp_path, schedule=lambda step: ProfilerAction.RECORD) as prof:
        list(prof.steps(DataLoader(Numbers(2))))
    waits = [root.name for root in spans_of(load(prof.trace_files[0]))]
    assert waits == ["wait::DataLoader (first batch)", "wait::DataLoader", "wait::DataLoader"]


def test_a_loader_that_was_not_annotated_is_timed_for_the_session_only(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(8), batch_size=2, collate_fn=my_collate)
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        for _ in prof.steps(loader):
            assert loader.collate_fn is not my_collate
    assert loader.collate_fn is my_collate
    assert type(loader.dataset) is Numbers
    counts = names(spans_of(load(prof.trace_files[0])))
    assert counts["collate::my_collate"] == 2


def test_any_iterable_can_be_stepped_through(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        assert list(prof.steps(i for i in range(4))) == [0, 1, 2, 3]
        with pytest.raises(TypeError, match="generator has no length"):
            len(prof.steps(i for i in range(4)))
    assert names(spans_of(load(prof.trace_files[0]))) == {"wait::generator": 2}


def test_a_loop_that_ends_within_the_window_writes_what_there_is(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=1, warmup=1, active=10) as prof:
        list(prof.steps(DataLoader(Numbers(5))))
    assert len(steps_of(load(prof.trace_files[0]))) == 4


def test_a_loop_that_ends_before_the_window_is_warned_about_once(tmp_path: Path) -> None:
    message = r"ended after 3 steps.*starts after 12 \(wait=10, warmup=2\). Lower `wait`"
    with pytest.warns(UserWarning, match=message), annotate.profile(tmp_path, wait=10) as prof:
        list(prof.steps(DataLoader(Numbers(3))))
    assert prof.trace_files == []
    message = r"ended after 3 steps, before its step time had settled. Give a number of steps"
    with pytest.warns(UserWarning, match=message), annotate.profile(tmp_path) as prof:
        list(prof.steps(DataLoader(Numbers(3))))
    with pytest.warns(UserWarning, match="no step was taken"), annotate.profile(tmp_path):
        pass


def test_an_exception_passes_unchanged_and_what_was_recorded_is_written(tmp_path: Path) -> None:
    error = RuntimeError("of the user")
    loader = annotate.loader(DataLoader(Numbers(20)))
    with pytest.raises(RuntimeError) as caught, annotate.profile(tmp_path, wait=0, warmup=1, active=10) as prof:
        for number, _ in enumerate(prof.steps(loader)):
            if number == 4:
                raise error
    assert caught.value is error
    assert type(loader.dataset) is Numbers
    assert len(steps_of(load(prof.trace_files[0]))) == 4


def test_a_failing_write_does_not_hide_the_users_exception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(writer, "write_trace", fail)
    prof = annotate.profile(tmp_path, wait=0, warmup=1, active=5)
    with pytest.warns(RuntimeWarning, match="disk full"), pytest.raises(ZeroDivisionError), prof:
        prof.step()
        _ = 1 / 0


def test_a_folder_that_cannot_be_written_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"annotate cannot write traces to .*file/run: .*Give a folder"):
        annotate.profile(tmp_path / "file" / "run").__enter__()


def test_counts_out_of_range_and_unknown_keywords_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="active must be at least 1, not 0"):
        annotate.profile(tmp_path, active=0)
    with pytest.raises(ValueError, match="wait must be 0 or more, not"):
        annotate.profile(tmp_path, wait=-1)
    with pytest.raises(TypeError, match="nonsense"):
        annotate.profile(tmp_path, nonsense=1)


def test_two_captures_at_once_and_steps_outside_are_refused(tmp_path: Path) -> None:
    from torch.profiler import ProfilerAction

    prof = annotate.profile(tmp_path, schedule=lambda step: ProfilerAction.RECORD)
    with pytest.raises(RuntimeError, match="belongs inside"):
        prof.step()
    with prof:
        with pytest.raises(RuntimeError, match="is open already"):
            annotate.profile(tmp_path).__enter__()
        assert switch.RECORDING
    with pytest.raises(RuntimeError, match="belongs inside"):
        prof.steps([1])


def test_torchs_own_methods_and_keywords_pass_through(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1, record_shapes=True) as prof:
        for _ in prof.steps(DataLoader(Numbers(3))):
            torch.ones(2, 2) @ torch.ones(2, 2)
    assert any(event.key == "aten::mm" for event in prof.key_averages())


def test_the_flag_is_on_only_while_the_schedule_records(tmp_path: Path) -> None:
    flags = []
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2, repeat=1) as prof:
        for _ in range(6):
            flags.append(switch.RECORDING)
            prof.step()
    assert flags == [False, False, True, True, False, False]


def test_a_marker_open_across_a_step_is_closed(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        prof.step()
        with annotate.stage("user", "long"):
            prof.step()
    assert len(prof.trace_files) == 1


def test_only_names_handed_out_change_their_category(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "traceEvents": [
                {
                    "ph": "X",
                    "cat": "cpu_op",
                    "name": "transform::Mine",
                    "args": {"x": '"cat": "cpu_op", "name": "user::a"'},
                },
                {"ph": "X", "cat": "cpu_op", "name": "transform::Other"},
                {"ph": "X", "cat": "kernel", "name": "transform::Mine"},
            ]
            * 3000
        },
        indent=1,
    )

    def save(path: str) -> None:
        Path(path).write_text(text)

    def metadata(written: writer.Written) -> PipelineMetadata:
        assert written.names == {"transform::Mine"}
        found.append(written.markers)
        return {}

    found: list[int] = []
    names = {"transform::Mine": "transform::Mine", "user::a": "user::a"}
    path = writer.write_trace(save, tmp_path, names, metadata)
    expected = json.loads(text)
    for event in expected["traceEvents"][::3]:
        event["cat"] = "user_annotation"
    assert load(path) == {"dataPipeline": {}, **expected}
    assert found == [3000]


def test_a_failed_export_leaves_no_file(tmp_path: Path) -> None:
    def save(path: str) -> None:
        Path(path).write_text("{")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        writer.write_trace(save, tmp_path, {}, lambda _: {})
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_does_not_record(tmp_path: Path) -> None:
    states: list[int] = []

    def code() -> None:
        assert switch.RECORDING
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            os._exit(1 if switch.RECORDING else 0)
        states.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    record(tmp_path, code)
    assert states == [0]


@pytest.mark.parametrize("private", [(), ("_RecordFunctionFast",), ("_RecordFunctionFast", "args")])
def test_every_marker_of_torch_will_do(
    private: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "_RecordFunctionFast" in private:
        monkeypatch.delattr(torch._C._profiler, "_RecordFunctionFast")
    if "args" in private:
        monkeypatch.delattr(torch.autograd, "_record_function_with_args_enter")
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        list(prof.steps(annotate.loader(DataLoader(Numbers(4)))))
    trace = load(prof.trace_files[0])
    assert names(spans_of(trace)) == {"wait::DataLoader": 1, "sample::Numbers": 1, "collate::default_collate": 1}
    assert trace["dataPipeline"]["overhead"]["marker_count"] == 3


def test_importing_annotate_does_not_import_torch() -> None:
    code = (
        "import sys, annotate; annotate.compose([len]); annotate.stage('read'); annotate.collate(len); dir(annotate)\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules, 'imported'"
    )
    root = str(Path(annotate.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.alone
def test_an_idle_wrapper_costs_little() -> None:
    """A generous bound: the true cost is measured by benchmarks/span_overhead.py."""
    stage = annotate.stage("user")
    begin = time.perf_counter()
    for _ in range(10_000):
        with stage:
            pass
    assert time.perf_counter() - begin < 0.5


def test_a_capture_that_succeeds_says_in_one_line_how_to_look_at_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def said(**schedule: Any) -> str:
        with annotate.profile("runs/exp 1", wait=0, warmup=1, active=1, **schedule) as prof:
            list(prof.steps(annotate.loader(DataLoader(Numbers(4)))))
        lines = capsys.readouterr().err.splitlines()
        return "\n".join(line for line in lines if not is_torchs_own(line))

    name = "annotate: wrote 1 capture. Look at it: tb-dataplugin report 'runs/exp 1/"
    assert re.fullmatch(re.escape(name) + r"[^/]*\.pt\.trace\.json\.gz'", said())
    assert said(repeat=2) == "annotate: wrote 2 captures. Look at it: tb-dataplugin report 'runs/exp 1'"
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert said() == "annotate: wrote 1 capture. Look at all ranks: tb-dataplugin ranks 'runs/exp 1'"
    monkeypatch.setenv("RANK", "1")
    assert said() == ""


def test_a_verdict_says_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = [str(tmp_path / "a.gz")], [str(tmp_path / "a.gz"), str(tmp_path / "b.gz")]
    found = Answer("It waits.")
    assert written(one, tmp_path, None, found).startswith("wrote 1 capture. It waits. Look at it:")
    assert written(two, tmp_path, None, found).startswith("wrote 2 captures. The last one: It waits. Look at it:")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert written(one, tmp_path, None, found).startswith("wrote 1 capture. Rank 0: It waits. Look at all ranks:")
    assert "Rank 0, the last one: It waits." in written(two, tmp_path, None, found)


def test_a_capture_is_written_where_nothing_can_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        list(prof.steps(annotate.loader(DataLoader(Numbers(4)))))
        monkeypatch.setattr("sys.stderr", None)
    assert len(prof.trace_files) == 1


def test_torch_does_not_warn_that_events_are_dropped_which_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to torch 2.12 it did before each cycle, the first one too; from 2.13 on before the second one."""
    prepare, module = torch.profiler.profile.prepare_trace, cast(Any, torch.profiler.profiler)

    def warns(self: torch.profiler.profile) -> None:
        module.warn("Warning: Profiler clears events at the end of each cycle.Only events from ...", stacklevel=2)
        module.warn("another", stacklevel=2)
        prepare(self)

    monkeypatch.setattr(torch.profiler.profile, "prepare_trace", warns)
    own = module.warn
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        record(tmp_path, lambda: list(annotate.loader(DataLoader(Numbers(), batch_size=4))))
    assert {str(one.message) for one in heard if "Profiler" in str(one.message)} == set()
    assert "another" in {str(one.message) for one in heard}
    assert module.warn is own
