"""How large the timeline's pictures are and how fast they come, of a generated capture with a million events.

    python benchmarks/timeline.py [--events 1000000] [--zooms 200] [--check]

The capture: steps, a training thread, 8 DataLoader workers with nested stages, host counters, kernels on 4 streams. It
is written as a trace file, analysed and cached; then TensorBoard's own WSGI application is asked for pictures, in
process, as a page that is 1250 (and, at twice the density, 2500) pixels wide asks. The first picture is also taken with
nothing in memory, as after a restart. `--check` exits with status 1 when a budget is exceeded.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from types import SimpleNamespace

from tensorboard.backend import application
from werkzeug.test import Client

from tb_dataplugin.cache import Store
from tb_dataplugin.tb.analyst import Answer, Request, answer_to
from tb_dataplugin.tb.logdirs import LogDir
from tb_dataplugin.tb.plugin import DataPipelinePlugin
from tb_dataplugin.tb.runs import CaptureLibrary

MAX_BYTES, MAX_S = 300_000, 0.2
WORKERS, CORES = 8, 16
STEP_US = 100_000.0
KERNELS = [
    f"void at::native::elementwise_kernel<128, {n}, at::native::gpu_kernel_impl<at::native::Op{n}>>" for n in range(80)
]


def events(count: int) -> list[dict[str, object]]:
    """Half of them kernels, half of them stages; kernels are 1 to 40 us long, and so are the times between them."""
    rng = random.Random(1)
    found: list[dict[str, object]] = []

    def span(name: str, category: str, pid: object, tid: object, start: float, length: float, **args: object) -> None:
        found.append(
            {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length, "args": args}
        )

    steps = max(1, count // 8000)
    for number in range(steps):
        begun = number * STEP_US
        span(f"ProfilerStep#{number}", "user_annotation", 1, 1, begun, STEP_US)
        span("wait::DataLoader", "user_annotation", 1, 1, begun + 10, 20_000)
        at = [begun + 22_000.0] * 4
        for kernel in range(4000):
            stream = kernel % 4
            length = rng.uniform(1, 40)
            span(
                rng.choice(KERNELS),
                "kernel",
                0,
                7 + stream,
                round(at[stream], 3),
                round(length, 3),
                device=0,
                stream=7 + stream,
            )
            at[stream] += length + rng.uniform(1, 36)
        for worker in range(WORKERS):
            start = begun
            for sample in range(100):
                pid, length = 100 + worker, rng.uniform(500, 980)
                facts = {"batch": number * WORKERS + worker, "index": sample}
                span("sample::Photos", "user_annotation", pid, pid, round(start, 3), round(length, 3), **facts)
                for part, (name, share) in enumerate(PARTS):
                    span(
                        name,
                        "user_annotation",
                        pid,
                        pid,
                        round(start + length * part / 4, 3),
                        round(length * share, 3),
                        **facts,
                    )
                start += 1000
    for tick in range(int(steps * STEP_US / 100_000)):
        values = {f"core {core}": round(rng.uniform(0, 100), 1) for core in range(CORES)}
        found.append({"ph": "C", "name": "host::cpu", "pid": 1, "ts": tick * 100_000, "args": values})
        values = {"read_bytes_per_s": rng.randrange(10**9)}
        found.append({"ph": "C", "name": "host::disk", "pid": 1, "ts": tick * 100_000, "args": values})
    return found


PARTS = (("read::file", 0.2), ("decode::PIL.Image", 0.24), ("transform::RandomCrop", 0.2), ("transform::Mask", 0.22))


def write_trace(path: Path, count: int) -> int:
    """Returns how many events there are."""
    made = events(count)
    for worker in range(WORKERS):
        title = {"name": f"DataLoader worker {worker}"}
        made.append({"ph": "M", "name": "process_name", "pid": 100 + worker, "args": title})
    workers = [{"loader": 0, "worker": n, "pid": 100 + n, "started_us": 0, "dropped_spans": 0} for n in range(WORKERS)]
    about = {
        "version": 1,
        "mode": "train",
        "loaders": [{"num_workers": WORKERS, "batch_size": 100}],
        "workers": workers,
    }
    path.write_text(json.dumps({"schemaVersion": 1, "dataPipeline": about, "traceEvents": made}))
    return len(made)


class Here:
    """Analyses in this process."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def analyse(self, path: Path, name: str) -> Answer:
        return answer_to(Request(str(path), name), (self.store,))

    def rest(self) -> None: ...


