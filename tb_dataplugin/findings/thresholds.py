"""Every threshold, its unit, and why it has this value."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.worker_costs import HIDDEN_THREADS as HIDDEN_THREADS
from tb_dataplugin.analyses.worker_costs import NO_CPU as NO_CPU

INPUT_BOUND: Final = 0.05
"""Share of the window that data wait costs, from which data are worth working on. xprof calls 5 % of the step
moderately, 20 % highly input-bound; torch_tb_profiler advises from 5 %."""

HEALTHY: Final = 0.02
"""Share of the window that data wait costs, below which a loader counts as healthy: nothing about it is urgent."""

HIGHLY_INPUT_BOUND: Final = 0.20
"""Share of the window; xprof's second threshold."""

DEVICE_BUSY: Final = 0.95
"""Share of the window. Above it, no change around the device can gain more than 5 %: below what runs differ by."""

ONE_REASON: Final = 0.05
"""Share of the window below which no cause of idle time is *the* reason: removing it gains less than runs differ by."""

LEADING_STAGE: Final = 0.25
"""Share of the data wait. A stage below it cannot gain a third even if it took no time at all (Amdahl: 1 / 0.75)."""

ONE_CALL: Final = 0.5
"""Share of a stage's time that one call of several has, from which the stage is an outlier and not a habit."""

HIDDEN_DECODE: Final = 0.20
"""Share of a transform's time that is decoding in disguise, from which its name misleads."""

WORTH_A_WORD: Final = 0.001
"""Share of the window below which a cause of idle time is not mentioned: no change of it could be measured."""

WORKERS_BUSY: Final = 0.8
"""Mean share of the window that workers are busy, from which they are what batches wait for. The rest is the start of
an epoch and the hand-over of batches, which a fifth of the window leaves room for."""

WORKERS_SPARE: Final = 0.5
"""The same, below which they have time to spare: half as many could do their work."""

MOSTLY_UNRECORDED: Final = 0.5
"""Share of the data wait for batches without a record, from which what the rest was spent on says little."""

MOSTLY_READY: Final = 0.5
"""Share of the data wait that is spent on batches which were finished before, from which building batches is not what
the training thread waits for."""

MOSTLY_BUILT: Final = 0.5
"""Share of the data wait that the stages which build batches caused, from which building them is the bottleneck even
where each batch was finished when it was asked for: its worker could not begin with the next one sooner."""

HARDLY_BUILT: Final = 0.1
"""The same, below which building them limits nothing: faster stages would save no more than that."""

WORKERS_STARVED: Final = 0.10
"""Mean share of the window in which workers are starved, from which a deeper queue gives them work."""

CPU_SATURATED: Final = 0.9
"""Share of the time that the CPUs which the process may use are busy, from which more processes only share them."""

CPU_FREE: Final = 0.8
"""The same, below which there is room for another worker. In between nothing is claimed."""

ALL_CACHED: Final = 0.99
"""Of the bytes that reads returned, from which all came from memory: faster storage would change nothing."""

ONE_LINE: Final = 0.5
"""Share of a stage, or of a part of the step, that its hottest line has, from which advice goes by that line."""

WORTH_WORKERS: Final = 1.15
"""How many times as many batches more DataLoader workers build at least, to be worth trying: windows differ by less."""

MOSTLY_WORKERS: Final = 0.5
"""Share of the CPU time of all others than the training process that DataLoader workers have, from which it is they,
and not other programs, who have the CPUs that a training step waits for; below, both are named."""

SEVERAL_EPOCHS: Final = 2
"""Starts of epochs in a window, from which they are a part of its time per step. With fewer, chance decides which
window has one.
"""

EPOCH_START: Final = 0.05
"""Share of the window that waits after ``iter(loader)`` have, from which they are worth a change (as INPUT_BOUND)."""

ONCE_PER_WORKER: Final = 3.0
"""Times the usual build time that the first batch of a new DataLoader worker takes, from which it does something that
later batches find done: an import, an index, a connection."""

COPIES: Final = 0.01
"""Share of the window that the device loses to copies from the host, from which they are worth one line of code."""

HEAD_OF_LINE: Final = 0.25
"""Share of the data wait during which a later batch was finished, from which order is what the run pays for."""

SHRINKS: Final = 0.5
"""Output bytes over input bytes of a transform, up to which doing it earlier halves the work of those before it."""

GROWS: Final = 3.5
"""Output bytes over input bytes of a transform, from which it turns bytes into 32-bit numbers (4, or a bit less)."""

EARLIER_WORTH: Final = 0.10
"""Share of the data wait that the transforms before a shrinking one have, from which moving it is worth the trouble."""

TINY_CALL_US: Final = 500.0
"""Mean self time of a call, microseconds, up to which a transform is small: a batched one pays per batch what it pays
per sample for Python, dispatch and allocation. These take tens of microseconds for each operator, so that a longer call
is mostly work, which no batch saves, or many operators."""

