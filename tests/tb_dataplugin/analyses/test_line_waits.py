"""What lines wait for, by their text and by the library code that they call."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.line_waits import named_wait, waited_for
from tb_dataplugin.model.line_samples import Frame

LIB = "/usr/lib/python3.12"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("sleep(1)", "sleep"),
        ("await asyncio.sleep(backoff)", "sleep"),
        ("data = urlopen(url).read()", "network"),
        ("body = s3.get_object(Bucket=bucket, Key=key)", "network"),
        ("with fsspec.open(f's3://{key}') as file:", "network"),
        ("chunk = sock.recv(4096)", "network"),
        ("self.lock.acquire()", "lock"),
        ("with file_lock, open(path) as file:", "lock"),
        ("fcntl.flock(file, fcntl.LOCK_EX)", "lock"),
        ("batch = task_queue.get(timeout=1)", "queue"),
        ("self._q.put(item)", "queue"),
        ("subprocess.check_output(command)", "process"),
        ("out, _ = proc.communicate()", "process"),
        ("x = self.fetch(i)", None),
        ("value = settings.get(key)", None),
        ("self.asleep(1)", None),
        ("with open(path) as file:", None),
        ("with clock.block(name):", None),
        ("x = load(path)  # requests.get(url) once", None),
        ("time.sleep(1) if busy else requests.get(url)", None),
    ],
)
def test_the_text_of_a_line(source: str, what: str | None) -> None:
    assert named_wait(source) == what


def library(*files: str) -> list[Frame]:
    return [Frame("call", file, 1, 1, "library") for file in files]


def test_the_library_code_that_a_line_calls_says_more_than_its_text() -> None:
    packages = f"{LIB}/site-packages"
    request = library(f"{packages}/requests/api.py", f"{packages}/urllib3/connectionpool.py", f"{LIB}/queue.py")
    assert waited_for("x = self.fetch(i)", request) == "network"
    assert waited_for("x = self.fetch(i)", library(f"{packages}/fsspec/asyn.py", f"{LIB}/threading.py")) == "network"
    assert waited_for("x = self.fetch(i)", library(f"{LIB}/subprocess.py")) == "process"
    assert waited_for("x = self.fetch(i)", library(f"{LIB}/queue.py", f"{LIB}/threading.py")) == "queue"
    assert waited_for("x = self.fetch(i)", library(f"{packages}/filelock/_api.py")) == "lock"
    assert waited_for("x = self.fetch(i)", library(f"{packages}/numpy/core.py")) is None
    assert waited_for("time.sleep(1)", []) == "sleep"
