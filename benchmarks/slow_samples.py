"""Slow samples of known causes, captured and replayed: does the replay say why each was slow?

    python -m benchmarks.slow_samples [--folder DIR] [--megabytes 48]

Among samples of some hundredths of a millisecond are planted: files read in small pieces that are not in the page
cache, large files that are not, and that are, and samples that compute. DIR has to be on a disk: files in memory are
never cold. Files are removed from the page cache before the capture, which is checked.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Final

import torch
from torch.utils.data import DataLoader, Dataset

import annotate
import tb_dataplugin
from tb_dataplugin.storage.page_cache import can_be_emptied, drop

ROOT: Final = Path(__file__).resolve().parent.parent
SAMPLES: Final = 160
BATCH: Final = 4
FIRST: Final = 40
"""Sample from which on something is planted: those before are the warm-up's."""
PLANTED: Final = (
    "cold",
    "computes",
    "cold pieces",
    "warm",
    "computes",
    "cold pieces",
    "warm",
    "computes",
    "cold",
    "warm",
    "computes",
    "cold pieces",
    "cold pieces",
)
EXPECTED: Final = {
    "cold pieces": ("storage",),
    "cold": ("storage", "itself"),
    "warm": ("itself",),
    "computes": ("itself",),
}
"""A large file is slow to read from anywhere, and slower where it is not in the page cache: both are true of it."""
PIECES: Final = 256


def planted() -> dict[int, str]:
    """Dataset index -> what makes it slow."""
    return {FIRST + 9 * number: what for number, what in enumerate(PLANTED)}


class Files(Dataset[int]):
    def __init__(self, folder: Path) -> None:
        self.paths = [folder / f"{index}.bin" for index in range(SAMPLES)]
        self.slow = planted()

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> int:
        if self.slow.get(index) == "cold pieces":
            return read_pieces(self.paths[index])
        with self.paths[index].open("rb") as file:
            length = len(file.read())
        return compute(length) if self.slow.get(index) == "computes" else length


def read_pieces(path: Path) -> int:
    """As an archive or an array in a file is read: little, from many places."""
    length, step = 0, path.stat().st_size // PIECES
    with path.open("rb", buffering=0) as file:
        for number in range(PIECES):
            file.seek(number * step)
            length += len(file.read(4096))
    return length


def compute(number: int) -> int:
    for _ in range(1_500_000):
        number = (number * 31 + 7) % 1_000_003
    return number


def make_loader() -> DataLoader[int]:
    """For `python -m annotate replay`, which leaves the folder in ``sys.argv``."""
    return DataLoader(Files(Path(sys.argv[1])), batch_size=BATCH, num_workers=2)


def write(folder: Path, megabytes: int) -> None:
    for index in range(SAMPLES):
        large = planted().get(index, "computes") != "computes"
        (folder / f"{index}.bin").write_bytes(b"\1" * (megabytes << 20 if large else 4096))


def prepare(folder: Path) -> None:
    """Every file in the page cache, but the cold ones."""
    for index in range(SAMPLES):
        (folder / f"{index}.bin").read_bytes()
    cold = [folder / f"{index}.bin" for index, what in planted().items() if what.startswith("cold")]
    if can_be_emptied(cold) != "yes":
        sys.exit(f"files in {folder} stay in the page cache: choose a folder on a disk")
    drop(cold)  # looking may have read some of it again


def capture(folder: Path, logdir: Path) -> None:
    loader = annotate.loader(DataLoader(Files(folder), batch_size=BATCH, num_workers=2))
    last = max(planted()) // BATCH + 1
    with annotate.profile(logdir, wait=1, warmup=1, active=last) as prof:
        for _ in prof.steps(loader):
            torch.ones(4) + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build", help="on a disk; what is written goes again")
    parser.add_argument("--megabytes", type=int, default=48)
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True, parents=True)
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        write(folder, options.megabytes)
        prepare(folder)
        warnings.simplefilter("ignore")
        capture(folder, folder / "run")
        command = [sys.executable, "-m", "annotate", "replay", "benchmarks.slow_samples:make_loader"]
        asked = ["--logdir", str(folder / "replay"), "--slowest", str(len(PLANTED)), "--from", str(folder / "run")]
        subprocess.run([*command, *asked, "--", str(folder)], cwd=ROOT, check=True)
        return judge(folder / "replay")
    finally:
        shutil.rmtree(folder)


def judge(logdir: Path) -> int:
    (report,) = tb_dataplugin.read_report(logdir)
    right = 0
    print("| sample | planted | in training, ms | alone, ms | from storage, ms | what is said |")
    print("|-|-|-|-|-|-|")
    for sample in report.replayed_samples:
        what = planted().get(sample.index, "nothing")
        right += sample.cause in EXPECTED.get(what, ())
        times = (sample.captured_us, sample.warm_us, sample.cold_us if sample.HasField("cold_us") else None)
        shown = " | ".join("" if time is None else f"{time / 1000:.1f}" for time in times)
        print(f"| {sample.index} | {what} | {shown} | {sample.text.split('. ')[0]} |")
    print(f"\n{right} of {len(PLANTED)} planted samples are named with their cause.")
    return 0 if right == len(PLANTED) else 1


if __name__ == "__main__":
    sys.exit(main())
