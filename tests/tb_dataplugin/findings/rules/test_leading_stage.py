from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import annotate.trace_format as trace_format
from annotate.trace_format import Stage
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.kept_parts import shrunk_after
from tb_dataplugin.findings.leading import leading_place
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.reader_advice import read_advice
from tb_dataplugin.findings.rules.leading_stage import check
from tb_dataplugin.findings.sample_signals import SlowSampleSignal
from tb_dataplugin.findings.stage_finding import ADVICE, ELSEWHERE, stage_finding
from tb_dataplugin.findings.whose_code import method_of
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report import report_pb2 as pb
from tests.tb_dataplugin.findings.cases import (
    CHAIN,
    capture_of,
    evidence_of,
    finding_in,
    finding_of,
    input_bound,
    reading,
    signals_of,
)
from tests.tb_dataplugin.findings.step_cases import staged
from tests.trace_builder import TraceBuilder, training_run


@pytest.mark.parametrize("divided", [False, True])
def test_more_workers_that_would_each_read_all_wait_for_the_same(*, divided: bool) -> None:
    facts = {"iterable": True, "divided": divided, "drawn": False}
    said = finding_in(input_bound(loader=facts, stages={"sample::Remote": (0.0, 1.0, 0.35)}), "leading_stage")
    assert "or more of them, can wait at the same time" in said.advice
    assert ("only where each goes through its own part of the dataset" in said.advice) is not divided


def test_a_leading_stage_tells_whether_it_computes_or_waits() -> None:
    builder = reading(10**7)
    builder.costs = {"run_delay_us": [0.0]}
    said = finding_in(builder, "leading_stage")
    assert any(line.startswith("blocked (storage") and "of its self time" in line for line in evidence_of(said))


@pytest.mark.parametrize("stage", ["transform::Tokenise", "decode::PIL.Image"])
def test_the_users_own_collecting_of_garbage_in_a_stage_is_to_be_removed(stage: str) -> None:
    said = finding_in(staged(stage, "gc.collect()"), "leading_stage")
    assert "Remove the call" in said.advice and "array" not in said.advice


@pytest.mark.parametrize("is_blocked", [True, False])
def test_a_decoder_that_waits_for_its_files_is_advised_about_what_it_waits_for(is_blocked: bool) -> None:
    """Not about how it decodes, as where it waits for a CPU."""
    stages = {"decode::numpy.load": (0.0, 1.0, 0.1)}
    builder = input_bound(stages=stages, threads=0.1, run_delay=0.0 if is_blocked else 0.9)
    advice = finding_in(builder, "leading_stage").advice
    assert advice.startswith("For 90.0% of its time it is blocked: storage") == is_blocked
    assert ("put the files on a faster or local disk" in advice, ".npy" in advice) == (is_blocked, not is_blocked)


@pytest.mark.parametrize(("size", "is_first"), [(90_000, False), (1_500, True)])
def test_a_call_that_reads_far_more_than_all_others_is_no_first_call(size: int, is_first: bool) -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900)
    for number in range(10):
        args = {"bytes": size if number == 0 else 1_000}
        builder.add("user_annotation", "read::numpy.fromfile", 1 + 75 * number, 700 if number == 0 else 1, **args)
    builder.events[-1]["ts"] = 880
    said = finding_in(builder, "leading_stage").advice
    assert said.startswith("The first call of a stage") == is_first


def test_one_slow_call_is_an_outlier_and_no_habit() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900)
    for number in range(10):
        builder.stage("transform::Resize", 1 + number, 1)
    builder.stage("transform::Resize", 100, 700)
    said = finding_in(builder, "leading_stage")
    assert said.title.startswith("One call of transform::Resize took 700 µs")
    assert said.severity == "low" and not said.HasField("gain_us_per_step")
    assert "first call" not in said.advice and "see for which samples one takes so much longer" in said.advice


