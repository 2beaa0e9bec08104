"""Serves TensorBoard on a free port and prints the address to open."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main(logdir: str) -> int:
    port = free_port()
    print(f"\nOpen http://localhost:{port}/#data_pipeline in a browser (Ctrl+C ends it)\n", flush=True)
    tensorboard = Path(sys.executable).with_name("tensorboard")
    command = [str(tensorboard), "--logdir", logdir, "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as served:
        signal.signal(signal.SIGTERM, lambda *_: served.terminate())  # it does not outlive this
        try:
            return served.wait()
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "runs"))
