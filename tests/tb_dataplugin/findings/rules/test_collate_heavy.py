from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.rules.collate_heavy import check
from tb_dataplugin.findings.stage_signals import CpuUse
from tests.tb_dataplugin.findings.cases import finding_in, handed_over, signals_of


def test_a_heavy_collate_is_told() -> None:
    assert finding_in(handed_over(100, collate=3000), "collate_heavy").gain_us_per_step == 3000


@pytest.mark.parametrize(
    ("source", "computes"),
    [
        ("np.maximum(part, np.exp(-d), out=part)", True),
        ("batch.append(torch.zeros(longest))", False),
        ("images = torch.stack(images)", False),
        ("w, p = line.split(); lexicon[w] = p.split()", True),
        ("counts[token] = counts.get(token, 0) + 1", True),
        ("x[row] = part", False),
    ],
)
def test_a_collate_that_computes_is_told_its_line_and_not_to_stack(source: str, computes: bool) -> None:
    signals = signals_of(handed_over(100, collate=3000))
    line = HotLine(f"`{source}` in Peaks.draw at train.py:9", "train.py:9", 0.9, source)
    found = check(replace(signals, stage_lines={"collate::default_collate": line}))
    assert isinstance(found, Finding)
    assert ("begin there" in found.advice, "torch.zeros" in found.code) == (computes, not computes)
    assert "after collate" not in found.advice


@pytest.mark.parametrize(
    ("source", "loops", "code"),
    [
        ("out.append(np.random.choice(self.nbr[v],self.fan,replace=False))", True, ""),
        ("for k,v in enumerate(u): f[k]=self.x[v]", True, "rows = array[indices]"),
        ("f[k] = self.x[v]", True, "rows = array[indices]"),
        ("inverse = [ids[v] for v in nodes]", True, ""),
        ("for k in range(n): batch[k] = pad(samples[k])", False, "torch.zeros"),
        ("batch[k] = samples[k]", False, "torch.zeros"),
        ("batch[k,:n]=samples[k]", False, ""),
        ("out.append(torch.stack(rows))", False, "torch.zeros"),
    ],
)
def test_a_line_with_a_part_of_it_leads_the_advice(source: str, loops: bool, code: str) -> None:
    """By far less than half, where it is the hottest."""
    signals = signals_of(handed_over(100, collate=3000))
    line = HotLine(f"`{source}` in Neighbors.hop at train.py:9", "train.py:9", 0.35, source, "numpy.random.choice")
    found = check(replace(signals, stage_lines={"collate::default_collate": line}))
    assert isinstance(found, Finding)
    assert (found.advice.startswith("35.0% of it is `") and "a loop in Python" in found.advice) is loops
    assert code in found.code and bool(found.code) is bool(code)


@pytest.mark.parametrize(
    ("source", "blocked", "words"),
    [
        ("out = [time.sleep(0.01) or s for s in samples]", 0.9, "That line sleeps"),
        ("out = [time.sleep(0.01) or s for s in samples]", 0.1, "That line sleeps"),
        ("out = [time.sleep(0.01) or s for s in samples]", None, "That line sleeps"),
        ("out.append(fetch(s))", 0.9, "That line is mostly blocked (storage,"),
        ("out.append(fetch(s))", 0.1, "That is a loop in Python"),
        ("out.append(fetch(s))", None, "That is a loop in Python"),
    ],
)
def test_a_line_that_waits_is_no_loop(source: str, blocked: float | None, words: str) -> None:
    signals = signals_of(handed_over(100, collate=3000))
    line = HotLine(f"`{source}` in collate at train.py:9", "train.py:9", 0.9, source, blocked=blocked)
    found = check(replace(signals, stage_lines={"collate::default_collate": line}))
    assert isinstance(found, Finding)
    assert words in found.advice and ("a loop in Python" in found.advice) is words.startswith("That is")


