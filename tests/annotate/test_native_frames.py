"""Native frames on request, with a stand-in for py-spy: what it writes and refuses, and that the program goes on."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import load, record_all
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.host import native, native_stacks
from annotate.host.native_stacks import NativeStacks, PySpy
from annotate.trace.native_frames import MOST_FRAMES, NO_SYMBOL, Joined, read_timelines

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info < (3, 11), reason="stacks are read on Linux, from Python 3.11 on"
)

TRAIN = "/home/me/train.py"
JPEG = "/lib/libjpeg.so.62"


def event(phase: str, name: str, file: str, line: int, ts: int, tid: int = 1) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": 7, "tid": tid, "args": {"filename": file, "line": line}}


Called = tuple[str, str, int]


def written(samples: list[list[Called]], each_us: int = 10_000) -> bytes:
    """As py-spy does: only what changes from one sample to the next."""
    events: list[dict[str, Any]] = []
    before: list[Called] = []
    for number, stack in enumerate(samples):
        same = next((at for at, (a, b) in enumerate(zip(before, stack, strict=False)) if a != b), None)
        same = min(len(before), len(stack)) if same is None else same
        events += [event("E", *frame, ts=number * each_us) for frame in reversed(before[same:])]
        events += [event("B", *frame, ts=number * each_us) for frame in stack[same:]]
        before = stack
    return json.dumps(events).encode()


START = ("0x7f18", "/lib/libc.so.6", 0)
LOAD = [START, ("<module>", TRAIN, 9), ("load", TRAIN, 5)]
DECODE = [*LOAD, ("jpeg_read_scanlines", JPEG, 0), ("0x7f19", JPEG, 0), ("0x7f20", JPEG, 0)]
SLEEP = [START, ("<module>", TRAIN, 10), ("time_sleep", "/usr/lib/libpython3.11.so.1.0", 0)]


def known(*lines: int) -> dict[str, Any]:
    """A table with a stack for each line of TRAIN: its number is that of the line's place in `lines`."""
    return {
        "names": [TRAIN],
        "frames": {"function": [0] * len(lines), "file": [0] * len(lines), "line": list(lines), "first": [1]},
        "stacks": {"parent": [-1] * len(lines), "frame": list(range(len(lines)))},
    }


def test_native_frames_are_those_below_the_innermost_python_frame() -> None:
    (timeline,) = read_timelines(written([DECODE, DECODE, SLEEP, LOAD]), [TRAIN])
    assert timeline.line == [(TRAIN, 5), (TRAIN, 10), (TRAIN, 5)]
    assert timeline.tail == [
        (("jpeg_read_scanlines", JPEG), (NO_SYMBOL, JPEG)),  # functions without a name are one
        (("time_sleep", "/usr/lib/libpython3.11.so.1.0"),),
        (),
    ]


def test_a_code_object_with_any_name_is_python() -> None:
    (timeline,) = read_timelines(written([[("run", "a cell", 3), ("deflate", "/lib/libz.so.1", 0)]]), ["a cell"])
    assert (timeline.line, timeline.tail) == ([("a cell", 3)], [(("deflate", "/lib/libz.so.1"),)])


def test_a_deep_native_stack_keeps_both_of_its_ends() -> None:
    deep = [*LOAD, *((f"f{number}", JPEG, 0) for number in range(100))]
    (tail,) = read_timelines(written([deep]), [TRAIN])[0].tail
    assert (len(tail), tail[0][0], tail[-1][0]) == (MOST_FRAMES, "f0", "f99")


