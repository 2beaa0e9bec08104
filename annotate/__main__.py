"""``python -m annotate replay package.module:make_loader --logdir DIR``: a zero-worker replay from the command line.

With ``--slowest 20 --from CAPTURE``, or ``--indices 7,23``, it replays single samples and says why each was slow. What
stands behind ``--`` are the arguments that the module finds in ``sys.argv``.

Exit status: 0 fine; 1 the loader gave no batch; 2 bad usage, or the loader or its dataset failed. Errors are one line
on stderr.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from annotate import slowest
from annotate.needs_torch import need_torch
from annotate.options import Lines
from annotate.saying import in_short, shown

LINES: Final[dict[str, Lines]] = {"on": True, "off": False, "native": "native"}


PLACEHOLDER: Final = "MODULE:MAKE_LOADER"
"""What the command has that reports print."""


class UsageError(Exception):
    """What was asked for cannot be done; its text is the line for the user."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m annotate", description="Record the stages of a data pipeline.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "replay",
        help="load a few batches with zero workers and record every stage",
        description="Loads a few batches of a DataLoader in this process, with zero workers, and writes a trace.",
    )
    help_target = "a DataLoader, or a function that returns one; FILE.py:NAME for a script, run as if it were imported"
    command.add_argument("target", metavar="MODULE:NAME", help=help_target)
    command.add_argument("--logdir", required=True, help="folder that the trace is written to")
    command.add_argument("--batches", type=int, default=16, metavar="N", help="batches to load (default: 16)")
    command.add_argument("--slowest", type=int, metavar="N", help="load the N slowest samples of --from, alone")
    command.add_argument("--from", dest="capture", metavar="CAPTURE", help="a trace file, or a folder of them")
    command.add_argument("--indices", type=_indices, metavar="I,J,...", help="load these samples of the dataset, alone")
    help_lines = "sample Python stacks (on, off), or with the native frames below them (native: needs py-spy)"
    command.add_argument("--lines", choices=tuple(LINES), default="on", help=help_lines)
    command.add_argument("--traceback", action="store_true", help="show the Python traceback of an error")
    command.epilog = "Arguments behind -- are left to MODULE, in sys.argv."
    worker = commands.add_parser("tune-worker", help="what `tb-dataplugin tune` starts; not to be called by hand")
    worker.add_argument("target", metavar="MODULE:NAME")
    worker.add_argument("--change", type=json.loads, default={}, metavar="JSON", help="settings of the DataLoader")
    worker.add_argument("--step-ms", type=float, default=0.0)
    worker.add_argument("--step-cpu", type=float, default=0.0)
    worker.add_argument("--device", default="")
    worker.set_defaults(traceback=False)
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    asked = parser.parse_args(words[:end])
    asked.arguments = words[end + 1 :]
    try:
        return _replay(asked) if asked.command == "replay" else _tune_worker(asked)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if asked.traceback:
            traceback.print_exc()
        else:
            hint = "" if isinstance(error, (UsageError, OSError)) else " (--traceback shows where)"
            print(shown(f"annotate replay: {_one_line(error)}{hint}"), file=sys.stderr)
        return 2


def _replay(asked: argparse.Namespace) -> int:
    if asked.batches < 1:
        raise UsageError(f"--batches must be at least 1, not {asked.batches}")
    captures = _train_captures(asked)
    try:
        need_torch("replay")
    except ModuleNotFoundError as error:
        raise UsageError(str(error)) from None
    loader = load_target(asked.target, asked.arguments)
    from annotate.capture.replaying import NoBatchError, replay, replay_samples
    from annotate.capture.sentences import say_written
    from annotate.capture.single_samples import Captured
    from annotate.hooks.loaders import describe

    samples = _samples(asked, captures, describe(loader))
    if samples is not None and samples.doubt:
        print(shown(f"annotate replay: {samples.doubt}"), file=sys.stderr)
    try:
        if samples is None:
            path = replay(loader, asked.logdir, asked.batches, lines=LINES[asked.lines])
        else:
            named = {index: Captured(**facts) for index, facts in samples.samples.items()}
            path = replay_samples(loader, asked.logdir, named, samples.usual, lines=LINES[asked.lines])
    except NoBatchError as error:
        print(shown(str(error)), file=sys.stderr)
        return 1
    print(shown(path), flush=True)
    if samples is None:
        say_written([path], Path(asked.logdir), None, asks=True)
        return 0
    for line in slowest.lines_about(path):
        print(shown(line))
    return 0


def _tune_worker(asked: argparse.Namespace) -> int:
    from annotate.tuning.rebuilding import NotTunable
    from annotate.tuning.serving import serve
    from annotate.tuning.windows import Step

    def find() -> Any:
        try:
            return find_target(asked.target, asked.arguments)
        except UsageError as error:
            raise NotTunable(str(error)) from None

    def make(found: Any) -> Any:
        try:
            return loader_of(found, asked.target)
        except UsageError as error:
            raise NotTunable(str(error)) from None

    return serve(find, make, Step(asked.step_ms, asked.step_cpu, asked.device), asked.change)