WORK_US_PER_BYTE: Final = 0.005
"""CPU time for each byte that a small transform gets or returns, up to which it may be work and not the overhead of the
call: ten times a copy (`COPY_US_PER_BYTE`), as scaling or blurring a picture takes."""

MOSTLY_OVERHEAD: Final = 0.5
"""Part of a call beyond that, from which it is mostly overhead."""

TINY_TOGETHER: Final = 0.25
"""Share of the data wait that the overhead of small transforms has, from which batching can gain a third (Amdahl)."""

HEAVY_PART: Final = 0.15
"""Share of the data wait from which collate, or the transfer from worker to training thread, gets separate advice."""

HAND_OVER_US: Final = 1000.0
"""Mean wait of a training thread whose batch was ready, up to which it is the price of ``next()`` itself: about 0.7 ms
with workers on the machines where it was measured."""

WAY_BYTES_PER_S: Final = 1e8
"""A batch travels at least as fast as this, from shared memory filled to tensors unpacked: a slower one waits for
something else than its bytes. 12 MB took 20 ms where it was measured."""

SMALL_READ_BYTES: Final = 2**20
"""Mean bytes per read below which opening and seeking cost more than reading (DFAnalyzer's limit)."""

UNEVEN: Final = 1.5
"""Busy time of the busiest worker over the mean of all, from which the others wait for it."""

LEAST_BATCHES: Final = 3.0
"""Batches per worker in the window, on average, from which busy times are the worker's and not a single batch's."""

SLOW_SAMPLES_TOGETHER: Final = 0.10
"""Share of the data wait that outliers cost at most, from which they are worth naming."""

HOST_LATE: Final = 0.10
"""Share of the window lost because the host launches too late, from which capturing or fusing operators pays."""

DRAINED: Final = 0.05
"""Share of the window lost after synchronising calls, from which the calls are worth removing (as INPUT_BOUND)."""

LONG_PAUSE_US: Final = 1000.0
"""Idle time in Python within one gap, microseconds, from which it is a separate activity (logging, a checkpoint)
and not the interpreter between two operators."""

DISK_SATURATED: Final = 0.95
"""Share of the time that a disk has requests in flight, from which it may have no more to give. One that serves several
at once may: so it is said with less certainty."""

MOSTLY_BLOCKED: Final = 0.5
"""Share of the build time in which workers are blocked, and share of the bytes that come from storage, from which
storage may be the limit whatever the number of workers."""

MUCH_COLLECTING: Final = 0.10
"""Share of the time in which batches are made, from which Python's garbage collector is worth a change (as INPUT_BOUND
twice: some collecting is never got rid of)."""

MUCH_IN_KERNEL: Final = MUCH_COLLECTING
"""Share of the build time in which page faults are served, from which memory is worth a change: likewise."""

LIMIT_WORTH_A_WORD: Final = 0.05
"""Share of a part of the time, from which a limit of it is named: a smaller one may be chance in a hundred samples."""

HOT_LINE: Final = 0.2
"""Share of a stage's time that one line has, from which a finding names it: below, the stage has no line that leads."""

LOCK: Final = 0.05
"""Share of the window that the training thread waits for Python's lock, from which that is worth a change (as
INPUT_BOUND). The lower end of its 95% interval must be above half of it: a few samples may meet short waits."""

LOCK_LEADS: Final = 0.3
"""Share of the time of a cause spent waiting for Python's lock, from which that has to go first: more workers, a deeper
queue or a thread more are judged anew without it."""

ONE_HOLDER: Final = 0.5
"""Share of the waits for the lock during which one thread held it, from which the finding names it."""

FEWEST_SAMPLES: Final = 30
"""Of the training thread in the window, from which shares of it are said, each with its 95% interval: what a share
must exceed is compared with the interval's lower end, so chance is allowed for."""

MODELS_WORK: Final = 0.5
"""Share of the window that the model's own work has, from which the verdict says so."""

PATTERN: Final = 0.15
"""Share of a stage's time that lines of one kind have at least (the low end of its interval), from which there is
advice on them."""

WASTED: Final = 0.02
"""Share of samples read again, from which it is said: a DistributedSampler repeats less than a batch's share of one."""

LEFT_OUT: Final = 0.05
"""Share of an epoch that drop_last leaves out, from which it is said."""

THROWN_AWAY: Final = 0.25
"""Share of the bytes that a transform keeps, up to which that is said where the data are fast enough: a random crop of
224 pixels keeps more of an ordinary photograph."""

ALL_FOR_EACH: Final = 0.1
"""By how much calls per sample may differ from the number of DataLoader workers: a window cuts some samples."""

COPY_US_PER_BYTE: Final = 0.0005
"""Time per byte between two stages up to which code only hands it on: a copy (`convert`, `asarray`) takes less, and
scaling a picture several times as much."""

HANDING_ON_US: Final = 50.0
"""The same for anything, however small."""

ALWAYS_FOLLOWED: Final = 0.9
"""Part of a stage's calls that another follows for the same value, from which that comes after it in each sample: the
beginning and the end of recording, and what raises, cut some.
"""