def host(logdir: Path, store: Store) -> tuple[Client, float]:
    """TensorBoard's application with everything analysed, and the seconds that took."""
    library = CaptureLibrary((LogDir("", logdir),), now=lambda: time.time() + 3600)
    library.start = lambda: None  # type: ignore[method-assign]
    plugin = DataPipelinePlugin(SimpleNamespace(logdir=str(logdir)), library)
    client = Client(application.TensorBoardWSGI([plugin]))
    begun = time.perf_counter()
    library.scan()
    while library.analyse_next(Here(store)):
        pass
    return client, time.perf_counter() - begun


class Picture:
    """One answer of the route: seconds, bytes as sent and as JSON, boxes."""

    def __init__(self, client: Client, query: str) -> None:
        path = f"/data/plugin/data_pipeline/timeline?id=big&{query}"
        begun = time.perf_counter()
        answer = client.get(path, headers={"Accept-Encoding": "gzip"})
        sent = answer.get_data()
        self.seconds = time.perf_counter() - begun
        self.sent = len(sent)
        plain = client.get(path).get_data()
        self.plain = len(plain)
        lanes = json.loads(plain)["lanes"]
        self.boxes = sum(sum(lane.get("boxes", ())) for lane in lanes)
        self.alone = sum(sum(lane.get("boxes", ())) for lane in lanes if "merged" not in lane)
        assert answer.status_code == 200


def line(name: str, pictures: list[Picture]) -> str:
    """Median and worst of some pictures."""
    ms = sorted(1e3 * one.seconds for one in pictures)
    sent, plain, boxes = ([getattr(one, field) for one in pictures] for field in ("sent", "plain", "boxes"))
    return (
        f"| {name:<34} | {median(ms):6.1f} | {ms[-1]:6.1f} | {median(sent) / 1e3:6.1f} | {max(sent) / 1e3:6.1f} "
        f"| {median(plain) / 1e3:6.1f} | {max(plain) / 1e3:6.1f} | {median(boxes):7.0f} |"
    )


def zooms(client: Client, end_us: float, count: int, width: int) -> list[Picture]:
    """Windows of any length from the whole to 10 us, anywhere."""
    rng = random.Random(2)
    found = []
    for _ in range(count):
        length = max(10.0, end_us * 10 ** rng.uniform(-6, 0))
        start = rng.uniform(0, end_us - length)
        found.append(Picture(client, f"width={width}&start_us={start:.3f}&end_us={start + length:.3f}"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--zooms", type=int, default=200)
    parser.add_argument("--check", action="store_true", help="fail when a budget is exceeded")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logdir, store = Path(folder) / "logdir", Store(Path(folder) / "cache")
        logdir.mkdir()
        count = write_trace(logdir / "big.pt.trace.json", arguments.events)
        client, seconds = host(logdir, store)
        entry = next(store.folder.iterdir()).stat().st_size
        print(f"{count:,} events, trace {(logdir / 'big.pt.trace.json').stat().st_size / 1e6:.0f} MB; "
              f"analysed and cached in {seconds:.1f} s; entry {entry / 1e6:.1f} MB")  # fmt: skip
        client, seconds = host(logdir, store)
        print(f"found in the cache, with the tab's start: {1e3 * seconds:.1f} ms\n")
        report(client, logdir, store, arguments)


def report(client: Client, logdir: Path, store: Store, arguments: argparse.Namespace) -> None:
    print("| picture                            | ms     | worst  | kB sent | worst | kB JSON | worst | boxes   |")
    print("|------------------------------------|--------|--------|--------|--------|--------|--------|---------|")
    worst: list[Picture] = []
    for width in (1250, 2500):
        cold = [Picture(host(logdir, store)[0], f"width={width}") for _ in range(5)]
        print(line(f"first, nothing in memory, {width} px", cold))
        warm = [Picture(client, f"width={width}") for _ in range(5)]
        print(line(f"first again, {width} px", warm))
        window = json.loads(client.get("/data/plugin/data_pipeline/timeline?id=big&width=100").get_data())
        found = zooms(client, window["window_end_us"], arguments.zooms, 2 * width)
        print(line(f"{len(found)} zooms, {2 * width} px", found))
        worst += [*cold, *warm, *found]
    late, large = max(one.seconds for one in worst), max(one.sent for one in worst)
    print(f"\nworst: {1e3 * late:.1f} ms (budget {1e3 * MAX_S:.0f}), {large:,} bytes sent (budget {MAX_BYTES:,})")
    if arguments.check and (late > MAX_S or large > MAX_BYTES):
        sys.exit("a budget is exceeded")


if __name__ == "__main__":
    main()
