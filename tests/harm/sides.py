"""The two sides of a cell: the program without annotate, and the same program with it."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.harm.cells import Annotated, Stay
from tests.harm.program import Log


class Without:
    """Nothing of ours."""

    ours: Stay | None = None
    enters_first = False

    def mark(self, loader: Any) -> Any:
        return loader

    def batches(self, loader: Any) -> Any:
        return loader

    def enter(self) -> bool:
        return False

    def step(self) -> None:
        pass

    def leave(self, *exc: Any) -> None:
        pass

    def body(self) -> Any:
        return contextlib.nullcontext()

    def close(self) -> None:
        pass

    def take_out(self) -> None:
        pass


class With:
    """What a cell says, by the public names of annotate alone."""

    def __init__(self, annotated: Annotated, folder: str, log: Log) -> None:
        self._annotated = annotated
        self._folder = Path(folder)
        self._logdir = os.path.join(folder, "runs")  # noqa: PTH118
        self._log = log
        self._prof: Any = None
        self._steps_itself = False
        self._lines = io.StringIO()
        self._loader: Any = None
        self.ours = annotated.ours
        self.enters_first = annotated.enters_first

    def mark(self, loader: Any) -> Any:
        import annotate

        self._loader = loader
        if self._annotated.marks == "parts":
            annotate.dataset(loader.dataset)
            transform = getattr(loader.dataset, "transform", None)
            if transform is not None:
                annotate.compose(transform)
            loader.collate_fn = annotate.collate(loader.collate_fn)
        if self._annotated.marks == "auto":
            annotate.auto()
        if self._annotated.marks == "watch" and annotate.watch(loader, self._logdir, interval_s=0.1) is not loader:
            self._log("another loader")
        if self._annotated.marks == "run":
            self._launch()
        if self._annotated.marks == "loader" and annotate.loader(loader) is not loader:
            self._log("another loader")
        if self._annotated.monitor:
            annotate.monitor(loader, every=2, file=self._lines)
        return loader

    def _launch(self) -> None:
        """What sitecustomize does in each process of `tb-dataplugin run`."""
        from annotate.launch.site import _annotate_watch

        order = {"logdir": self._logdir, "wait": 0, "active": 2, "standby": False}
        (self._folder / "order.json").write_text(json.dumps(order))
        os.environ[_annotate_watch.FOLDER] = str(self._folder)
        _annotate_watch.install()

    def _take_out_launch(self) -> None:
        from annotate.launch.site import _annotate_watch

        _annotate_watch.disarm()
        del os.environ[_annotate_watch.FOLDER]
        notes = self._folder / f"{os.getpid()}.json"
        self._log("launched", json.loads(notes.read_text())["state"] if notes.exists() else "asleep")

    def batches(self, loader: Any) -> Any:
        stays = self.ours is not None and self.ours.leave is None
        if self._prof is not None and stays and self._annotated.marks == "steps":
            self._steps_itself = True
            return self._prof.steps(loader)
        return loader

    def enter(self) -> bool:
        """Enter ours; False: it refused, as it may where another profiler is at work."""
        import annotate

        # A fault in a worker must be met: of so many steps, one has a batch that was asked for in the open window.
        active = 8 if self._annotated.fault else 2
        # `tests/annotate/test_verdict.py` has the verdict, which takes a second of each cell.
        prof = annotate.profile(self._logdir, wait=1, warmup=1, active=active, verdict=False)
        try:
            prof.__enter__()
        except RuntimeError as error:
            self._log("refused", str(error))
            return False
        self._prof = prof
        return True

    def step(self) -> None:
        if self._prof is not None and not self._steps_itself:
            self._prof.step()

    def leave(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        prof, self._prof = self._prof, None
        if prof is not None:
            prof.__exit__(kind, error, traceback)
            self._log("trace files", len(prof.trace_files), len(list(Path(self._logdir).glob("*"))))

    def body(self) -> Any:
        import annotate

        return annotate.stage("user", "body") if self._annotated.marks == "parts" else contextlib.nullcontext()

    def close(self) -> None:
        import annotate

        if self._annotated.monitor:
            annotate.monitor(self._loader, every=0)
            self._log("lines", self._lines.getvalue().count("\n"))
        self._loader = None

    def take_out(self) -> None:
        import annotate

        if not self._annotated.stays:
            annotate.off()
        if self._annotated.marks == "run":
            self._take_out_launch()
