"""Fuzz the reader and all that follows it with damaged traces.

    python -m tests.fuzz --seconds 60                one core, nothing to install
    python -m tests.fuzz --seconds 60 --atheris      guided by coverage; needs `pip install atheris`
    python -m tests.fuzz --seconds 600 --structure   what hostile structure (depth, fan-out, counts) costs, not bytes

Every input that breaks a law is kept in the folder of --keep, one (the smallest) per place in the code where it broke.
`python -m tests.fuzz FILE...` checks files again. Exit status 1 when a law was broken.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from zlib import crc32

from tests.fuzz.mutate import mutate

EVERYTHING_ONE_IN = 3
"""Analyses take ten times as long as reading; of so many inputs one goes all the way."""
DAMAGE_ONE_IN = 4
"""Of so many inputs one is a good trace with one damaged element."""
POOL = 400


class Findings:
    """Inputs that broke a law, by place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}
        self.count = 0

    def add(self, data: bytes, error: BaseException) -> None:
        self.count += 1
        place = _place(error)
        if len(data) >= self._sizes.get(place, sys.maxsize):
            return
        if place not in self._sizes:
            print(f"\nFOUND {place}: {str(error)[:300]}", flush=True)
        self._sizes[place] = len(data)
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"{crc32(place.encode()):08x}.input").write_bytes(data)
        (self._folder / f"{crc32(place.encode()):08x}.txt").write_text("".join(traceback.format_exception(error)))


def _place(error: BaseException) -> str:
    """The kind of the error, and the innermost line of ours that it passed."""
    passed = traceback.extract_tb(error.__traceback__)
    ours = [one for one in passed if "tb_dataplugin" in one.filename]
    chosen = ours[-1] if ours else passed[-1]
    return f"{type(error).__name__} at {Path(chosen.filename).name}:{chosen.lineno}"


def fuzz(seconds: float, number: int, findings: Findings) -> int:
    """Mutate the seeds, and what came out of that, for so long. Gives how many inputs were checked."""
    from tests.fuzz.laws import Checker
    from tests.fuzz.seeds import seeds

    random, checker, good = Random(number), Checker(), seeds()
    pool = [seed.text for seed in good]
    for text in pool:
        _run(partial(checker.check, text), text, findings)
    count, begin, told = 0, time.monotonic(), time.monotonic()
    while time.monotonic() - begin < seconds:
        count += 1
        if count % DAMAGE_ONE_IN == 0:
            seed = random.choice(good)
            row, text = seed.damaged(random)
            _run(partial(checker.check_damage, seed, row, text), text, findings)
        else:
            text = mutate(random.choice(pool), random, random.choice(pool))
            everything = random.randrange(EVERYTHING_ONE_IN) == 0
            _run(partial(checker.check, text, everything), text, findings)
            if random.randrange(20) == 0 and len(text) < 30000:
                pool.append(text)
                if len(pool) > POOL:
                    del pool[random.randrange(len(good), POOL)]
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(
                f"{told - begin:.0f} s: {count} inputs, {checker.unreadable} no traces, {findings.count} broke a law",
                flush=True,
            )
    return count


def _run(check: Callable[[], None], data: bytes, findings: Findings) -> None:
    try:
        check()
    except Exception as error:
        findings.add(data, error)


def fuzz_by_coverage(seconds: float, number: int, findings: Findings, corpus: Path) -> None:
    """The same, with inputs that reach new code kept in `corpus` and mutated further. Ends the process."""
    import atheris

    with atheris.instrument_imports(include=["tb_dataplugin"]):
        from tests.fuzz.laws import Checker
    from tests.fuzz.seeds import seeds

    checker, good = Checker(), [seed.text for seed in seeds()]
    corpus.mkdir(parents=True, exist_ok=True)
    for place, text in enumerate(good):
        (corpus / f"seed{place}").write_bytes(text)

    def one(data: bytes) -> None:
        _run(lambda: checker.check(data, crc32(data) % EVERYTHING_ONE_IN == 0), data, findings)

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        return mutate(data, random, random.choice(good))[:most]

    options = [
        f"-max_total_time={int(seconds)}",
        f"-seed={number}",
        "-max_len=131072",
        "-timeout=600",
        "-rss_limit_mb=0",
    ]
    atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", str(corpus)], one, custom_mutator=mutator)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="check these instead of fuzzing")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="folder for inputs that break a law")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"), help="folder of atheris's own inputs")
    parser.add_argument("--atheris", action="store_true", help="guided by coverage")
    parser.add_argument("--structure", action="store_true", help="measure hostile structure instead of damaging bytes")
    options = parser.parse_args()
    findings = Findings(options.keep)
    if options.files:
        from tests.fuzz.laws import Checker

        with Checker() as checker:
            for path in options.files:
                checker.check(path.read_bytes())
        return 0
    if options.structure:
        from tests.fuzz.structure import fuzz_structure

        return 1 if fuzz_structure(options.seconds, options.seed, options.keep) else 0
    if options.atheris:
        fuzz_by_coverage(options.seconds, options.seed, findings, options.corpus)
    count = fuzz(options.seconds, options.seed, findings)
    print(f"{count} inputs in {options.seconds:.0f} s; {findings.count} broke a law", flush=True)
    return 1 if findings.count else 0


if __name__ == "__main__":
    sys.exit(main())