def test_a_long_call_that_these_steps_do_not_wait_for_is_no_outlier_of_theirs() -> None:
    """Another DataLoader worker begins it in the sixth of ten steps, and the fourteenth waits for it."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    for step in range(14):
        at = 100 * step
        builder.step(at, 100).wait(at, 60)
        if step < 13:
            builder.batch(step, 0, at, at, at + 58, at + 59, {"sample::Pets": (at, 58, 58)})
    builder.batch(13, 1, 500, 500, 1350, 1355, {"sample::Pets": (500, 850, 850)})
    titles = {
        steps: [each.title for each in capture_of(builder, steps).findings if each.rule == "leading_stage"]
        for steps in (StepRange(1, 10), StepRange(12, 14))
    }
    assert [title.startswith("sample::Pets caused") for title in titles[StepRange(1, 10)]] == [True]
    assert not any("took" in title for each in titles.values() for title in each)


def test_the_decoder_in_use_gets_its_own_advice() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 90)
    for number in range(8):
        builder.stage("decode::cv2.imread", 1 + 10 * number, 9)
    said = finding_in(builder, "leading_stage")
    assert "cv2" in said.code and "draft" not in said.code + said.advice


def test_arrays_in_an_npz_are_not_advised_to_become_smaller_images() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 90)
    for number in range(8):
        builder.stage("decode::numpy.NpzFile", 1 + 10 * number, 9)
    said = finding_in(builder, "leading_stage")
    assert said.stage == "decode::numpy.NpzFile"
    assert ".npy" in said.advice and "image" not in said.advice
    assert said.code.startswith("np.save")


def in_memory(collate: str = "default_collate", **settings: object) -> TraceBuilder:
    drawn = {"num_workers": 0, "batch_size": 4, "drop_last": True, "sampler": "RandomSampler", "replacement": False}
    builder = TraceBuilder().annotated(loaders=[{"dataset": "TensorDataset", **drawn, **settings}])
    for number in range(8):
        begin = 100 * number
        builder.step(begin, 100).wait(begin, 90, "wait::DataLoader").stage(f"collate::{collate}", begin + 60, 29)
        for sample in range(4):
            builder.stage("sample::TensorDataset", begin + 1 + 14 * sample, 13)
    return builder


def test_tensors_in_memory_are_taken_by_whole_batches_and_need_no_workers() -> None:
    found = finding_in(in_memory(), "leading_stage")
    assert "take a whole batch of them at once" in found.advice
    assert "BatchSampler(RandomSampler(dataset), 4, drop_last=True)" in found.code and "num_workers=0" in found.code
    assert found.gain_us_per_step == pytest.approx(4 * 13 + 29), "with what collate takes, which goes as well"
    assert any(line.startswith("29.0 µs per step of that is collate::default_collate") for line in evidence_of(found))
    assert finding_of(in_memory(), "collate_heavy") is None
    assert finding_of(in_memory(), "single_process_loading") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"sampler": "SequentialSampler"},  # also beside the user's own batch_sampler, which may shuffle
        {"sampler": "WeightedRandomSampler"},
        {"sampler": ""},
        {"replacement": True},
        {"batch_size": None},
    ],
)
def test_batches_of_tensors_in_memory_are_drawn_as_the_loader_does(settings: dict[str, Any]) -> None:
    code = finding_in(in_memory(**settings), "leading_stage").code
    assert "sampler=loader.batch_sampler" in code and "Sampler(" not in code and "batch_size," not in code


def test_a_collate_function_of_the_users_own_stays() -> None:
    found = finding_in(in_memory("pad"), "leading_stage")
    assert "Nothing is left" not in found.advice and "Your collate function is then given" in found.advice
    assert "collate_fn=" in found.code and found.gain_us_per_step == pytest.approx(4 * 13)


def test_whole_batches_of_tensors_in_memory_are_not_advised_to_become_that() -> None:
    loader = {"num_workers": 0, "dataset": "TensorDataset", "whole": True, "sampler": "BatchSampler", "shuffle": False}
    builder = TraceBuilder().annotated(loaders=[loader])
    for number in range(8):
        begin = 100 * number
        builder.step(begin, 100).wait(begin, 60, "wait::DataLoader").stage("sample::TensorDataset", begin + 1, 50)
    found = finding_in(builder, "leading_stage")
    assert found.advice.startswith("Each call takes a whole batch already") and not found.code
    assert finding_of(builder, "single_process_loading") is None


@pytest.mark.parametrize(
    ("files", "from_storage", "words"),
    [
        ((1, 1, 1), 0, "read the same file: open it once"),
        ((1, 2, 3), 0, "in memory already"),
        ((1, 2, 3), 1000, "fewer, larger files"),
        ((1, 1), 1000, "fewer, larger files"),
    ],
)
def test_what_to_do_about_reads_goes_by_what_is_read(files: tuple[int, ...], from_storage: int, words: str) -> None:
    samples = tuple(
        SlowSampleSignal(index, 1.0, "read::file", 1.0, (f"/data/{number}.npy",)) for index, number in enumerate(files)
    )
    signals = signals_of(input_bound(costs={"read_chars": 1000, "read_bytes": from_storage}))
    assert words in read_advice(replace(signals, slow_samples=samples), trace_format.Stage("read", "file"))


def test_a_file_that_every_slow_sample_opens_is_named() -> None:
    def said(*files: str) -> list[str]:
        samples = tuple(SlowSampleSignal(0, 1.0, "decode::json.load", 1.0, ("/d/labels.json", name)) for name in files)
        signals = signals_of(input_bound(stages={"decode::json.load": (0.0, 1.0, 1.0)}))
        found = check(replace(signals, slow_samples=samples))
        assert isinstance(found, Finding)
        return [one.text for one in found.evidence if one.kind == "same_file"]

    assert said("/d/1.png", "/d/2.png", "/d/3.png") == [
        "each of the 3 slowest samples whose files are known opens labels.json"
    ]
    assert said("/d/1.png", "/d/2.png") == [], "two are no evidence"


def test_members_of_different_archives_are_not_one_file() -> None:
    files = [(f"/d/chunk-{number}.npz", "x.npy") for number in range(3)]
    samples = tuple(SlowSampleSignal(0, 1.0, "decode::numpy.load", 1.0, names) for names in files)
    found = check(
        replace(signals_of(input_bound(stages={"decode::numpy.load": (0.0, 1.0, 1.0)})), slow_samples=samples)
    )
    assert isinstance(found, Finding)
    assert "same_file" not in [one.kind for one in found.evidence]


def test_a_stage_that_is_called_several_times_for_each_sample_is_asked_about() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}])
    for number in range(8):
        begin = 100 * number
        builder.step(begin, 100).wait(begin, 95, "wait::DataLoader").stage("sample::Cells", begin + 1, 92)
        for call in range(3):
            builder.stage("decode::PIL.Image", begin + 2 + 30 * call, 28)
    said = " ".join(evidence_of(finding_in(builder, "leading_stage")))
    assert "24 calls (3.00 per sample: are all of them needed?)" in said


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("json.load", "Parse each file once"),
        ("pickle.loads", "Parse each file once"),
        ("pandas.read_csv", "columns and rows"),
        ("pyarrow.parquet.ParquetFile.read_row_group", "columns and rows"),
        ("pyarrow.json.read_json", "Parse each file once"),
        ("zarr.Array", "in one piece"),
        ("soundfile.read", "excerpt"),
        ("torchvision.io.read_video", "frames"),
        ("torchvision.io.decode_jpeg", "a smaller image"),
        ("cv2.VideoCapture.read", "frames"),
        ("mylib.unpack", "faster decoder"),
    ],
)
def test_advice_about_a_decoder_is_about_what_its_library_decodes(label: str, words: str) -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 90)
    for number in range(8):
        builder.stage(f"decode::{label}", 1 + 10 * number, 9)
    advice = finding_in(builder, "leading_stage").advice
    assert words in advice
    assert ("image" in advice) == (label == "torchvision.io.decode_jpeg")


def sampled_in_dataset(index: int | None, name: str = "sample::Own") -> TraceBuilder:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900)
    for number in range(8):
        facts = {"batch": 0} if index is None else {"batch": 0, "index": index + number}
        builder.add("user_annotation", name, 1 + 100 * number, 90, **facts)
    return builder


@pytest.mark.parametrize(
    ("index", "name", "method"),
    [
        (0, "sample::Own", "__getitem__"),
        (None, "sample::Own.__getitems__", "__getitems__"),
    ],
)
def test_the_method_named_is_the_one_that_the_dataset_has(index: int | None, name: str, method: str) -> None:
    advice = finding_in(sampled_in_dataset(index, name), "leading_stage").advice
    assert f"the dataset's own {method}, outside" in advice and "mark its parts" in advice


@pytest.mark.parametrize(("facts", "method"), [({"iterable": True}, "__iter__"), ({}, "__getitem__")])
def test_without_an_index_the_dataset_says_which_it_is(facts: dict[str, bool], method: str) -> None:
    """One with indices gets a list of them at once from a sampler of batches."""
    builder = sampled_in_dataset(None).annotated(loaders=[{"num_workers": 0, "dataset": "Own", **facts}])
    assert f"the dataset's own {method}, outside" in finding_in(builder, "leading_stage").advice
    of_another = replace(signals_of(builder), has_several_loaders=True, loader=LoaderInfo(dataset="Other"))
    assert method_of(of_another, Stage("sample", "Own")) == "__getitem__ or __iter__"


@pytest.mark.parametrize(
    ("file", "said", "place"),
    [
        ("/v/lib/python3.11/site-packages/torch_geometric/data/dataset.py:280", "torch_geometric, an", "runs code of"),
        ("/home/me/train.py:12", "mark its parts", "is defined at train.py:12"),
    ],
)
def test_a_method_of_an_installed_package_is_not_the_users_to_mark(file: str, said: str, place: str) -> None:
    builder = sampled_in_dataset(0)
    builder.top_level[trace_format.METADATA_KEY]["stages_at"] = {"sample::Own": file}
    found = finding_in(builder, "leading_stage")
    assert said in found.advice and place in str(found.evidence)
    assert ("mark what it calls of your own" in found.advice) == ("site-packages" in file)


def test_where_the_line_is_known_it_stands_in_place_of_advice_to_look_for_it() -> None:
    line = HotLine("re.sub, called in clean at textutils.py:8", "textutils.py:8", 0.54)
    signals = replace(signals_of(sampled_in_dataset(0)), stage_lines={"sample::Own": line})
    said = check(signals)
    assert isinstance(said, Finding)
    assert "54.0% of it is re.sub, called in clean at textutils.py:8: begin there." in said.advice
    assert "mark its parts" not in said.advice


def test_a_dataset_whose_hottest_line_is_known_is_not_to_be_marked() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 9000, "wait::DataLoader")
    builder.stage("sample::Pets", 0, 9000)
    line = ("Pets.__getitem__", "/home/me/train.py", 41)
    said = finding_in(builder.stacks([80.0 * n for n in range(1, 111)], [[line]] * 110), "leading_stage")
    assert said.advice.startswith("This is time in the dataset's own")
    assert "begin there" in said.advice and "mark its parts" not in said.advice
    assert "train.py:41" in said.advice


def test_a_loop_over_several_lines_is_quoted_as_a_function_with_its_lines_and_its_whole_share() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 9000, "wait::DataLoader")
    builder.stage("sample::Pets", 0, 9000)
    loop = [[("Pets.mel", "/home/me/train.py", 41 + number % 4)] for number in range(160)]
    said = finding_in(builder.stacks([55.0 * n for n in range(1, 161)], loop), "leading_stage")
    assert "100% of it is Pets.mel at train.py:41 to 44, over 4 lines, the hottest" in said.advice
    (line,) = (each for each in said.evidence if each.kind == "hot_line")
    assert line.text.startswith("Pets.mel at train.py:41 to 44") and line.text.endswith(": 100% of Pets")


def test_the_gain_never_exceeds_the_data_wait_of_the_stage() -> None:
    assert finding_in(training_run(), "leading_stage").gain_us_per_step == 30


def test_a_transform_after_the_crop_is_not_told_to_come_after_it() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "decode::PIL.Image": (0.0, 0.2, 0.2, 1_200_000),
        "transform::RandomCrop": (0.2, 0.1, 0.1, 200_000),
        "transform::Blur": (0.3, 0.7, 0.7, 200_000),
    }
    said = finding_in(input_bound(stages=chain), "leading_stage")
    assert said.stage == "transform::Blur"
    assert "crop" not in said.advice.lower() and "smaller" not in said.advice


def test_a_transform_before_the_crop_is_told_which_crop_and_what_it_keeps() -> None:
    signals = signals_of(input_bound(stages=CHAIN))
    leader = leading_place(signals)
    assert leader is not None and leader.name == "transform::Blur"
    assert leader.stage is not None
    said = stage_finding(signals, leader, shrunk_after(signals, leader.stage), leads=True)
    assert said.advice.startswith("Apply it after RandomCrop, which keeps 16.7% of its input.")
    # A batch takes one of two workers 20 ms, the blur half of that; a sixth of it is left after the crop.
    assert said.gain_us_per_step == pytest.approx(5000 * 5 / 6, rel=0.1)
    (kept,) = (fact.text for fact in said.evidence if fact.kind == "bytes_kept")
    assert kept == "after RandomCrop 16.7% of its work is left: the bound is without the other part alone"


def test_an_order_that_has_a_finding_is_not_said_twice_and_leaves_the_stage_its_own() -> None:
    said = [finding for finding in capture_of(input_bound(stages=CHAIN)).findings if "Blur" in finding.stage]
    assert {finding.rule for finding in said} == {"shrink_first", "leading_stage"}
    own = next(finding for finding in said if finding.rule == "leading_stage")
    assert own.title == "transform::Blur caused 50.0% of the data wait" and "RandomCrop" not in own.advice
    assert not [fact for fact in own.evidence if fact.kind == "bytes_kept"]
    assert own.gain_us_per_step == pytest.approx(5000, rel=0.1)


def test_a_leading_crop_has_its_own_advice() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "decode::PIL.Image": (0.0, 0.2, 0.2, 1_200_000),
        "transform::RandomResizedCrop": (0.2, 0.8, 0.8, 72_000),
    }
    said = finding_in(input_bound(stages=chain), "leading_stage")
    assert said.advice.startswith("It keeps 6.00% of its input: decode only that part")
    del chain["transform::RandomResizedCrop"]
    said = finding_in(input_bound(stages={**chain, "transform::Resize": (0.2, 0.8, 0.8, 72_000)}), "leading_stage")
    assert said.advice.startswith("It returns 6.00% of its input: decode at a smaller scale, or")


def test_time_in_a_container_itself_is_not_called_a_slow_transform() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "transform::Compose": (0.0, 1.0, 1.0),
        "transform::ToTensor": (0.0, 0.1, 0.1),
    }
    said = finding_in(input_bound(stages=chain), "leading_stage")
    assert said.stage == "transform::Compose" and "outside the transforms inside it" in said.advice


def test_below_a_quarter_of_the_data_wait_nothing_leads() -> None:
    def of(parts: int) -> TraceBuilder:
        stages = {f"transform::T{place}": (place / parts, 1 / parts, 1 / parts) for place in range(parts)}
        return input_bound(stages={"sample::Pets": (0.0, 1.0, 1.0), **stages})

    assert finding_of(of(3), "leading_stage") is not None
    assert finding_of(of(5), "leading_stage") is None


def test_every_stage_kind_has_advice_here_or_elsewhere() -> None:
    assert not ADVICE.keys() & ELSEWHERE
    assert ADVICE.keys() | ELSEWHERE == set(trace_format.STAGE_KINDS)


def test_a_stage_without_a_line_says_why() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 9000, "wait::DataLoader")
    builder.stage("sample::Pets", 0, 9000)
    line = ("Pets.__getitem__", "/home/me/train.py", 41)
    other = ("Pets.crop", "/home/me/train.py", 60)
    said = finding_in(builder.stacks([200.0 * n for n in range(1, 41)], [[line], [other]] * 20), "leading_stage")
    (text,) = (one.text for one in said.evidence if one.kind == "no_line")
    assert text == "no line has most of its 40 stack samples for certain; from 100 on, lines with less are named too"


def test_a_stage_whose_time_is_spread_says_that_no_line_leads() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 9000, "wait::DataLoader")
    builder.stage("sample::Pets", 0, 9000)
    stacks = [[("Pets.__getitem__", "/home/me/train.py", 10 * (number % 10))] for number in range(110)]
    said = finding_in(builder.stacks([80.0 * n for n in range(1, 111)], stacks), "leading_stage")
    (text,) = (one.text for one in said.evidence if one.kind == "no_line")
    assert text.startswith(
        "its time is spread over many lines; the hottest has 10.1% of Pets: Pets.__getitem__ at train.py:10"
    )


def test_a_transform_that_shrinks_texts_is_not_told_to_decode_a_part() -> None:
    chain = {
        "sample::Reviews": (0.0, 1.0, 1.0),
        "decode::json.loads": (0.0, 0.1, 0.1, 10_000),
        "transform::tokenise": (0.1, 0.9, 0.9, 1_300),
    }
    said = finding_in(input_bound(stages=chain), "leading_stage")
    assert said.stage == "transform::tokenise" and "decoder" not in said.advice and "crops" not in said.advice


@pytest.mark.parametrize(("share", "begins"), [(0.8, True), (0.3, False)])
def test_advice_begins_with_the_line_that_has_most_of_a_transform(share: float, begins: bool) -> None:
    line = HotLine("`rank = merges.index(pair)` in bpe at bpe.py:7", "bpe.py:7", share)
    signals = replace(signals_of(input_bound()), stage_lines={"transform::Slow": line})
    said = check(signals)
    assert isinstance(said, Finding)
    assert ("`rank = merges.index(pair)` in bpe at bpe.py:7: begin there." in said.advice) == begins


def waiting_in_two_steps() -> TraceBuilder:
    """Of the first step a tenth of the samples that a line needs, of the second one enough; all in one line."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}])
    for number in range(2):
        builder.step(10_000 * number, 10_000).wait(10_000 * number, 9000, "wait::DataLoader")
        for sample in range(3):
            builder.stage("sample::Pets", 10_000 * number + 3000 * sample, 3000)
    times = [800.0 * n for n in range(1, 11)] + [10_000 + 70.0 * n for n in range(1, 121)]
    return builder.stacks(times, [[("Pets.__getitem__", "/home/me/train.py", 41)]] * len(times))


