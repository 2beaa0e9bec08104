"""Names that would steer a terminal, turn text around or hide: shown as escapes, everywhere."""

from __future__ import annotations

import json
import logging
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_dataplugin.cli import main
from tb_dataplugin.compare import compare
from tb_dataplugin.errors import InternalError, UnreadableTrace
from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.pipeline import analyse, as_report
from tb_dataplugin.shown import encodable, in_json, shown
from tb_dataplugin.tb.logs import log_failure
from tests.trace_builder import TraceBuilder, training_run

HOSTILE = {
    "escape sequence": ("\x1b[2J\x1b[31mred", r"\x1b[2J\x1b[31mred"),
    "window title": ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
    "link of a terminal": ("\x1b]8;;http://evil\x1b\\x", "\\x1b]8;;http://evil\\x1b\\x"),
    "bell": ("a\x07b", r"a\x07b"),
    "C1 control": ("a\x9b31mb\x9d0;t\x9c", r"a\x9b31mb\x9d0;t\x9c"),
    "line end": ("a\nError: b\r\nc\x85d\u2028e\u2029f", r"a\x0aError: b\x0d\x0ac\x85d\u2028e\u2029f"),
    "backspace": ("safe\x08\x08evil", r"safe\x08\x08evil"),
    "NUL": ("a\0b", r"a\x00b"),
    "turned around": ("a\u202egnp.exe\u202c", r"a\u202egnp.exe\u202c"),
    "isolated": ("\u2066a\u2069\u200f\u061c", r"\u2066a\u2069\u200f\u061c"),
    "zero width": ("ad\u200bmin\u200d\u2060\ufeff", r"ad\u200bmin\u200d\u2060\ufeff"),
    "tags": ("a\U000e0041", r"a\U000e0041"),
    "fillers": ("a\u3164\u115f\uffa0\u034f\u00adb", r"a\u3164\u115f\uffa0\u034f\xadb"),
    "Windows-1252": (b"caf\xe9".decode("utf-8", "surrogateescape"), r"caf\xe9"),
    "half a pair": ("a\ud83dz", r"a\ud83dz"),
}

FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def hostile(text: str) -> set[str]:
    return {one for one in text if one != "\n" and unicodedata.category(one) in FORBIDDEN}


def valid(name: str) -> str:
    """Protobuf and JSON hold no halves of pairs."""
    return name.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_name_is_shown_as_escapes(kind: str) -> None:
    name, expected = HOSTILE[kind]
    assert shown(name) == expected


@pytest.mark.parametrize("name", ["conv2d", "Größe", "データ", "données", "😀", "a b", "μs · – ≥", "إسم", "שם", "नाम"])
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert shown(name) == encodable(name) == name
    assert in_json(json.dumps(name, ensure_ascii=False)) == json.dumps(name, ensure_ascii=False)


def test_every_control_and_format_character_is_escaped() -> None:
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in FORBIDDEN:
            assert shown(chr(code)).isascii(), hex(code)


@given(st.text())
def test_what_is_shown_can_be_written_and_shown_again(name: str) -> None:
    once = shown(name)
    assert not hostile(once) and shown(once) == once
    encodable(name).encode()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_keeps_its_values(name: str) -> None:
    text = in_json(json.dumps({name: [name]}, ensure_ascii=False, indent=1))
    assert json.loads(text) == {name: [name]}
    assert not hostile(text)


def named(name: str) -> TraceBuilder:
    """A capture whose every name is `name`."""
    name = valid(name)
    builder = training_run().annotated(
        loaders=[{"batch_size": 2, "num_workers": 0, "dataset": name, "name": name, "start_method": name}],
        host={"name": name},
        versions={"torch": name, name: name},
        notes=[name],
    )
    builder.top_level |= {"host_name": name, "deviceProperties": [{"id": 0, "name": name}]}
    for number in range(4):
        t = 100 * number
        builder.stage(f"transform::{name}", t + 34, 2).kernel(t + 95, 3, name=name).call(name, t + 92, 1, correlation=1)
        builder.stage(name, t + 36, 1)
    builder.events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": name}})
    return builder


@pytest.mark.one_of(2)
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("style", [Style(), Style(color=True)], ids=["plain", "colour"])
def test_no_name_of_a_trace_reaches_the_terminal_raw(kind: str, style: Style) -> None:
    capture = analyse(named(HOSTILE[kind][0]).trace()).capture
    capture.name, capture.file = valid(HOSTILE[kind][0]), valid(HOSTILE[kind][0]) + "/x"
    text = as_text(as_report([capture]), style)
    own = {"\x1b"} if style.color else set()
    assert hostile(text) <= own
    text = compare_text(compare([capture], [analyse(training_run().trace()).capture]), style)
    assert hostile(text) <= own
    name = HOSTILE[kind][0]
    assert "\x1b]" not in text and "\x1b[2J" not in text and (name not in text or name.isprintable())
    assert not hostile(as_json(as_report([capture])))


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_name_reaches_error_lines_or_the_log_raw(
    kind: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    name = HOSTILE[kind][0]
    for error in (UnreadableTrace(Path(name), name, name), InternalError(name, ValueError(name))):
        assert not hostile(str(error)) and "\n" not in str(error)
    with caplog.at_level(logging.ERROR, logger="tensorboard"):
        try:
            raise ValueError(name)
        except ValueError:
            log_failure(name)
    assert not hostile(caplog.text.replace("\n", ""))
    if "\0" not in name:
        assert main(["report", f"/nowhere/{name}"]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and not hostile(told)
    with pytest.raises(SystemExit):
        main(["report", "--format", name, "x"])
    told = capsys.readouterr().err
    assert not hostile(told)


def test_a_traceback_that_python_cannot_underline_is_shown_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise SystemError("AST constructor recursion depth mismatch (before=102, after=37)")

    monkeypatch.setattr("traceback.format_exception", fails)
    with caplog.at_level(logging.ERROR, logger="tensorboard"):
        try:
            raise ValueError("what went wrong")
        except ValueError:
            log_failure("the answer")
    assert Path(__file__).name in caplog.text and caplog.text.endswith("ValueError: what went wrong\n")


@pytest.mark.one_of(3)
@pytest.mark.parametrize("kind", [kind for kind, (name, _) in HOSTILE.items() if "\0" not in name])
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_files_of_hostile_names_are_reported_on(
    kind: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = HOSTILE[kind][0].replace("/", "_")
    try:
        path = training_run().write(tmp_path / f"run {name}" / f"{name}.pt.trace.json")
    except (OSError, UnicodeEncodeError):  # half a pair is no file name anywhere
        pytest.skip("no file can have such a name here")
    output = tmp_path / "out"
    for paths in ([str(tmp_path)], [str(path)]):
        assert main(["report", *paths, "--format", form, "-o", str(output)]) == 0
        text = output.read_text("utf-8")
        assert form == "html" or not hostile(text)
        assert form != "text" or shown(name) in text
    assert not hostile(capsys.readouterr().err)


def test_a_bad_file_of_a_hostile_name_is_one_harmless_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "\x1b[31m\nx.pt.trace.json").write_text("no")
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and r"\x1b[31m\x0ax" in told
