"""Damage to the text of a trace: blind to it, and at its elements, keys and values."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from random import Random

MOST_BYTES = 1 << 17

_VALUE = re.compile(rb':\s*("(?:[^"\\]|\\.)*"|[^\s,\[\]{}"]+)')
_KEY = re.compile(rb'"(\w+)"\s*:')
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_JOINT = re.compile(rb"\}\s*,\s*\{")

VALUES = (
    b"1e400", b"-1e400", b"-1", b"0", b"-0", b"-0.0", b"0.0001", b"18446744073709551616", b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775808", b"4294967296", b"2147483648", b"9007199254740993", b"1e308",
    b"1e18", b"1e15", b"1e-400", b"NaN", b"-NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"N/A", b"undefined",
    b"None", b"null", b"true", b"false", b'""', b'"1"', b'"-1"', b'"1e400"', b'"NaN"', b'"0x10"', b'"1_0"', b'" 7 "',
    b'"\xc2\xb2"', b'"\xd9\xa3"', b'"N/A"', b"[]", b"{}", b"[1]", b"[[1]]", b"[1,2]", b'{"a":1}', b"[null]", b'["X"]',
    b'"X"', b'"B"', b'"E"', b'"b"', b'"e"', b'"C"', b'"M"', b'"kernel"', b'"gpu_memcpy"', b'"user_annotation"',
    b'"cuda_runtime"', b'"python_function"', b'"ProfilerStep#1"', b'"ProfilerStep#99999999999999999999"',
    b'"ProfilerStep#2147483648"', b'"ProfilerStep#\xd9\xa3"', b'"decode::"', b'"wait::"', b'"wait::x (first batch)"',
    b'"sample::a\\nb"', b'"host::cpu"', b'"process_name"', b'"enumerate(DataLoader)#_SingleProcessDataLoaderIter.x"',
    b'"\\ud800"', b'"\\udc00x"', b'"\\u0000"', b'"C:\\Users\\x"', b'"a\\"', b'"' + b"9" * 5000 + b'"', b"9" * 400,
    b"1." + b"3" * 60, b"0." + b"0" * 400 + b"1", b"+5", b".5", b"5.", b"0x10", b"01",
)  # fmt: skip
PIECES = (
    b"\0", b"\x01", b"\t", b"\x1f", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xe2\x80\xa8", b"\\",
    b'"', b"\\\\", b'\\"', b"\\x", b"\\u12", b"\\ud83d", b"{", b"}", b"[", b"]", b",", b":", b"},{", b"},{",
    b'},{"ph":', b"]}", b"}]", b"}}", b'"}', b'{"', b"// x\n", b"/* */", b"NaN", b"N/A", b"\xef\xbb\xbf", b"\r\n",
    b"\xc2\xa0", b"'",
)  # fmt: skip
KEYS = (
    b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"id", b"args", b"device", b"correlation", b"cpu_us",
    b"bytes", b"index", b"batch", b"epoch", b"traceEvents", b"dataPipeline", b"deviceProperties", b"distributedInfo",
    b"rank", b"world_size", b"host_name", b"version", b"mode", b"loaders", b"workers", b"batches", b"batch_costs",
    b"num_workers", b"batch_size", b"started_us", b"consumed_us", b"stream",
)  # fmt: skip
JOINTS = (
    b"}{", b"},,{", b"} {", b"},\n\n{", b"}, 3, {", b'}, "x", {', b"}, null, {", b"}, [], {", b"}, }, {", b"}],[{",
    b"}]{", b"}}, {", b", {", b"}, ", b"}\x00,\x00{", b"}; {",
)  # fmt: skip


def mutate(data: bytes, random: Random, other: bytes = b"") -> bytes:
    """`data` with one to six damages; `other` is what it may be joined with."""
    packed = data[:2] == b"\x1f\x8b"
    text = data if packed else data[:MOST_BYTES]
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        kind = random.random()
        if packed:
            text = random.choice(BLIND)(text, random)
        elif kind < 0.03:
            text = _join(text, other, random)
        elif kind < 0.3:
            text = random.choice(BLIND)(text, random)
        else:
            text = random.choice(STRUCTURED)(text, random)
    if not packed and random.random() < 0.04:
        return _packed(text, random)
    return text


def damage_one(element: str, random: Random) -> str:
    """One damage to the text of one element."""
    text = random.choice((*STRUCTURED, _insert, _delete_byte))(element.encode("utf-8", "replace"), random)
    return text.decode("utf-8", "replace")


def _place(text: bytes, random: Random) -> int:
    return random.randrange(len(text) + 1)


def _flip(text: bytes, random: Random) -> bytes:
    at = _place(text, random)
    return text[:at] + bytes([random.randrange(256)]) + text[at + 1 :]


def _delete_byte(text: bytes, random: Random) -> bytes:
    at = _place(text, random)
    return text[:at] + text[at + 1 :]


def _insert(text: bytes, random: Random) -> bytes:
    at = _place(text, random)
    return text[:at] + random.choice(PIECES) + text[at:]


def _cut(text: bytes, random: Random) -> bytes:
    return text[: _place(text, random)]


def _span(text: bytes, random: Random) -> tuple[int, int]:
    begin = _place(text, random)
    return begin, min(len(text), begin + random.choice((2, 10, 100, 1000, 10000)))


def _delete_span(text: bytes, random: Random) -> bytes:
    begin, end = _span(text, random)
    return text[:begin] + text[end:]


def _copy_span(text: bytes, random: Random) -> bytes:
    begin, end = _span(text, random)
    at = _place(text, random)
    return text[:at] + text[begin:end] + text[at:]


def _shuffle_bits(text: bytes, random: Random) -> bytes:
    begin, end = _span(text, random)
    return text[:begin] + bytes(random.randrange(256) for _ in range(min(end - begin, 50))) + text[end:]


def _match(pattern: re.Pattern[bytes], text: bytes, random: Random) -> re.Match[bytes] | None:
    """Some match behind a random place, else the first."""
    return pattern.search(text, _place(text, random)) or pattern.search(text)


def _replaced(text: bytes, match: re.Match[bytes] | None, new: bytes, group: int = 0) -> bytes:
    return text if match is None else text[: match.start(group)] + new + text[match.end(group) :]


def _other_value(text: bytes, random: Random) -> bytes:
    return _replaced(text, _match(_VALUE, text, random), random.choice(VALUES), 1)


def _other_value_of_a_key(text: bytes, random: Random) -> bytes:
    key = random.choice(KEYS)
    pattern = re.compile(rb'"' + key + rb'"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s,\[\]{}"]+)')
    return _replaced(text, _match(pattern, text, random), random.choice(VALUES), 1)


def _all_values_of_a_key(text: bytes, random: Random) -> bytes:
    key, new = random.choice(KEYS), random.choice(VALUES)
    pattern = re.compile(rb'("' + key + rb'"\s*:\s*)("(?:[^"\\]|\\.)*"|[^\s,\[\]{}"]+)')
    return pattern.sub(lambda match: match[1] + new, text)


def _other_key(text: bytes, random: Random) -> bytes:
    return _replaced(text, _match(_KEY, text, random), random.choice(KEYS), 1)


def _drop_member(text: bytes, random: Random) -> bytes:
    return _replaced(text, _match(re.compile(_KEY.pattern + rb"\s*[^\s,\[\]{}]+,?"), text, random), b"")


def _add_member(text: bytes, random: Random) -> bytes:
    member = b'{"' + random.choice(KEYS) + b'": ' + random.choice(VALUES) + b", "
    return _replaced(text, _match(re.compile(rb"\{"), text, random), member)


def _swap_values(text: bytes, random: Random) -> bytes:
    one, two = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
    first = _VALUE.search(text, one)
    second = _VALUE.search(text, max(two, first.end())) if first else None
    if first is None or second is None:
        return text
    return text[: first.start(1)] + second[1] + text[first.end(1) : second.start(1)] + first[1] + text[second.end(1) :]


def _in_a_string(text: bytes, random: Random) -> bytes:
    match = _match(_STRING, text, random)
    if match is None:
        return text
    at = random.randrange(match.start() + 1, match.end())
    return text[:at] + random.choice(PIECES) + text[at:]


def _nest(text: bytes, random: Random) -> bytes:
    match = _match(_VALUE, text, random)
    if match is None:
        return text
    depth = random.choice((1, 2, 20, 600, 3000, 20000))
    opening, closing = random.choice(((b"[", b"]"), (b'{"args":', b"}"), (b"[{}, ", b"]")))
    closed = random.choice((0, depth, depth, depth, depth + 1))
    return _replaced(text, match, opening * depth + match[1] + closing * closed, 1)


def _long_string(text: bytes, random: Random) -> bytes:
    value = (
        b'"' + random.choice((b"a", b"\\\\", b"\\n", b"},{", b"\xc3\xbc")) * random.choice((100, 5000, 30000)) + b'"'
    )
    return _replaced(text, _match(_VALUE, text, random), value, 1)


def _copy_element(text: bytes, random: Random) -> bytes:
    first = _match(_JOINT, text, random)
    second = _JOINT.search(text, first.end() - 1) if first else None
    if first is None or second is None:
        return text
    return (
        text[: second.start()]
        + text[first.start() : second.start()] * random.choice((1, 2, 50))
        + text[second.start() :]
    )


def _drop_elements(text: bytes, random: Random) -> bytes:
    first, second = _match(_JOINT, text, random), _match(_JOINT, text, random)
    if first is None or second is None or first.start() >= second.start():
        return text
    return text[: first.start()] + text[second.start() :]


def _other_joint(text: bytes, random: Random) -> bytes:
    new = random.choice(JOINTS)
    return _replaced(text, _match(_JOINT, text, random), new)


def _encoded(text: bytes, random: Random) -> bytes:
    name = random.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "cp1252"))
    return text.decode("utf-8", "replace").encode(name, "replace")


def _join(text: bytes, other: bytes, random: Random) -> bytes:
    if random.random() < 0.3:
        return text + random.choice((b"", b"\n", b",", b"\0\0\0")) + other
    return text[: _place(text, random)] + other[_place(other, random) :]


def _packed(text: bytes, random: Random) -> bytes:
    half = _place(text, random)
    packed = gzip.compress(text, 1)
    kind = random.randrange(6)
    if kind == 0:
        return gzip.compress(text[:half], 1) + gzip.compress(text[half:], 1)
    if kind == 1:
        return packed + b"\0" * random.choice((1, 511, 70000))
    if kind == 2:
        return packed + random.choice((b"garbage", text[:100], packed[:30], b"\x1f\x8b"))
    return random.choice((_cut, _flip, _shuffle_bits))(packed, random)


BLIND: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip, _flip, _delete_byte, _insert, _insert, _cut, _delete_span, _copy_span, _shuffle_bits, _encoded,
)  # fmt: skip
STRUCTURED: tuple[Callable[[bytes, Random], bytes], ...] = (
    _other_value, _other_value, _other_value_of_a_key, _other_value_of_a_key, _all_values_of_a_key, _other_key,
    _drop_member, _add_member, _swap_values, _in_a_string, _in_a_string, _nest, _long_string, _copy_element,
    _drop_elements, _other_joint,
)  # fmt: skip
