"""fsspec, and objects of S3 by boto3, inside of a sample: checkpoints and logs go the same way."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on, in_sample, reads_some

_SYSTEMS: Final = {
    "fsspec.spec": "AbstractFileSystem",
    "fsspec.implementations.local": "LocalFileSystem",
    "fsspec.implementations.memory": "MemoryFileSystem",
    "fsspec.implementations.cached": "CachingFileSystem",
}
_FILES: Final = {"fsspec.spec": "AbstractBufferedFile", "fsspec.implementations.local": "LocalFileOpener"}


def _system(module: str, cls: str) -> Reader:
    names = {f"{cls}.{name}": f"fsspec.{name}" for name in ("open", "cat", "cat_file", "cat_ranges", "read_bytes")}
    file = _FILES.get(module)
    reads = () if file is None else (Hook(module, f"{file}.read", "read", "fsspec.read", reads_some),)
    return Reader(module, (*hooks_on(module, "read", names, when=in_sample), *reads))


READERS: Final = (
    Reader("fsspec", (Hook("fsspec", "open", "read", "fsspec.open", in_sample),)),
    *(_system(module, cls) for module, cls in _SYSTEMS.items()),
    Reader(
        "fsspec.core",
        (
            Hook("fsspec.core", "OpenFile.__enter__", "read", "fsspec.open", in_sample),
            Hook("fsspec.core", "OpenFile.__exit__", "read", "fsspec.close", in_sample),
        ),
    ),
    Reader("fsspec.asyn", (Hook("fsspec.asyn", "sync", "read", "fsspec.remote", in_sample),)),
    Reader("botocore.response", (Hook("botocore.response", "StreamingBody.read", "read", "boto3.read", in_sample),)),
    Reader(
        "botocore.client", (Hook("botocore.client", "BaseClient._make_api_call", "read", "boto3.request", in_sample),)
    ),
)