def _train_captures(asked: argparse.Namespace) -> list[slowest.Capture]:
    """Those that samples are named from; none where none is."""
    if asked.indices is not None and asked.slowest is not None:
        raise UsageError("give --indices or --slowest, not both")
    if asked.slowest is None and asked.indices is None and asked.capture is not None:
        raise UsageError("--from needs --slowest N: how many of its slowest samples to load")
    if asked.slowest is not None and asked.capture is None:
        raise UsageError("--slowest needs --from CAPTURE: the trace file whose slowest samples are meant")
    if asked.slowest is not None and asked.slowest < 1:
        raise UsageError(f"--slowest must be at least 1, not {asked.slowest}")
    try:
        return [] if asked.capture is None else slowest.train_captures(asked.capture)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _samples(
    asked: argparse.Namespace, captures: list[slowest.Capture], like: Mapping[str, Any]
) -> slowest.Named | None:
    """Samples to replay, with what captures say of them; None: batches are asked for. `like`: of which DataLoader."""
    if asked.slowest is None and asked.indices is None:
        return None
    if like.get("iterable"):
        raise UsageError(_no_index(asked, like.get("dataset", "the dataset")))
    known, usual, doubt = slowest.slow_samples(captures, like)
    if asked.indices is not None:
        return slowest.Named({index: known.get(index, {}) for index in asked.indices}, usual, doubt)
    if not known:
        no_index = (
            f"{asked.capture} has no slow samples with an index: they are known of captures with DataLoader workers "
            "and a dataset with __getitem__, where it is known whose they are"
        )
        raise UsageError(f"{doubt or no_index}. Name samples with --indices")
    return slowest.Named(dict(list(known.items())[: asked.slowest]), usual, doubt)


def _no_index(asked: argparse.Namespace, dataset: str) -> str:
    """What can be done with an iterable dataset instead."""
    words = ("python", "-m", "annotate", "replay", asked.target, "--logdir", asked.logdir)
    more = ("--batches", str(asked.batches), *(("--", *asked.arguments) if asked.arguments else ()))
    return (
        f"{dataset} is iterable, so its samples have no index and cannot be loaded again one by one. Replay its "
        f"first batches, whole: {shlex.join((*words, *more))}"
    )


def _indices(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"whole numbers with commas between them, such as 7,23, not {text!r}"
        ) from None


def load_target(target: str, arguments: Sequence[str] = ()) -> Any:
    """The loader that ``module:name`` names; a function is called.

    Raises:
        UsageError: it does not exist, or is not a DataLoader.
    """
    return loader_of(find_target(target, arguments), target)


def find_target(target: str, arguments: Sequence[str] = ()) -> Any:
    """What ``module:name``, or ``path/to/file.py:name``, names.

    The module finds in ``sys.argv`` what it would as a program that was started with `arguments`.

    Raises:
        UsageError: it does not exist.
    """
    module_name, separator, path = target.partition(":")
    if not separator or not module_name or not path:
        raise UsageError(f"{target!r} is not a target: write package.module:name, such as train:make_loader, or a file")
    if target == PLACEHOLDER:
        raise UsageError(
            f"put the place of your DataLoader for {PLACEHOLDER}, such as train:make_loader or train.py:make_loader: a "
            "function that returns it, or the DataLoader. Of one that is made inside of other code: "
            "annotate.replay(loader, DIR, indices=[...]) in that code, or in a notebook"
        )
    sys.argv[:] = [module_name, *arguments]
    found: Any = _script(module_name) if module_name.endswith(".py") else _module(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise UsageError(f"{module_name} has no {path!r}")
        found = getattr(found, name)
    return found


def _module(name: str) -> Any:
    """Raises UsageError where there is none."""
    if "/" in name:
        raise UsageError(f"{name!r} is neither a module nor a file: write package.module:NAME, or path/to/file.py:NAME")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise UsageError(f"there is no module {name!r} here or on the Python path") from None
        raise


def _script(file: str) -> Any:
    """A file, as a module: what it does only as ``__main__`` is not done. Its name need not be one of Python's.

    Raises UsageError where there is none.
    """
    path = Path(file).expanduser().absolute()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UsageError(f"there is no file {file}")
    if (folder := str(path.parent)) not in sys.path:
        sys.path.insert(0, folder)  # as where it is run as a program
    found = sys.modules[path.stem] = importlib.util.module_from_spec(spec)  # pickles find its classes there
    spec.loader.exec_module(found)
    return found


def loader_of(found: Any, target: str) -> Any:
    """`found`, or what it returns. Raises UsageError for what is no loader."""
    loader = found() if callable(found) and not hasattr(found, "dataset") else found
    if not hasattr(loader, "dataset"):
        raise UsageError(
            f"{target} is not a DataLoader but {in_short(loader)}: name one, or a function that returns one"
        )
    return loader


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, (UsageError, OSError)) and text:
        return text.partition("] ")[2] or text if text.startswith("[Errno") else text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
