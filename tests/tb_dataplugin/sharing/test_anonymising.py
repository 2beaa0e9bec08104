"""An anonymous trace has the same numbers, and no name of the program, machine or data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.trace_format import PipelineMetadata
from tb_dataplugin.cli import main
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.reader.kineto import parts_from_json, read_parts, trace_from_json
from tb_dataplugin.reader.pipeline_info import _Metadata, read_pipeline_info
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.sharing.anonymising import anonymise
from tb_dataplugin.sharing.hashing import Hasher
from tb_dataplugin.sharing.record_names import LEFT_OUT, RecordNames
from tests.trace_builder import TraceBuilder

TRACE = Path(__file__).parents[2] / "golden" / "traces" / "annotate_workers2.pt.trace.json.gz"
PATH = Path("a.pt.trace.json")

SECRET = "Q7Secret"
SHAPES = (
    "{}", "transform::{}", "wait::{} (first batch)", "decode::{}.Image", "aten::{}", "{}::mul", "{}Backward0",
    "nccl:{}", "autograd::engine::evaluate_function: {}Backward0",
    "Optimizer.step#{}.step", "enumerate(DataLoader)#{}.__next__",
    "enumerate({})#it", "Memcpy HtoD ({} -> Device)", "Memcpy HtoD {}", "cuda_{}", "void at::native::kernel<{}>(int)",
    "nccl{}", "ampere_{}_tn", "ProfilerStep#{}", "{}_", "stream {}", "/home/{}/train.py", "annotate: {}",
)  # fmt: skip
"""Names that look like public ones, with a secret in them."""


def anonymous(json_text: bytes) -> bytes:
    return b"".join(anonymise(parts_from_json(json_text, PATH), Hasher()))


def record(secret: str) -> dict[str, Any]:
    """One with the secret wherever a text may stand, and as a key of its own."""
    return {
        "version": 2, "mode": "train", secret: 1, "notes": [secret],
        "loaders": [{"name": secret, "dataset": f"a.{secret}", "batch_size": 4, "start_method": secret}],
        "host": {"name": secret, "cores": 4, secret: secret}, "versions": {secret: secret, "torch": f"2.4.1+{secret}"},
        "stages_at": {f"transform::{secret}": f"/home/{secret}/a.py:12"},
        "thread_samples": {"threads": [], "holders": [secret], "why_not": secret},
        "callers": [{"function": f"{secret}.__iter__", "file": f"/{secret}/b.py", "first": 3, "generator": True,
                     "batches": 1, "steps_inside": 0, "steps": 1}],
        "replayed": {"index": [1], "captured_us": [1.0], "cold": [True], "files": [[f"s3://{secret}/1.jpg"]]},
        "lines": {"version": 1, "sampler": "outside", "names": [secret, f"/lib/{secret}.py", f"x = {secret}"],
                  "frames": {"function": [0], "file": [1], "line": [3], "first": [1], "source": [2]},
                  "stacks": {"parent": [-1], "frame": [0]}, "threads": [], "libraries": [f"/lib/{secret}"],
                  "holders": [{"pid": 1, "tid": 2, "files": [secret]}], "holder_names": [secret],
                  "recorder": f"/{secret}", "unseen": [secret], "why_not": secret},
    }  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(names=st.lists(st.sampled_from(SHAPES), min_size=1, max_size=6, unique=True), category=st.sampled_from(
    ("cpu_op", "user_annotation", "cuda_runtime", "kernel", "gpu_memcpy")))  # fmt: skip
def test_no_secret_is_found_in_what_is_written(names: list[str], category: str) -> None:
    trace = TraceBuilder(
        dataPipeline=record(SECRET), host_name=SECRET, traceName=SECRET, distributedInfo={"rank": 0, "backend": SECRET},
        deviceProperties=[{"id": 0, "name": f"NVIDIA {SECRET}", SECRET: SECRET}],
    )  # fmt: skip
    trace.step(0, 100).wait(1, 30)
    for place, name in enumerate(names):
        trace.add(category, name.format(SECRET), 2 + place, 5, 1, SECRET, files=[f"/data/{SECRET}.jpg"], path=SECRET)
    trace.events += [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": SECRET}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": SECRET, "args": {"name": f"stream {SECRET}"}},
        {"ph": "C", "name": "host::disk_busy", "pid": 1, "ts": 5, "args": {SECRET: 3.0}},
    ]
    text = anonymous(trace.json())
    assert SECRET.encode() not in text
    json.loads(text)


def test_a_thread_that_had_the_lock_has_one_name_in_all_places() -> None:
    known = json.loads(anonymous(TraceBuilder(dataPipeline=record(SECRET)).step(0, 100).wait(1, 30).json()))[
        "dataPipeline"
    ]
    assert known["thread_samples"]["holders"] == known["lines"]["holder_names"]


def numbers(capture: Capture) -> list[object]:
    stages = sorted((one.count, one.total_us, one.self_us, one.cpu_us, one.p95_us) for one in capture.stages)
    waits = sorted(capture.loader.wait_by_stage_us.values())
    return [stages, waits, capture.window_us, capture.steps, capture.workers, capture.throughput, capture.verdict.bound]


def test_the_numbers_of_the_report_are_the_same() -> None:
    parts = read_parts(TRACE)
    trace = trace_from_json(b"".join(anonymise(parts, Hasher())), PATH)
    before, after = analyse(parts.trace).capture, analyse(trace).capture
    assert numbers(after) == numbers(before)
    # Their order may be another one: without its name a crop is not known as one, and promises nothing.
    assert sorted(finding.rule for finding in after.findings) == sorted(finding.rule for finding in before.findings)
    assert after.devices == before.devices


@pytest.mark.parametrize(
    ("paths", "output", "status"),
    [
        (["runs"], "runs", 2),
        (["runs/exp2"], "runs/exp2", 2),
        (["runs"], "runs/exp2", 2),
        (["runs/exp2"], "runs", 2),
        (["runs/exp2"], ".", 2),
        (["runs/exp2/a.pt.trace.json"], "runs", 2),
        (["runs"], "runs/copies", 0),  # a folder of their own
        (["runs/exp2"], "shared", 0),
        (["runs/exp2/a.pt.trace.json"], "runs/exp2/b.pt.trace.json", 0),
    ],
)
def test_copies_do_not_lie_among_the_originals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    paths: list[str], output: str, status: int,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "exp2").mkdir(parents=True)
    TraceBuilder().step(0, 100).wait(1, 30).write(tmp_path / "runs" / "exp2" / "a.pt.trace.json")
    assert main(["anonymise", *paths, "-o", output]) == status
    error = capsys.readouterr().err
    assert ("whoever gets the folder gets their names" in error) == (status == 2)
    assert len(list(tmp_path.rglob("*.pt.trace.json*"))) == (1 if status else 2)


def test_the_recorders_own_spans_stay_its_own() -> None:
    """By them a last step that only found the loop over is told from one that trains."""
    hasher = Hasher()
    assert hasher.name("annotate: clock 3") == "annotate: clock 3"
    assert hasher.name(f"annotate: {SECRET}").startswith("annotate: ") and SECRET not in hasher.name(
        f"annotate: {SECRET}"
    )


def test_one_name_has_one_hash_in_one_call_and_another_in_the_next() -> None:
    first, second = Hasher(), Hasher()
    assert first.name("transform::Crop") == f"transform::{first.label('Crop')}"
    assert first.of("Crop") != second.of("Crop")
    assert first.path("/a/b/c").startswith(first.path("/a/b") + "/")


def test_the_command_hides_names_of_files_too(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "secretproject"
    folder.mkdir(parents=True)
    (folder / "secrethost_12.3.pt.trace.json.gz").write_bytes(TRACE.read_bytes())
    assert main(["anonymise", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 0
    (written,) = (tmp_path / "out").rglob("*.gz")
    assert "secret" not in str(written.relative_to(tmp_path))
    with gzip.open(written) as file:
        assert b"RandomMask" not in file.read()


def test_functions_of_the_recorder_keep_their_names_and_methods_their_class() -> None:
    hasher = Hasher()
    assert hasher.function("SpanRecorder.close_span").endswith(".close_span")
    assert hasher.function("Photos.__getitem__") == f"{hasher.of('Photos')}.__getitem__"


def filled(kind: Any) -> Any:
    """A value of a type of `trace_format`, with every key; lists have two elements."""
    if hasattr(kind, "__total__"):
        return {key: filled(value) for key, value in get_type_hints(kind).items()}
    base, inner = get_origin(kind), get_args(kind)
    if base is Literal:
        return inner[0]
    if base in (list, tuple, dict, UnionType):
        values = [filled(one) for one in inner if one is not type(None)]
        return {list: values * 2, tuple: values, dict: {"torch": "2.4.1"}}.get(base, values[0])
    return {int: 1, float: 1.0, bool: True, str: "text"}[kind]


def shape(value: Any) -> Any:
    """It with all texts alike, without those that are left out."""
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if key not in LEFT_OUT}
        return {key: len(one) if key == "stages_at" else shape(one) for key, one in kept.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return "" if isinstance(value, str) else value


def problems(record: object) -> list[str]:
    diagnostics = DiagnosticsCollector()
    assert read_pipeline_info(record, 0, diagnostics) is not None, diagnostics.result()
    return sorted(one.code for one in diagnostics.result())


def test_every_field_of_the_record_is_kept_and_can_be_read() -> None:
    """A field of a record without types of its own (``dict[str, float]``) would lose its keys."""
    record = json.loads(json.dumps(filled(PipelineMetadata)))
    record["lines"]["stacks"]["parent"] = [-1, 0]
    kept = RecordNames(Hasher()).record(record)
    assert shape(kept) == shape(record)
    assert problems(kept) == []


def test_a_sampler_of_torch_keeps_its_name_and_another_has_a_hash() -> None:
    hasher = Hasher()
    loaders = [{"sampler": name} for name in ("RandomSampler", "outside", SECRET)]
    kept = RecordNames(hasher).record({"loaders": loaders, "lines": {"sampler": "outside"}})
    assert [one["sampler"] for one in kept["loaders"]] == ["RandomSampler", hasher.of("outside"), hasher.of(SECRET)]
    assert kept["lines"]["sampler"] == "outside"


def test_all_that_is_read_of_the_record_is_among_its_fields() -> None:
    def unknown(struct: Any, record: Any) -> list[str]:
        names = [field.encode_name for field in msgspec.structs.fields(struct)]
        missing = [f"{struct.__name__}.{name}" for name in names if name not in record]
        parts = ((field.type, record.get(field.encode_name)) for field in msgspec.structs.fields(struct))
        return missing + [one for kind, part in parts for each in structs(kind) for one in unknown(each, first(part))]

    def structs(kind: Any) -> list[Any]:
        inner = [kind, *get_args(kind)]
        return [one for one in inner if isinstance(one, type) and issubclass(one, msgspec.Struct)]

    def first(part: Any) -> Any:
        return part[0] if isinstance(part, list) else part

    assert unknown(_Metadata, filled(PipelineMetadata)) == []


def test_a_record_that_lacks_the_tensors_of_a_batch_is_read() -> None:
    """As earlier versions wrote it without names."""
    assert problems({"version": 2, "mode": "replay", "handing_over": {}}) == []


def test_what_tells_waits_apart_is_kept() -> None:
    """A stranger's iter() counted as a wait like any other: the loop's data wait was 30.8% for 20.0."""
    builder = TraceBuilder().annotated(loaders=[{"dataset": "Tiles", "num_workers": 1}]).worker(0).step(0, 100)
    builder.wait(0, 30, "wait::DataLoader (iter)").wait(30, 20, "wait::DataLoader").batch(0, 0, 5, 30, 48, 49)
    traces = builder.trace(), trace_from_json(anonymous(builder.json()), PATH)
    before, after = (analyse(trace).capture.loader for trace in traces)
    assert before.has_iter and after.has_iter
    assert (after.wait_count, after.wait_us) == (before.wait_count, before.wait_us) == (1, 50)
