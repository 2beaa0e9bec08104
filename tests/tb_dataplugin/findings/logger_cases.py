"""A program whose step logs in two lines, and whose logger has a thread that holds Python's lock."""

from __future__ import annotations

from tests.tb_dataplugin.findings.step_cases import FORWARD, MAIN, TORCH, TRAIN, Frame
from tests.trace_builder import TraceBuilder

LOGGER = "/lib/site-packages/tensorboard/summary/writer/event_file_writer.py"
IMAGES: Frame = ("SummaryWriter.add_images", f"{TORCH}/utils/tensorboard/writer.py", 675)
RUNNING, LOCKED, LOCKED_BY_LOGGER = 0, 2, 3


def step_line(line: int) -> Frame:
    return ("step", TRAIN, line)


FIRST, SECOND, MODEL = (MAIN, step_line(40), IMAGES), (MAIN, step_line(41), IMAGES), (MAIN, step_line(36), FORWARD)
HANDS_OVER = (MAIN, step_line(41))


def logging_run(*, sampled: str = LOGGER, called: str = "board.add_images", waits: int = 35) -> TraceBuilder:
    """Ten steps of 10 ms. Of each, 1 ms waits for data, 1 ms is the model, 2 ms are line 40 and 6 ms line 41; for
    `waits` hundredths of the step line 41 waits for Python's lock, within an operator.

    Args:
        sampled: the file that the thread runs; "": its stacks were not sampled.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}], host={"cores": 8})
    stacks, states = [], []
    for start in range(0, 100_000, 10_000):
        builder.step(start, 10_000).wait(start, 1000, "wait::DataLoader")
        builder.operator(start + 10_000 - 100 * waits, 100 * waits, "aten::detach")
        own = [(MAIN,)] * 10 + [FIRST] * 20 + [MODEL] * 10 + [SECOND] * (60 - waits)
        stacks += [*own, *[HANDS_OVER] * waits]
        states += [RUNNING] * len(own) + [LOCKED] * waits
    times = [50.0 + 100 * number for number in range(1000)]
    sources = {(TRAIN, line): f'{called}("{line}", out, n)' for line in (40, 41)}
    builder.sampled(times, [LOCKED_BY_LOGGER if state else RUNNING for state in states], holders=["Thread-1"])
    builder.stacks(times, stacks, states=states, sources=sources)
    if sampled:
        thread = [("_bootstrap", "/lib/python3.11/threading.py", 1), ("_AsyncWriterThread.run", sampled, 244)]
        builder.stacks(times, [thread] * 1000, tid=9, holder="Thread-1", states=[RUNNING] * 1000, sources=sources)
    return builder
