"""Traces behind https: a server whose certificate is trusted, and one whose is not."""

from __future__ import annotations

import functools
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from werkzeug.serving import make_ssl_devcert

from tests.trace_builder import training_run

NAME = "a.pt.trace.json"
REPORT = "import sys; from tb_dataplugin.cli import main; sys.exit(main(sys.argv[1:]))"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@dataclass(frozen=True)
class Server:
    url: str
    certificate: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a certificate that it has signed itself."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = make_ssl_devcert(str(folder / "own"), host="localhost")
    (folder / "run").mkdir()
    (folder / "run" / NAME).write_bytes(training_run().json())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = functools.partial(Quiet, directory=str(folder / "run"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        serving.socket = context.wrap_socket(serving.socket, server_side=True)
        Thread(target=serving.serve_forever, daemon=True).start()
        yield Server(f"https://localhost:{serving.server_port}", certificate)
        serving.shutdown()


def report(url: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """By a program of its own: what it trusts is read once, when a library is imported."""
    return subprocess.run(
        [sys.executable, "-c", REPORT, "report", url],
        env={**os.environ, "TB_DATAPLUGIN_CACHE": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("path", ["", NAME])
def test_a_server_that_is_trusted_is_read(server: Server, tmp_path: Path, path: str) -> None:
    done = report(f"{server.url}/{path}", tmp_path, SSL_CERT_FILE=server.certificate)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The device is idle for 50.0% of the window" in done.stdout


def test_a_server_that_is_not_trusted_is_one_line(server: Server, tmp_path: Path) -> None:
    done = report(f"{server.url}/{NAME}", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tb-dataplugin: cannot read {server.url}/{NAME}: Cannot connect to host localhost")
    assert "certificate verify failed" in line
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
