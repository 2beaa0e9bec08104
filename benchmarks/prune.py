"""How small `tb-dataplugin prune` makes traces: ``python benchmarks/prune.py TRACE...``."""

from __future__ import annotations

import gzip
import sys
import time
from pathlib import Path

from tb_dataplugin.pipeline import analyse
from tb_dataplugin.reader.kineto import read_parts, trace_from_json
from tb_dataplugin.sharing.pruning import prune
from tb_dataplugin.units import data_size


def main(paths: list[str]) -> int:
    print(f"{'before':>10} {'after':>10} {'':>8} {'seconds':>8}  report  file")
    all_same = True
    for path in map(Path, paths):
        parts = read_parts(path)
        began = time.perf_counter()
        text = b"".join(prune(parts))
        seconds = time.perf_counter() - began
        before, after = path.stat().st_size, len(gzip.compress(text))
        whole, pruned = (analyse(trace).capture for trace in (parts.trace, trace_from_json(text, path)))
        same = whole == pruned
        all_same &= same
        ratio = f"{before / after:.1f}x"
        print(
            f"{data_size(before):>10} {data_size(after):>10} {ratio:>8} {seconds:>8.2f}  "
            f"{'same' if same else 'DIFFERS':7} {path.name}"
        )
    return 0 if all_same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