@pytest.mark.parametrize("late_ms", [0, 40, 120])
def test_samples_are_joined_whatever_the_delay_of_py_spys_clock(late_ms: int) -> None:
    pattern = [DECODE] * 5 + [SLEEP] * 3 + [DECODE] * 2 + [SLEEP] * 7 + [DECODE] * 4 + [SLEEP]
    times = [1_000_000_000 + number * 5_000_000 for number in range(2 * len(pattern))]
    stacks = [0 if pattern[number // 2] is DECODE else 1 for number in range(len(times))]
    facts = NativeStacks(began={7: times[0] - late_ms * 1_000_000}, texts={7: written(pattern)})
    joined = Joined(facts, known(5, 10))
    tails = joined.tails(7, times, stacks)
    names = [tail[0][0] for tail in tails]
    expected = ["jpeg_read_scanlines" if stack == 0 else "time_sleep" for stack in stacks]
    assert sum(a == b for a, b in zip(names, expected, strict=True)) >= 0.95 * len(names)
    assert joined.joined >= 0.95 * joined.samples


def test_a_sample_at_a_line_that_py_spy_did_not_see_stays_as_it_is() -> None:
    times = [1_000_000_000 + number * 10_000_000 for number in range(20)]
    joined = Joined(NativeStacks(began={7: times[0]}, texts={7: written([DECODE] * 20)}), known(5, 77))
    assert joined.tails(7, times, [0] * 19 + [1])[-1] == ()
    assert joined.joined == 19


def test_another_process_and_text_that_is_none_have_no_native_frames() -> None:
    joined = Joined(NativeStacks(began={7: 0, 8: 0}, texts={7: written([DECODE]), 8: b"{"}), known(5))
    assert joined.tails(9, [1] * 12, [0] * 12) == [()] * 12
    assert joined.why_not == ["what py-spy wrote could not be read"]


class Sums(Dataset[Any]):
    def __init__(self, ready: Path | None) -> None:
        self.ready = ready

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        while self.ready and not self.ready.exists():  # what stands for py-spy has begun
            time.sleep(0.001)
        return torch.tensor(sum(range(20_000)) + index)


FAKE = """#!{python}
import json, signal, sys, time
words = dict(zip(sys.argv, sys.argv[1:]))
assert "--native" in sys.argv and "--nonblocking" not in sys.argv
stop = []
signal.signal(signal.SIGINT, lambda *_: stop.append(1))
open({ready!r}, "w").close()
while not stop:
    time.sleep(0.005)
frames = [("__getitem__", {file!r}, {line}), ("long_add", "/lib/libnumbers.so.1", 0)]
events = [dict(ph="B", name=n, ts=0, pid=1, tid=1, args=dict(filename=f, line=l)) for n, f, l in frames]
open(words["--output"], "w").write(json.dumps(events))
"""


REFUSES = """#!{python}
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
print({says!r}, file=sys.stderr, flush=True)
open({ready!r}, "w").close()
sys.exit(1)
"""


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    program = folder / "py-spy"
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setattr(native_stacks, "find", lambda: str(program))


def run(folder: Path, lines: Any, ready: Path | None = None) -> tuple[list[list[int]], dict[str, Any]]:
    loader = annotate.loader(DataLoader(Sums(ready), batch_size=4))
    with annotate.profile(folder, schedule=record_all, lines=lines) as prof:
        seen = [batch.tolist() for batch in prof.steps(loader)]
    return seen, load(prof.trace_files[-1])["dataPipeline"]["lines"]


def test_a_window_has_native_frames_and_the_program_gets_the_same_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Sums.__getitem__.__code__.co_firstlineno + 1
    ready = tmp_path / "ready"
    fake(tmp_path, monkeypatch, FAKE.format(python=sys.executable, file=__file__, line=line, ready=str(ready)))
    plain, without = run(tmp_path / "plain", lines=True)
    seen, lines = run(tmp_path / "native", lines="native", ready=ready)
    assert seen == plain
    assert (without["version"], "native" in without) == (1, False)
    assert lines["native"]["why_not"] == []
    assert not list(Path(tempfile.gettempdir()).glob("annotate-native-*"))


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("Error: Permission Denied: Try running again with elevated permissions", "Permission Denied: Try running"),
        ("error: unexpected argument '--native' found", "this py-spy has no --native"),
        ("", "py-spy ended without a word"),
    ],
)
def test_where_py_spy_cannot_one_line_says_why_and_the_lines_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, why: str
) -> None:
    ready = tmp_path / "ready"
    fake(tmp_path, monkeypatch, REFUSES.format(python=sys.executable, says=says, ready=str(ready)))
    with pytest.warns(RuntimeWarning, match="no native frames") as said:
        _, lines = run(tmp_path / "run", lines="native", ready=ready)
    assert [str(each.message).count(why) for each in said] == [1]
    assert lines["version"] == 1 and "why_not" not in lines
    assert lines["native"]["why_not"][0].startswith(why)


def test_without_py_spy_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_stacks, "find", lambda: "")
    with pytest.warns(RuntimeWarning, match=r"py-spy is not installed \(pip install tb-dataplugin\[native\]\)"):
        _, lines = run(tmp_path / "run", lines="native")
    assert "why_not" not in lines


def test_py_spy_is_looked_for_beside_this_python_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "py-spy").write_text("")
    (tmp_path / "py-spy").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert PySpy().program == str(tmp_path / "py-spy")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    assert PySpy().why_not.startswith("py-spy is not installed")


def test_processes_beyond_the_limit_have_none_and_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "start", lambda command, log: os.getpid())
    found = native.Native("/bin/true", str(tmp_path))
    found.begin()
    for pid in (*range(1, native.MOST_PROCESSES + 3), 1):
        found.sample(pid)
    assert (len(found.began), found.left_out) == (native.MOST_PROCESSES, 2)
