"""moto's S3 server, in which the name of an object says how reading it goes wrong; its objects are there by HTTP too.

`started` runs it as a process of its own: moto is imported there, and no test shares its threads.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PIECE: Final = 64
_XML: Final = [("Content-Type", "application/xml")]
_ERRORS: Final = {
    "denied": ("403 Forbidden", "AccessDenied"),
    "vanished": ("404 Not Found", "NoSuchKey"),
    "busy": ("503 Slow Down", "SlowDown"),
}


class Failing:
    """A WSGI application around moto's. Only the bytes of an object are affected: it is listed as any other."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._let_go = Event()

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/let_go":  # whoever hangs
            self._let_go.set()
            start("200 OK", [])
            return []
        if environ["REQUEST_METHOD"] != "GET" or environ["PATH_INFO"].count("/") < 2:
            return self._inner(environ, start)  # type: ignore[no-any-return]
        manner = environ["PATH_INFO"].rpartition("/")[2].partition(".")[0]
        if manner in _ERRORS:
            status, code = _ERRORS[manner]
            start(status, _XML)
            return [f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()]
        if manner == "hangs":
            self._let_go.wait()
        body = self._inner(environ, start)
        if manner not in ("breaks", "slow"):
            return body  # type: ignore[no-any-return]
        data = b"".join(body)
        return self._slowly(data[: len(data) // 2] if manner == "breaks" else data)

    def _slowly(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), PIECE):
            self._let_go.wait(0.001)
            yield data[at : at + PIECE]


def main() -> None:
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, Failing(DomainDispatcherApplication(create_backend_app)), threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()  # until whoever started it has gone


@contextmanager
def started() -> Iterator[str]:
    """Its address; it ends with the block, or with this process."""
    command = [sys.executable, "-W", "ignore", "-m", __name__]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        assert process.stdout is not None
        port = process.stdout.readline().decode().strip()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


if __name__ == "__main__":
    main()
