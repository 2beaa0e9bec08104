"""Damaged input: what is readable is read, what is not is counted, and what is no trace gets one line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.reader import read_trace, recovery, source
from tests.fuzz.laws import Checker, check_report, limited
from tests.fuzz.mutate import mutate
from tests.fuzz.seeds import Seed, built, seeds
from tests.trace_builder import TraceBuilder, training_run

DAMAGED = Path(__file__).parents[2] / "golden" / "damaged"

EVENT = b'{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": %d, "dur": 5, "args": {"a": 1}}'
MANY = 300


def events(count: int = MANY) -> list[bytes]:
    return [EVENT % (b"op%d" % number, number * 10) for number in range(count)]


def document(parts: list[bytes], head: bytes = b"", tail: bytes = b"") -> bytes:
    return b'{"schemaVersion": 1,' + head + b' "traceEvents": [\n' + b",\n".join(parts) + b"]" + tail + b"}"


Reads = Callable[[bytes], Trace]


@pytest.fixture
def read(tmp_path: Path) -> Reads:
    """Reads bytes as a file."""

    def from_bytes(content: bytes) -> Trace:
        path = tmp_path / "a.pt.trace.json"
        path.write_bytes(content)
        with limited(20):
            return read_trace(path)

    return from_bytes


def names(trace: Trace) -> list[str]:
    return [trace.names[number] for number in trace.events.name]


def counts(trace: Trace) -> dict[str, int]:
    return {one.code: one.count for one in trace.diagnostics}


def all_but(*numbers: int) -> list[str]:
    return [f"op{number}" for number in range(MANY) if number not in numbers]


# one damaged element among many


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"op7"', b'"C:\\data\\xtra"'),
        (b'"op7"', b'"C:\\Users\\me"'),
        (b'"op7"', b'"C:\\data\\"'),
        (b'"op7"', b'"tab\there"'),
        (b'"op7"', b'"nul\0here"'),
        (b'"op7"', b'"two\nlines"'),
        (b'"op7"', b'"half \\ud800 of a pair"'),
        (b'"op7"', b'"no UTF-8: \xff\xfe"'),
        (b'"op7"', b'"a surrogate in UTF-8: \xed\xa0\x80"'),
        (b'{"a": 1}', b'{"a": NaN}'),
        (b'{"a": 1}', b'{"a": -Infinity}'),
        (b'{"a": 1}', b'{"a": N/A}'),
        (b'{"a": 1}', b'{"a": undefined}'),
        (b'{"a": 1}', b'{"a": [NaN, 1, nan]}'),
    ],
)
def test_what_writers_get_wrong_is_mended_and_nothing_is_lost(read: Reads, old: bytes, new: bytes) -> None:
    parts = events()
    parts[7] = parts[7].replace(old, new)
    for place in (7, MANY - 1, 0):
        ordered = [part for part in parts if part is not parts[7]]
        ordered.insert(place, parts[7])
        trace = read(document(ordered, tail=b', "host_name": "here"'))
        assert len(trace.events) == MANY
        assert counts(trace) == {"mended_json": 1}
        assert trace.info.host == "here"


def test_names_of_good_elements_are_not_mended_along(read: Reads) -> None:
    parts = events()
    parts[6] = parts[6].replace(b"op6", b'f(x, None, inf) \\"a\\", nan')
    parts[7] = parts[7].replace(b'{"a": 1}', b'{"a": NaN, "b": "\\x"}')
    assert names(read(document(parts)))[6] == 'f(x, None, inf) "a", nan'


@pytest.mark.one_of(2)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"pid": 1', b'"pid" 1'),
        (b'"pid": 1', b'"pid: 1'),
        (b'"pid": 1', b'pid": 1'),
        (b'"pid": 1', b'"pid": '),
        (b'"pid": 1', b'"pid": 1 2'),
        (b'"pid": 1', b'"pid": "1'),
        (b'"pid": 1', b'"pid": [1'),
        (b'"pid": 1', b'"pid": {1'),
        (b'"pid": 1', b'"pid": 1]'),
        (b'"pid": 1', b'"pid": 1}'),
        (b'"pid": 1', b'"pid": 1}]'),
        (b'"pid": 1', b'"pid": 01'),
        (b'"pid": 1', b'"pid": 0x1'),
        (b"1}}", b"1}"),
        (b"1}}", b"1"),
        (b"1}}", b""),
        (b'"op7"', b'"o"}p]7"'),
        (b'"op7"', b'"o"}]p, "7"'),
        (b'{"ph"', b'"ph"'),
        (b'{"ph": "X"', b'"X"'),
        (b'{"ph": "X"', b"} {]"),
        (b'"pid": 1', b'"deep": ' + b"[" * 100_000 + b"]" * 100_000),
        (b'"pid": 1', b'"deep": ' + b"[" * 100_000),
        (b'"pid": 1', b'"deep": ' + b'{"a":' * 100_000),
    ],
)
@pytest.mark.parametrize("bare", [False, True])
def test_an_element_that_cannot_be_read_takes_only_itself_along(
    read: Reads, old: bytes, new: bytes, bare: bool
) -> None:
    parts = events()
    parts[7] = parts[7].replace(old, new)
    trace = read(b"[" + b",".join(parts) + b"]" if bare else document(parts))
    assert [name for name in names(trace) if name != "o"] == all_but(7)
    assert counts(trace)["bad_event"] >= 1


@pytest.mark.parametrize(
    "junk",
    [
        b"3",
        b'"text"',
        b"null",
        b"[]",
        b"[1, 2]",
        b"}",
        b"}}",
        b'"',
        b'"]',
        b'"}',
        b'}"}',
        b"\xff",
        b"\0",
        b"// a comment",
        b"<html>",
        b"NaN",
    ],
)
def test_what_is_no_object_between_the_elements_is_left_out_and_counted(read: Reads, junk: bytes) -> None:
    for joint in (b"," + junk + b",", junk + b",", b"," + junk):
        text = document([b",".join(events()[:7]) + joint + b",".join(events()[7:])])
        trace = read(text)
        assert names(trace) == all_but()
        assert set(counts(trace)) & {"bad_event", "mended_json"}


@pytest.mark.parametrize("joint", [b"", b"  ", b",,", b";", b"],[", b"]"])
def test_wrong_commas_and_brackets_between_elements_cost_nothing(read: Reads, joint: bytes) -> None:
    text = document([b",".join(events()[:7]) + joint + b",".join(events()[7:])])
    assert names(read(text)) == all_but()


def test_lists_of_objects_within_an_element_do_not_tear_it_apart_beside_a_damaged_one(read: Reads) -> None:
    parts = events()
    parts[6] = parts[6].replace(b'"a": 1', b'"a": [' + b", ".join([b'{"name": "inner", "ph": "X"}'] * 40) + b"]")
    parts[7] = parts[7].replace(b'"pid": 1', b'"pid" 1')
    parts[8] = parts[8].replace(b'"a": 1', b'"a": [{}, {"name": "inner", "ph": "X"}]')
    assert names(read(document(parts))) == all_but(7)


@pytest.mark.parametrize("field", [b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args"])
@pytest.mark.parametrize(
    "value",
    [
        b"null",
        b"true",
        b"[]",
        b"[1]",
        b"{}",
        b'"x"',
        b'""',
        b"-1",
        b"1e400",
        b"1e300",
        b"18446744073709551616",
        b'"NaN"',
    ],
)
def test_any_field_may_have_any_value(read: Reads, field: bytes, value: bytes) -> None:
    odd = EVENT.replace(b'"name": "%s"', b'"name": "odd"').replace(b"%d", b"70")
    before = json.loads(odd)
    before[field.decode()] = "HERE"
    parts = events()
    parts[7] = json.dumps(before).encode().replace(b'"HERE"', value)
    trace = read(document(parts))
    assert [name for name in names(trace) if name.startswith("op")] == all_but(7)
    lost = MANY - len(trace.events)
    assert lost == 0 or counts(trace) or field in (b"ph", b"cat"), "left out without a word"


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    "value", [b"null", b"[]", b"[1, 2]", b"[[1]]", b"{}", b'"x"', b"1e300", b"9223372036854775808", b"NaN"]
)
@pytest.mark.parametrize("key", [b"device", b"correlation", b"bytes", b"index", b"batch", b"epoch", b"cpu_us", b"name"])
def test_any_argument_may_have_any_value(tmp_path: Path, key: bytes, value: bytes) -> None:
    text = built().text
    for cat in (b"kernel", b"gpu_memcpy", b"cuda_runtime", b"user_annotation"):
        text = text.replace(
            b'"cat": "' + cat + b'"', b'"cat": "' + cat + b'", "args": {"' + key + b'": ' + value + b"}"
        )
        text = text.replace(b'"args": {"device"', b'"x": {"device"').replace(b'"args": {"batch"', b'"x": {"batch"')
    path = tmp_path / "odd.json"
    path.write_bytes(text)
    check_report(analyse_file(path))


# damage to what stands around the events


@pytest.mark.parametrize(
    "head",
    [
        b'"deviceProperties": [{"id": 0,',
        b'"deviceProperties": [{"id": 0}',
        b'"host_name": "here,',
        b'"host_name": here",',
        b'host_name": "here",',
        b'"host_name" "here",',
        b'"a": 1 2,',
        b'"a": {"b": "}',
        b'"a": NaN, "b": \\x,',
        b"}, ",
        b"], ",
        b": , ]",
        b'"traceEvents": 3,',
        b'"traceEvents": {},',
        b'"' + b"k" * 5000 + b'": ' + b"[" * 5000 + b",",
    ],
)
def test_damage_before_the_events_does_not_hide_them(read: Reads, head: bytes) -> None:
    assert names(read(document(events(), head=head))) == all_but()


def test_damage_behind_the_events_costs_only_what_stands_there(read: Reads) -> None:
    trace = read(document(events(), tail=b', "host_name": "here", "a: [, "b": 3'))
    assert names(trace) == all_but()
    assert trace.info.host == "here"
    assert counts(trace)


def test_a_second_document_in_the_file_is_said(read: Reads) -> None:
    for second in (document(events()), b"garbage", b"\0\0\0"):
        trace = read(document(events()) + second)
        assert names(trace) == all_but()
        assert counts(trace) == {"trailing_text": 1}


def test_two_lists_of_events_in_one_object_are_one(read: Reads) -> None:
    text = b'{"traceEvents": [' + b",".join(events()[:7]) + b'], "traceEvents": [' + b",".join(events()[7:]) + b"]}"
    assert names(read(text)) == all_but()


def test_a_byte_order_mark_is_skipped(read: Reads) -> None:
    assert names(read(b"\xef\xbb\xbf" + document(events()))) == all_but()


# what cannot be


def test_absurd_times_are_left_out_and_counted(read: Reads) -> None:
    for time in (b"9223372036854775", b"-9e15", b"9e17", b'"N/A"', b"[]"):
        parts = events()
        parts[7] = parts[7].replace(b'"ts": 70', b'"ts": ' + time)
        trace = read(document(parts))
        assert names(trace) == all_but(7)
        assert set(counts(trace)) & {"absurd_time", "event_without_start"}


def test_numbers_that_no_capture_has_do_not_stop_a_load(tmp_path: Path) -> None:
    huge = 2**63
    path = tmp_path / "huge.json"
    builder = training_run().stage(f"ProfilerStep#{huge}", 0, 100)
    builder.add("user_annotation", "sample::Pets", 1, 5, pid=1, index=2**32, batch=huge, epoch=-5, cpu_us=1e300)
    builder.top_level |= {"distributedInfo": {"rank": huge, "world_size": huge}, "deviceProperties": [{"id": huge}]}
    builder.write(path)
    capture = analyse_file(path).capture
    assert not capture.HasField("rank")
    assert capture.steps.count == 4


def test_a_rank_that_is_no_number_is_unknown() -> None:
    assert TraceBuilder(distributedInfo={"rank": True, "world_size": [2]}).operator(0, 1).trace().info.rank is None


def test_half_of_a_surrogate_pair_anywhere_does_not_stop_a_report(tmp_path: Path) -> None:
    builder = training_run()
    builder.top_level |= {"host_name": "HALF", "deviceProperties": [{"id": 0, "name": "HALF"}]}
    builder.annotated(loaders=[{"dataset": "HALF"}], notes=["HALF"]).stage("decode::HALF", 3, 5)
    path = tmp_path / "half.json"
    path.write_bytes(builder.json().replace(b"HALF", b"half \\ud800"))
    check_report(analyse_file(path))
    assert read_trace(path).info.host == "half \ufffd"


@pytest.mark.parametrize("number", [2**31, 2**63, 2**64, 10**400, -1])
def test_settings_that_no_loader_has_are_refused_as_a_whole(tmp_path: Path, number: int) -> None:
    builder = training_run()
    builder.annotated(loaders=[{"batch_size": number}])
    trace = read_trace(builder.write(tmp_path / "a.json"))
    assert trace.info.pipeline is None
    assert set(counts(trace)) <= {"bad_metadata", "bad_member"} and counts(trace)


@pytest.mark.parametrize("number", ["8e15", "-8e15", "1e18", "-1e18", "1e300", '"soon"'])
def test_batch_records_with_absurd_times_do_not_stop_a_load(tmp_path: Path, number: str) -> None:
    text = built().text.decode()
    damaged = text.replace('"started_us": [0', f'"started_us": [{number}').encode()
    assert damaged != text.encode()
    path = tmp_path / "a.json"
    path.write_bytes(damaged)
    check_report(analyse_file(path))
    assert counts(read_trace(path))


def test_events_without_length_are_no_window(tmp_path: Path) -> None:
    path = TraceBuilder().step(5, 0).kernel(5, 0).write(tmp_path / "point.json")
    with pytest.raises(UnreadableTrace, match="no timed events"):
        analyse_file(path)


def test_counters_with_absurd_times_are_left_out_and_counted(tmp_path: Path) -> None:
    builder = training_run().counter("host::cpu", 5, **{"core 0": 50.0}).counter("host::cpu", -9e15, **{"core 0": 60.0})
    trace = read_trace(builder.write(tmp_path / "a.json"))
    assert [series.value.tolist() for series in trace.counters] == [[50.0]]
    assert counts(trace) == {"absurd_time": 1}


def test_equal_ids_do_not_stop_a_load(tmp_path: Path) -> None:
    builder = training_run()
    for number in range(5):
        builder.call("cudaLaunchKernel", 10 * number, 5, 7).kernel(10 * number + 5, 5, correlation=7)
    check_report(analyse_file(builder.write(tmp_path / "a.json")))


def test_counters_beside_an_element_of_an_odd_type_are_read(tmp_path: Path) -> None:
    builder = training_run()
    builder.counter("host::cpu", 5, **{"core 0": 50.0}).counter("host::cpu", 15, **{"core 0": 60.0})
    builder.events.insert(3, {"ph": "X", "name": ["odd"], "args": 3, "ts": 1, "dur": 1})
    trace = read_trace(builder.write(tmp_path / "a.json"))
    assert [series.value.tolist() for series in trace.counters] == [[50.0, 60.0]]


# files that are cut off, zipped, or no traces

CUTS = range(1, 20)


@pytest.fixture(scope="module")
def real(golden_traces: Path) -> bytes:
    return gzip.decompress((golden_traces / "alexnet_no_steps.pt.trace.json.gz").read_bytes())


@pytest.fixture(scope="module")
def golden_traces() -> Path:
    return Path(__file__).parents[2] / "golden" / "traces"


@pytest.mark.parametrize("twentieth", CUTS)
def test_a_trace_cut_off_anywhere_gives_what_stands_before(tmp_path: Path, real: bytes, twentieth: int) -> None:
    path = tmp_path / "cut.json"
    path.write_bytes(real[: len(real) * twentieth // 20])
    whole = json.loads(real)["traceEvents"]
    spans = [event for event in whole if event["ph"] == "X" and event["cat"] != "Trace"]
    trace = read_trace(path)
    assert "truncated" in counts(trace)
    assert names(trace) == [event["name"] for event in spans][: len(trace.events)]
    assert abs(len(trace.events) - len(spans) * twentieth / 20) < len(spans) / 4
    check_report(analyse_file(path))


@pytest.mark.one_of(2)
@pytest.mark.parametrize("twentieth", CUTS)
def test_gzip_data_cut_off_or_damaged_anywhere_give_what_stands_before(
    tmp_path: Path, real: bytes, twentieth: int
) -> None:
    path = tmp_path / "cut.json.gz"
    packed = gzip.compress(real)
    cut = len(packed) * twentieth // 20
    path.write_bytes(packed[:cut])
    before = read_trace(path)
    assert {"truncated_gzip", "truncated"} <= set(counts(before))
    path.write_bytes(packed[:cut] + bytes(byte ^ 0x55 for byte in packed[cut : cut + 64]) + packed[cut + 64 :])
    damaged = read_trace(path)
    assert set(counts(damaged)) & {"damaged_gzip", "bad_event", "truncated"}
    shared = min(len(before.events), len(damaged.events)) - 1
    assert names(damaged)[:shared] == names(before)[:shared]
    assert shared >= len(before.events) - 10


def test_a_wrong_checksum_costs_no_data(read: Reads) -> None:
    packed = bytearray(gzip.compress(document(events())))
    packed[-6] ^= 1
    trace = read(bytes(packed))
    assert names(trace) == all_but()
    assert counts(trace) == {"damaged_gzip": 1}


def test_gzip_files_in_several_members_padded_with_zeros_or_followed_by_garbage_are_read(read: Reads) -> None:
    text = document(events())
    whole, halves = gzip.compress(text), gzip.compress(text[:9000]) + gzip.compress(text[9000:])
    assert counts(read(halves)) == {}
    assert counts(read(whole + b"\0" * 200_000)) == {}
    assert counts(read(gzip.compress(text[:9000]) + b"\0" * 512 + gzip.compress(text[9000:]))) == {}
    trace = read(whole + b"garbage")
    assert (names(trace), counts(trace)) == (all_but(), {"trailing_bytes": 1})
    assert counts(read(whole + b"\x1f\x8b")) == {"truncated_gzip": 1}


def test_a_gzip_bomb_is_refused_with_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * (1 << 26)))
    with patch.object(source, "BOMB_BYTES", 1 << 24), pytest.raises(UnreadableTrace, match="150 times its size"):
        read_trace(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n\t", "it is empty"),
        (b"\xef\xbb\xbf", "it is empty"),
        (b"PK\x03\x04\x14\0\0\0", "it is a zip archive"),
        (b"\x28\xb5\x2f\xfd\0", "it is compressed by zstd"),
        (document(events()).decode().encode("utf-16"), "it is UTF-16 text"),
        (document(events()).decode().encode("utf-16-le"), "it is UTF-16 text"),
        (document(events()).decode().encode("utf-16-be"), "it is UTF-16 text"),
        (b"\x1f\x8b", "its gzip data are truncated"),
        (b"\x1f\x8b\x08\0" + bytes(40), "its gzip data are"),
        (gzip.compress(b"", mtime=0), "its gzip data are truncated"),
        (gzip.compress(gzip.compress(document(events()), mtime=0), mtime=0), "it is not JSON"),
        (b"\0" * 5000, "it is not JSON"),
        (b"<html></html>", "it is not JSON"),
        (b'"traceEvents": []', "it is not JSON"),
        (b"{}", "it has no `traceEvents`"),
        (b'{"a": 1', "it is truncated before its events"),
        (b'{"traceEvents": {"a": 1}}', "it has no `traceEvents`"),
        (b"[" * 100_000, "truncated before its first timed event"),
        (b'{"a":' * 100_000, "it is truncated before its events"),
        (b'{"traceEvents": [' + b"{" * 100_000, "truncated before its first timed event"),
    ],
)
def test_what_is_no_trace_gets_one_line(read: Reads, tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableTrace) as caught:
        read(content)
    message = str(caught.value)
    assert reason in message
    assert str(tmp_path) in message and "\n" not in message
    assert " name " not in message, "on the page nobody names a file"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with limited(), pytest.raises(UnreadableTrace, match="not a regular file"):
        read_trace(tmp_path / "pipe.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_gets_one_line(tmp_path: Path) -> None:
    path = training_run().write(tmp_path / "secret.json")
    path.chmod(0)
    with pytest.raises(UnreadableTrace, match="Permission denied"):
        read_trace(path)


def test_a_file_that_is_still_being_written_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """It grows between two reads, and what it had in the end is read; the next look has the rest."""
    path, text = tmp_path / "growing.json", document(events())
    path.write_bytes(text[:5000])

    def growing(file: object, head: bytes) -> Iterator[bytes]:
        for block in plain(file, head):  # type: ignore[arg-type]
            with path.open("ab") as grown:
                grown.write(text[path.stat().st_size : path.stat().st_size + 5000])
            yield block

    plain = source._plain
    with patch.object(source, "BLOCK_BYTES", 2000), patch.object(source, "_plain", growing):
        trace = read_trace(path)
    assert names(trace) == all_but()
    path.write_bytes(text[:9000])
    assert "truncated" in counts(read_trace(path))


COMMAND_CASES = [(b"", "it is empty"), (b"\x1f\x8b\x08", "truncated"), (b"PK\x03\x04", "zip"), (b"[[[[", "truncated")]


@pytest.mark.parametrize(("content", "reason"), COMMAND_CASES)
def test_the_command_says_so_in_one_line_with_status_2(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    command = [sys.executable, "-m", "tb_dataplugin", "report", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert reason in done.stderr and str(path) in done.stderr


# size


def test_a_string_of_many_megabytes_is_left_out_and_the_rest_is_read(read: Reads) -> None:
    for letter in (b"a", b"\\n", b'\\"', b"},{"):
        parts = events()
        parts[7] = parts[7].replace(b'"a": 1', b'"a": "' + letter * (8 << 20) + b'"')
        with patch.object(recovery, "MOST_ELEMENT_BYTES", 1 << 21), patch.object(recovery, "PATIENCE_BYTES", 1 << 21):
            trace = read(document(parts))
        assert [name for name in names(trace) if name.startswith("op")] == all_but(7)
        assert counts(trace)["bad_event"] >= 1


def test_a_long_element_below_the_limit_is_read(read: Reads) -> None:
    parts = events()
    parts[7] = parts[7].replace(b'"a": 1', b'"a": "' + b'\\"},{' * (2 << 20) + b'", "b": [' + b"[1]," * 500_000 + b"1]")
    assert names(read(document(parts))) == all_but()


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"pid": 1', b'"pid" 1'),
        (b"1}}", b"1}"),
        (b'"pid": 1', b'"pid: 1'),
        (b'"pid": 1', b'"pid": [1'),
        (b'"op', b'"C:\\'),
        (b'{"a": 1}', b'{"a": NaN}'),
    ],
)
@pytest.mark.parametrize("joint", [b",", b" ", b', {"x": 1}, '])
def test_time_is_linear_however_many_elements_are_damaged(tmp_path: Path, old: bytes, new: bytes, joint: bytes) -> None:
    """Two megabytes, which would take minutes if every element were looked for in all that follows it."""
    good, bad = EVENT % (b"good", 1), (EVENT % (b"op", 1)).replace(old, new)
    path = tmp_path / "bad.json"
    path.write_bytes(document([good, joint.join([bad] * 10_000), good]))
    with limited(30):
        trace = read_trace(path)
    assert counts(trace)


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    "piece", [b'{"args":', b"[{}, ", b"{", b'{"', b'{"name": "', b"},{", b'"\\', b"[", b"}", b"]", b"]}", b":"]
)
@pytest.mark.parametrize("where", ["elements", "argument", "member"])
def test_no_repetition_of_anything_takes_long(tmp_path: Path, piece: bytes, where: str) -> None:
    many, path = piece * (400_000 // len(piece)), tmp_path / "many.json"
    if where == "elements":
        path.write_bytes(document([*events(9), many, *events(9)]))
    elif where == "argument":
        path.write_bytes(document([*events(9), EVENT[:-2] % (b"op", 1) + b', "b": ' + many, *events(9)]))
    else:
        path.write_bytes(document(events(9), head=b'"a": ' + many.replace(b"}", b"") + b","))
    with limited(30):
        trace = read_trace(path)
    assert names(trace)[:9] == [f"op{number}" for number in range(9)]


def test_a_small_file_is_mended_like_a_large_one(tmp_path: Path) -> None:
    odd = EVENT[:-2] % (b"odd", 1) + b', "l": [{"x": 1}, {"y": [2]}]}, "bw": NaN}'
    path = tmp_path / "small.json"
    path.write_bytes(document([*events(3), odd, *events(2)]))
    trace = read_trace(path)
    assert names(trace) == ["op0", "op1", "op2", "odd", "op0", "op1"]
    assert counts(trace) == {"mended_json": 1}


# what fuzzers found


@pytest.mark.one_of(2)
@pytest.mark.parametrize("path", sorted(DAMAGED.glob("*.gz")), ids=lambda path: path.stem)
def test_what_fuzzers_found_stays_found(path: Path) -> None:
    with Checker() as checker:
        checker.check(gzip.decompress(path.read_bytes()))


def test_damaged_traces_break_no_law() -> None:
    """A short run of the fuzzer (`python -m tests.fuzz`)."""
    random, good = Random(1), seeds(large=False)
    with Checker() as checker:
        for _ in range(150):
            seed: Seed = random.choice(good)
            checker.check(mutate(seed.text, random, random.choice(good).text))
            checker.check_damage(seed, *seed.damaged(random))
