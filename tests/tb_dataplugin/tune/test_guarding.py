from __future__ import annotations

from pathlib import Path

from tb_dataplugin.tune.guarding import Free, free_now, refusal
from tb_dataplugin.tune.running import Window
from tb_dataplugin.tune.setting import Changes
from tests.tb_dataplugin.tune.made_up_loops import FACTS

SEEN = Window(10, 1.0, 0.5, worker_bytes=1e9, batch_bytes=1e8)


def test_a_containers_limit_counts_where_it_is_less(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   4000000 kB\n")
    assert free_now(tmp_path, tmp_path, tmp_path).memory == 4000000 * 1024
    (tmp_path / "memory.max").write_text("2000\n")
    (tmp_path / "memory.current").write_text("500\n")
    assert free_now(tmp_path, tmp_path, tmp_path).memory == 1500
    (tmp_path / "memory.max").write_text("max\n")
    assert free_now(tmp_path, tmp_path, tmp_path).memory == 4000000 * 1024
    assert free_now(tmp_path / "no", tmp_path / "no", tmp_path / "no") == Free(None, None)


def test_workers_and_batches_ahead_have_to_fit() -> None:
    four = Changes.of({"num_workers": 4})
    assert refusal(four, FACTS, SEEN, Free(1e10, 1e10)) == ""
    assert "4.90 GB of memory, and 5.00 GB are free" in refusal(four, FACTS, SEEN, Free(5e9, 1e10))
    assert "900 MB of /dev/shm" in refusal(four, FACTS, SEEN, Free(1e10, 1e9))
    assert refusal(Changes(), FACTS, SEEN, Free(1.0, 1.0)) == ""
    assert refusal(four, FACTS, SEEN, Free(None, None)) == ""
