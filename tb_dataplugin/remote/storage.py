"""Reads through fsspec. Whatever goes wrong there is an UnreadableTrace of one line."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, BinaryIO, Final, TypeVar

from tb_dataplugin.errors import BadRequest, DataPipelineError, UnreadableTrace
from tb_dataplugin.reader.discovery import MAX_DEPTH, READABLE_SUFFIXES, TRACE_SUFFIXES, stamp_ns, strip_suffix
from tb_dataplugin.remote.address import Url, without_secrets

PATIENCE_S: Final = 60.0
"""For one answer of a server: a listing, or a block of bytes."""

BLOCK_BYTES: Final = 1 << 22

_STATE: Final = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created", "md5Hash", "size")
"""What filesystems say of a file's state, each under names of its own."""

_TIMES: Final = ("mtime", "LastModified", "last_modified", "updated", "created")

_GONE: Final = (404, 410)
_DENIED: Final = (401, 403)
"""Of HTTP."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RemoteTrace:
    """A file in a storage, not here yet.

    `root`: where the search began, with what opens it. `run`: its folder relative to that. `state` changes when the
    file does; "" is not known. `modified_ns`: since the epoch, 0 where neither the storage nor the name says it.
    """

    path: str  # as its filesystem names it
    root: Url
    url: Url
    run: str
    state: str
    size: int | None
    modified_ns: int = 0

    @property
    def name(self) -> str:
        return strip_suffix(self.url.name)

    @property
    def id(self) -> str:
        return self.name if self.run == "." else f"{self.run}/{self.name}"


class Storage:
    """One filesystem, as a URL names it. Raises BadRequest where there is none."""

    def __init__(self, url: Url, patience_s: float = PATIENCE_S) -> None:
        self.url, self._patience_s = url, patience_s
        self._files, self.root = _filesystem(url)

    def traces(self) -> Iterator[RemoteTrace]:
        """The file that the URL names, whatever it is called; else those below it by name, folder by folder."""
        return self.files(TRACE_SUFFIXES)

    def files(self, suffixes: tuple[str, ...]) -> Iterator[RemoteTrace]:
        """As `traces`, with names that end so."""
        if self.url.name.endswith(READABLE_SUFFIXES):
            info = self._ask(self.url, lambda: self._files.info(self.root))
            yield self._described(info, ".", self.url)
            return
        folders, depth = [self.root.rstrip("/")], 0
        while folders and depth <= MAX_DEPTH:
            below: list[str] = []
            for folder in folders:
                for info in self._listed(folder):
                    path = str(info["name"]).rstrip("/")
                    if not path.startswith(f"{folder}/"):  # a page may link to anything
                        continue
                    if info.get("type") == "directory":
                        below.append(path)
                    elif path.endswith(suffixes) and not path.rpartition("/")[2].startswith("."):
                        yield self._described(info, self._relative(folder) or ".", self._url_of(path))
            folders, depth = sorted(below), depth + 1

    def blocks(self, trace: RemoteTrace) -> Iterator[bytes]:
        """Its bytes. Raises UnreadableTrace, also where fewer came than there are."""
        file: BinaryIO = self._ask(trace.url, lambda: self._files.open(trace.path, "rb"))
        came = 0
        try:
            while block := self._ask(trace.url, lambda: file.read(BLOCK_BYTES)):
                came += len(block)
                yield block
        finally:
            file.close()
        if trace.size is not None and came != trace.size:
            reason = f"{came:,} of its {trace.size:,} bytes came"
            raise UnreadableTrace(str(trace.url), reason, "try again; if a job is still writing it, wait")

    def beside(self, trace: RemoteTrace, suffix: str, most_bytes: int) -> bytes:
        """Of the small file that is called as the trace, with another suffix; empty where none comes."""
        path = strip_suffix(trace.path) + suffix
        with contextlib.suppress(Exception):  # whatever it is: the trace has come
            return patiently(lambda: bytes(self._files.cat_file(path, end=most_bytes)), self._patience_s)
        return b""

    def _listed(self, folder: str) -> list[Mapping[str, Any]]:
        listed: list[Mapping[str, Any]] = self._ask(self.url, lambda: self._files.ls(folder, detail=True))
        return sorted(listed, key=lambda info: str(info["name"]))

    def _described(self, info: Mapping[str, Any], run: str, url: Url) -> RemoteTrace:
        known = [f"{key}={info[key]}" for key in _STATE if info.get(key) is not None]
        has_time = any(not one.startswith("size=") for one in known)
        size = info.get("size")
        whole = size if isinstance(size, int) and not info.get("content_encoding") else None
        modified_ns = _modified_ns(info, url)
        return RemoteTrace(
            str(info["name"]), self.url, url, run, " ".join(known) if has_time else "", whole, modified_ns
        )

    def _relative(self, path: str) -> str:
        return path.removeprefix(self.root.rstrip("/")).strip("/")

    def _url_of(self, path: str) -> Url:
        return Url(f"{str(self.url).rstrip('/')}/{self._relative(path)}")

    def _ask(self, url: Url, question: Callable[[], _T]) -> _T:
        try:
            return patiently(question, self._patience_s)
        except DataPipelineError:
            raise
        except Exception as error:
            raise UnreadableTrace(str(url), *_why(error)) from None


def _modified_ns(info: Mapping[str, Any], url: Url) -> int:
    """When it was written, as the storage has it, else as its name has it."""
    for value in (info.get(name) for name in _TIMES):
        try:
            if isinstance(value, str):
                value = datetime.fromisoformat(value.replace("Z", "+00:00"))
            if isinstance(value, datetime):
                value = (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
            if isinstance(value, int | float):
                return int(value * 1e9)
        except (ValueError, OverflowError):
            continue
    return stamp_ns(strip_suffix(url.name)) or 0


def _filesystem(url: Url) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise BadRequest(f"cannot open {url}: it is remote; pip install 'tb-dataplugin[remote]'") from None
    try:
        files, root = fsspec.core.url_to_fs(url.address, use_listings_cache=False)
    except ImportError as error:
        raise BadRequest(f"cannot open {url}: {_one_line(error)}") from None
    except ValueError as error:
        raise BadRequest(f"cannot open {url}: {_one_line(error)}; check how it begins") from None
    except Exception as error:
        raise UnreadableTrace(str(url), *_why(error)) from None
    return files, str(root)


def patiently(question: Callable[[], _T], patience_s: float) -> _T:
    """Its answer. Raises what it raises, and TimeoutError; it is left alone then, in a thread that ends with us."""
    answers: list[_T] = []
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            answers.append(question())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=ask, name="tb-dataplugin remote", daemon=True)
    thread.start()
    thread.join(patience_s)
    if errors:
        raise errors[0]
    if not answers:
        raise TimeoutError(f"no answer for {patience_s:g} s")
    return answers[0]


def _why(error: BaseException) -> tuple[str, str]:
    """Reason and remedy."""
    error = _http_error(error) or error
    status = getattr(error, "status", None)  # aiohttp's
    if isinstance(error, FileNotFoundError) or status in _GONE:
        return (
            "there is no such file or folder",
            "check the URL and your credentials; it may have been deleted meanwhile",
        )
    if isinstance(error, PermissionError) or status in _DENIED:
        return "permission denied", "check your credentials for this storage"
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return f"the server does not answer ({_one_line(error)})", "try again later"
    if isinstance(status, int):
        return f"the server answers {status} ({getattr(error, 'message', '')})", "try again later"
    return _one_line(error), "check the URL, your credentials and the network"


def _http_error(error: BaseException) -> BaseException | None:
    """Whatever goes wrong, fsspec's HTTP calls it a missing file: what it was is the cause of that."""
    cause = error.__cause__
    is_http = isinstance(error, FileNotFoundError) and type(cause).__module__.partition(".")[0] == "aiohttp"
    return cause if is_http else None


def _one_line(error: BaseException) -> str:
    return without_secrets(" ".join(str(error).split()))[:200] or type(error).__name__