def test_steps_that_have_too_few_samples_name_the_line_that_the_whole_capture_has() -> None:
    def said(step: int | None) -> pb.Finding:
        options = AnalysisOptions() if step is None else AnalysisOptions(steps=StepRange(step, step))
        capture = analyse(waiting_in_two_steps().trace(), options).capture
        return next(finding for finding in capture.findings if finding.rule == "leading_stage")

    assert ". 100% of it is Pets.__getitem__ at train.py:41: begin there." in said(None).advice
    assert ". 100% of it is Pets.__getitem__ at train.py:41: begin there." in said(2).advice
    few = said(1)
    assert ". 100% of it in the whole capture is Pets.__getitem__ at train.py:41: begin there." in few.advice
    assert [one.text for one in few.evidence if one.kind in ("hot_line", "no_line")] == [
        "Pets.__getitem__ at train.py:41: 100% of Pets in the whole capture; "
        "these steps alone have too few stack samples"
    ]


def test_a_line_of_long_calls_elsewhere_is_not_named_for_steps_of_short_ones() -> None:
    """Of the second step's one call the line takes more than the calls of the first one take at all."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}])
    builder.step(0, 1000).wait(0, 600).stage("sample::Pets", 0, 300).stage("sample::Pets", 300, 300)
    builder.step(1000, 10_000).wait(1000, 9000).stage("sample::Pets", 1000, 9000)
    times = [1000 + 70.0 * n for n in range(1, 121)]
    builder.stacks(times, [[("Pets.__getitem__", "/home/me/train.py", 41)]] * len(times))
    capture = analyse(builder.trace(), AnalysisOptions(steps=StepRange(1, 1))).capture
    said = next(finding for finding in capture.findings if finding.rule == "leading_stage")
    assert "train.py:41" not in said.advice
