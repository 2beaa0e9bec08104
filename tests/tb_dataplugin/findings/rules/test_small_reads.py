from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.reader_advice import read_advice, read_code
from tb_dataplugin.findings.rules.small_reads import check
from tb_dataplugin.findings.sample_signals import SlowSampleSignal
from tests.tb_dataplugin.findings.cases import abstentions, evidence_of, finding_in, finding_of, reading, signals_of
from tests.trace_builder import TraceBuilder


def test_many_small_reads_ask_for_packed_records() -> None:
    builder = reading(50_000)
    assert finding_in(builder, "small_reads").gain_us_per_step == 800
    assert finding_of(builder, "leading_stage") is None


def test_large_reads_are_told_as_the_leading_stage() -> None:
    assert finding_of(reading(10**7), "small_reads") is None
    assert finding_in(reading(10**7), "leading_stage").stage == "read::file"
    assert "small_reads" in abstentions(reading(None))


def test_reads_that_import_in_each_worker_are_not_told_to_be_packed() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 4000).wait(0, 3900, "wait::DataLoader")
    for worker in range(2):
        for number in range(8):
            took = 3000.0 if number == 0 else 20.0
            start = 0.0 if number == 0 else 3000.0 + 100 * number
            stages = {"read::PIL.Image.open": (start, took, 10.0), "read::file": (start, 10.0, 5.0, 20_000)}
            batch = 2 * number + worker
            builder.batch(batch, worker, start, start, start + took + 20, 3900, stages)
    said = finding_in(builder, "leading_stage")
    assert said.title.startswith("A few calls of read::PIL.Image.open took up to 3.00 ms; the stage caused")
    assert "persistent_workers" in said.advice and not said.HasField("gain_us_per_step")
    assert finding_of(builder, "small_reads") is None


def members(opened: str, found: str, read: str, openings: int = 2) -> TraceBuilder:
    """Two samples, each of which finds a member of an archive for 400 us, and reads 50 kB of it for 20."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 1000).wait(0, 900, "wait::DataLoader")
    for number in range(2):
        start = 450.0 * number
        stages = {
            "sample::Pets": (start, 445.0, 20.0),
            found: (start + 10, 400.0, 400.0),
            read: (start + 415, 20.0, 20.0, 50_000),
        }
        if number < openings:
            stages[opened] = (start, 10.0, 10.0)
        builder.batch(number, 0, 0, start, start + 449, 899 if number else 450, stages)
    return builder


TAR = ("read::tarfile.open", "read::tarfile.extractfile", "read::tarfile.read")


def test_members_of_an_archive_are_packed_already() -> None:
    assert finding_of(members(*TAR), "small_reads") is None and "small_reads" not in abstentions(members(*TAR))
    said = finding_in(members(*TAR), "leading_stage")
    assert said.stage == "read::tarfile.extractfile"
    assert said.advice.startswith(
        "tarfile.open is called 1.00 times per sample, and each new TarFile reads the headers"
    )
    assert "once per DataLoader worker" in said.advice and "tarfile.open(self.path)" in said.code


def test_an_archive_that_is_kept_open_is_not_told_to_be() -> None:
    said = finding_in(members(*TAR, openings=0), "leading_stage")
    assert said.advice.startswith("A tar file has no index") and "open a file" not in said.advice
    streamed = members("read::tarfile.open", "read::tarfile.next", "read::tarfile.read", openings=0)
    said = finding_in(streamed, "leading_stage")
    assert said.advice.startswith("What is read is in large files already") and not said.code


@pytest.mark.parametrize(
    ("opened", "found", "code"),
    [
        ("read::zipfile.ZipFile", "read::zipfile.open", "zipfile.ZipFile(self.path)"),
        ("read::h5py.File", "read::h5py.Dataset", 'h5py.File(self.path, "r")'),
        ("read::sqlite3.connect", "read::sqlite3.execute", "sqlite3.connect(self.path)"),
    ],
)
def test_the_code_is_of_the_library_that_reads(opened: str, found: str, code: str) -> None:
    said = finding_in(members(opened, found, "read::file"), "leading_stage")
    assert said.stage == found and code in said.code and "np.load" not in said.advice + said.code


@pytest.mark.parametrize(
    ("label", "code"),
    [("numpy.load", "mmap_mode='r'"), ("numpy.fromfile", "np.memmap("), ("file", "self.file.seek(offset)")],
)
def test_samples_that_share_a_file_are_packed_already(label: str, code: str) -> None:
    def seen(*files: str) -> tuple[SlowSampleSignal, ...]:
        return tuple(SlowSampleSignal(number, 1.0, "read::file", 1.0, (file,)) for number, file in enumerate(files))

    signals, stage = signals_of(reading(50_000)), Stage("read", label)
    shared = replace(signals, slow_samples=seen("/d/a.bin", "/d/b.bin", "/d/b.bin", "/d/a.bin"))
    assert check(shared) is None
    assert "keep it open" in read_advice(shared, stage) and code in read_code(shared, stage)
    own = replace(signals, slow_samples=seen("/d/a.bin", "/d/b.bin", "/d/c.bin", "/d/c.bin"))
    assert isinstance(check(own), Finding) and not read_code(own, stage)


def test_the_stage_that_opens_the_files_is_named() -> None:
    said = finding_in(members("read::none", "read::open", "read::file", openings=0), "small_reads")
    assert said.stage == "read::open"
    assert "most of it in read::open, 2 calls of 400 µs on average" in evidence_of(said)
