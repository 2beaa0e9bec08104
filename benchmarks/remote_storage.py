"""URLs against real servers: moto's S3, and an HTTP server that is slow, refuses, breaks off or loses files.

``python benchmarks/remote_storage.py TRACE``, where ``s3fs aiohttp moto[server]`` are installed: not where tests run.
Ends with 1 where a line is not what it should be.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tb_dataplugin.cli import main as tb_dataplugin
from tb_dataplugin.remote.storage import PATIENCE_S

NAME = "a.pt.trace.json.gz"
SECRETS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1"}


class Server(BaseHTTPRequestHandler):
    """The first folder of the path says how it behaves."""

    def __init__(self, data: bytes, *rest: object) -> None:
        self._data = data
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(self._data)

    def _answer(self, data: bytes) -> None:
        manner = self.path.split("/")[1]
        if manner in ("403", "404"):
            self.send_error(int(manner))
            return
        if manner == "hangs":
            time.sleep(PATIENCE_S + 10)
        self.send_response(200)
        self.send_header("Content-Length", str(len(self._data)))
        self.end_headers()
        data = data[: len(data) // 2] if manner == "breaks" else data
        for at in range(0, len(data), 64_000):
            if manner == "slow":
                time.sleep(0.05)
            self.wfile.write(data[at : at + 64_000])

    def log_message(self, *_: object) -> None:
        pass


def said(words: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = tb_dataplugin(words)
    return status, out.getvalue(), err.getvalue().strip()


def check(what: str, url: str, status: int, words: str, command: str = "report") -> bool:
    began = time.perf_counter()
    got, out, err = said([command, url])
    fine = got == status and words in (out if status == 0 else err) and (status == 0 or "\n" not in err)
    print(f"{'ok ' if fine else 'BAD'} {what:<28} {time.perf_counter() - began:5.1f} s  exit {got}  {err[:150]}")
    return fine


@contextlib.contextmanager
def http(data: bytes) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, data))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


@contextlib.contextmanager
def s3(data: bytes) -> Iterator[str]:
    import fsspec
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= SECRETS | {"AWS_ENDPOINT_URL": f"http://{host}:{port}"}
    files = fsspec.filesystem("s3")
    files.mkdir("runs")
    files.pipe({f"runs/one/{NAME}": data, f"runs/two/{NAME}": data, "runs/two/notes.txt": b"-"})
    try:
        yield "s3://runs"
    finally:
        server.stop()


def main(trace: str) -> int:
    os.environ["TB_DATAPLUGIN_CACHE"] = tempfile.mkdtemp()
    data = Path(trace).read_bytes()
    fine = []
    with http(data) as base:
        fine += [check(f"http {manner}", f"{base}/{manner}/{NAME}", *expected) for manner, expected in HTTP.items()]
    with s3(data) as base:
        fine.append(check("s3 file", f"{base}/one/{NAME}", 0, ""))
        fine.append(check("s3 file again", f"{base}/one/{NAME}", 0, ""))
        fine.append(check("s3 folder", base, 0, "two/a"))
        fine.append(check("s3 no such bucket", "s3://nosuch/x", 2, "there is no such file"))
        fine.append(check("s3 no such file", f"{base}/one/b.json", 2, "there is no such file"))
    return 0 if all(fine) else 1


HTTP = {
    "fine": (0, ""),
    "slow": (0, ""),
    "403": (2, "cannot read"),
    "404": (2, "there is no such file"),
    "breaks": (2, "cannot read"),
    "hangs": (2, "does not answer"),
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