@pytest.mark.parametrize(
    ("source", "of_arrays"),
    [
        ("if p in s.v or hash(p)%3==0: out.append(s.v.setdefault(p,len(s.v)%8000+2)); i=j; break", False),
        ('t=normalize("NFKD",t.lower()); return "".join(c for c in t if not combining(c))', False),
        ("return [self.encode(text, 128) for text in texts]", False),
        ("words = text.lower().split()", False),
        ("out.append(np.random.choice(self.nbr[v],self.fan))", True),
        ("for i in range(n): total += dist[i, j]", True),
        ("part = np.maximum(part, np.exp(-d))", True),
    ],
)
def test_code_that_shows_no_arrays_is_advised_to_work_beforehand_and_not_on_arrays(
    source: str, of_arrays: bool
) -> None:
    signals = signals_of(handed_over(100, collate=3000))
    line = HotLine(f"`{source}` in Tok.wordpiece at train.py:9", "train.py:9", 0.9, source)
    found = check(replace(signals, stage_lines={"collate::default_collate": line}))
    assert isinstance(found, Finding)
    assert (" array" in found.advice) is of_arrays
    assert of_arrays or ("beforehand, once" in found.advice and "store" in found.advice)


def test_a_collate_function_of_the_users_without_a_line_is_not_told_to_pad() -> None:
    builder = handed_over(100, collate=3000)
    for event in builder.events:
        event["name"] = str(event.get("name")).replace("collate::default_collate", "collate::Neighbors")
    found = finding_in(builder, "collate_heavy")
    assert found.title.startswith("collate::Neighbors") and not found.code
    assert "mark its parts" in found.advice and "Return tensors of one shape" not in found.advice


def test_a_collate_function_of_an_installed_package_is_not_the_users_own() -> None:
    signals = signals_of(handed_over(100, collate=3000))
    (name,) = (row.stage.name for row in signals.stages if row.stage.kind == "collate")
    rows = tuple(
        replace(row, path=(*row.path[:-1], Stage("collate", "Collater"))) if row.stage.name == name else row
        for row in signals.stages
    )
    waits = tuple(
        replace(wait, name="collate::Collater", stage=Stage("collate", "Collater")) if wait.name == name else wait
        for wait in signals.waits_by_stage or ()
    )
    installed = "/v/lib/python3.11/site-packages/torch_geometric/loader/dataloader.py:24"
    for place, is_own in (("/home/me/train.py:9", True), (installed, False)):
        there = replace(
            signals, stages=rows, waits_by_stage=waits, stage_places={"collate::Collater": place}, stage_lines={}
        )
        found = check(there)
        assert isinstance(found, Finding)
        assert ("collate function of your own" in found.advice) is is_own
        assert ("runs code of torch_geometric, an installed package" in found.advice) is not is_own


def test_torchs_own_collate_without_a_line_is_advised_for_either_kind_of_samples() -> None:
    found = finding_in(handed_over(100, collate=3000), "collate_heavy")
    assert found.advice.startswith("Where samples are tensors or arrays of one shape") and not found.code
    assert "hold Python numbers or lists" in found.advice and "padded" not in found.advice


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("return torch.stack(batch, 0, out=out)", "torch/utils/data/_utils/collate.py:275"),
        ("return cls._new_using_fd_cpu(size)", "torch/storage.py:414"),
    ],
)
@pytest.mark.parametrize("workers", [0, 1])
def test_torchs_own_stack_is_advised_to_copy_less_and_not_to_stack(source: str, place: str, workers: int) -> None:
    builder = handed_over(100, collate=3000)
    signals = signals_of(builder)
    assert signals.loader is not None
    line = HotLine(f"`{source}` in collate_tensor_fn at {place}", place, 0.5, source)
    loader = replace(signals.loader, num_workers=workers)
    found = check(replace(signals, loader=loader, stage_lines={"collate::default_collate": line}))
    assert isinstance(found, Finding) and not found.code
    assert found.advice.startswith("Here torch copies each sample into the batch") and "uint8" in found.advice
    assert ("new shared memory" in found.advice) is bool(workers)
    assert "of one shape" not in found.advice and "begin there" not in found.advice


@pytest.mark.parametrize(("waited_us", "is_threads"), [(1_500.0, True), (100.0, False)])
def test_torchs_own_that_takes_long_at_times_without_a_cpu_has_not_too_many_bytes(
    waited_us: float, is_threads: bool
) -> None:
    signals = signals_of(handed_over(100, collate=3000))
    (row,) = (row for row in signals.stages if row.stage.kind == "collate")
    some = replace(row, count=30, p50_us=10.0, total_us=3000.0, cpu_use=CpuUse(3000 - waited_us, waited_us, 0.0, None))
    found = check(replace(signals, stages=tuple(some if one is row else one for one in signals.stages)))
    assert isinstance(found, Finding)
    assert found.advice.startswith("Half of the calls take 10.0 µs or less, so it is not what is put") == is_threads
