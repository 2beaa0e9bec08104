// A made-up DataLoader: workers make batches, the training thread takes them in order. The same at every start.

import { random, sum } from "./tools.mjs";

const SAMPLES_PER_BATCH = 16;
const HAND_OVER_US = 220;

/**
 * Plays a loader. `makeUs(n, worker)` says how long batch n takes; `slowSample` names the batch and place of a sample that
 * takes 12 times as long. Returns what a capture would know, times from `startUs` on.
 */
function play({ loader, workers, count, prefetch, stepUs, makeUs, startUs, slowSample }) {
  const ready = Array.from({ length: workers }, (_, w) => startUs + 61_000 + 9_000 * w);
  const startups = ready.map((at) => at - startUs);
  const free = [...ready];
  const batches = [];
  const drawn = Array.from({ length: count }, (_, n) => (n < workers * prefetch ? startUs + 900 + 40 * n : 0));
  let now = startUs + 2_000;
  for (let n = 0; n < count; n += 1) {
    for (let ahead = batches.length; ahead < Math.min(count, n + workers * prefetch); ahead += 1) {
      const worker = ahead % workers;
      const started = Math.max(free[worker], drawn[ahead]) + 60;
      const made = makeUs(ahead, worker) * (slowSample?.batch === ahead ? 1 + 11 / SAMPLES_PER_BATCH : 1);
      free[worker] = started + made;
      batches.push({ number: ahead, epoch: 0, loader, worker, drawn_us: drawn[ahead], started_us: started, finished_us: started + made });
    }
    const batch = batches[n];
    batch.arrived_us = batch.finished_us + HAND_OVER_US;
    batch.consumed_us = Math.max(now + 40, batch.arrived_us);
    batch.wait_us = batch.consumed_us - now;
    batch.delay_us = Math.max(0, now - batch.finished_us);
    batch.waitStart = now;
    if (n + workers * prefetch < count) drawn[n + workers * prefetch] = batch.consumed_us + 30;
    now = batch.consumed_us + stepUs(n);
    batch.stepEnd = now;
  }
  for (const [n, batch] of batches.entries()) {
    const blocked = batches.slice(0, n).reduce((us, earlier) => {
      return us + Math.max(0, Math.min(earlier.consumed_us, batch.consumed_us) - Math.max(earlier.waitStart, batch.finished_us));
    }, 0);
    batch.blocked_us = blocked;
  }
  return { batches, startups, endUs: now };
}

function queueOf(batches, loader) {
  const changes = batches.flatMap((b) => [
    { us: b.drawn_us, ready: 0, flight: 1 }, { us: b.finished_us, ready: 1, flight: -1 }, { us: b.consumed_us, ready: -1, flight: 0 },
  ]).sort((a, b) => a.us - b.us);
  const queue = { time_us: [], ready: [], in_flight: [], loader };
  let [ready, flight] = [0, 0];
  for (const change of changes) {
    ready += change.ready;
    flight += change.flight;
    queue.time_us.push(change.us);
    queue.ready.push(ready);
    queue.in_flight.push(flight);
  }
  return queue;
}

function workerRows(batches, startups, pid, window) {
  const rows = startups.map((startup_us, worker) => {
    const own = batches.filter((batch) => batch.worker === worker);
    const busy_us = own.reduce((us, batch) => us + batch.finished_us - batch.started_us, 0);
    const starved_us = Math.max(0, window - busy_us - startup_us - 60 * own.length) * 0.97;
    return { worker, pid: pid + worker, batches: own.length, busy_us, idle_us: window - busy_us, starved_us, startup_us, loader: own[0]?.loader ?? 0, dropped_spans: 0 };
  });
  const mean = sum(rows, "busy_us") / rows.length;
  return rows.map((row) => ({ ...row, skew: row.busy_us / mean }));
}

/** Spans inside a batch: samples with read, decode and transform, then the collate. */
function spansOf(batch, slowSample) {
  const length = batch.finished_us - batch.started_us;
  const weights = Array.from({ length: SAMPLES_PER_BATCH }, (_, i) => (slowSample?.batch === batch.number && slowSample.place === i ? 12 : 1));
  const whole = weights.reduce((a, b) => a + b, 0);
  const boxes = [{ start_us: batch.started_us, duration_us: length, name: `batch ${batch.number}`, color: "batch", depth: 0 }];
  let at = batch.started_us;
  for (const weight of weights) {
    const sample = (length * 0.94 * weight) / whole;
    boxes.push(
      { start_us: at, duration_us: sample, name: "sample::ImageFolder", color: "sample", depth: 1, index: (batch.number * 7919 + at) % 50_000 | 0 },
      { start_us: at, duration_us: sample * 0.12, name: "read::open", color: "read", depth: 2 },
      { start_us: at + sample * 0.13, duration_us: sample * 0.86, name: "transform::Compose", color: "transform", depth: 2 },
      { start_us: at + sample * 0.14, duration_us: sample * 0.6, name: "decode::PIL.Image", color: "decode", depth: 3 },
      { start_us: at + sample * 0.75, duration_us: sample * 0.22, name: "transform::RandomMask", color: "transform", depth: 3 },
    );
    at += sample;
  }
  boxes.push({ start_us: at, duration_us: batch.finished_us - at, name: "collate::default_collate", color: "collate", depth: 1 });
  return boxes;
}

function slowest(batches, slowSample) {
  return batches.map((batch) => {
    const slow = slowSample?.batch === batch.number;
    const length = (batch.finished_us - batch.started_us) * 0.94;
    const duration_us = slow ? (length * 12) / (SAMPLES_PER_BATCH + 11) : length / SAMPLES_PER_BATCH;
    const index = slow ? 48_211 : (batch.number * 7919) % 50_000;
    return { index, duration_us, worker: batch.worker, batch: batch.number, epoch: 0, stage: "decode::PIL.Image", stage_us: duration_us * 0.6, loader: batch.loader };
  }).sort((a, b) => b.duration_us - a.duration_us).slice(0, 20);
}

const ROUND = (batch) => Object.fromEntries(Object.entries(batch).filter(([key]) => key !== "waitStart" && key !== "stepEnd"));

/** A capture with loader 0 for training and, when asked for, loader 1 for a validation epoch at the end. */
export function workersSample({ name, workers, perWorker, slowWorker, validation }) {
  const next = random(11);
  const startUs = 12_345.5;
  const slowSample = { batch: 9 * workers + 1, place: 5 };
  const train = play({
    loader: 0, workers, count: workers * perWorker, prefetch: 2, startUs, slowSample, stepUs: () => 24_000 + 2_000 * next(),
    makeUs: (_, worker) => (33_000 * workers + 12_000 * next()) * (worker === slowWorker ? 1.85 : slowWorker === undefined ? 1 : 0.8),
  });
  const parts = [{ ...train, slowSample, pid: 5100 }];
  if (validation) {
    parts.push({
      ...play({ loader: 1, workers: 2, count: 30, prefetch: 2, startUs: train.endUs + 3000, stepUs: () => 45_000, makeUs: (_, w) => 9_000 + 30_000 * w + 2_000 * next() }),
      pid: 6100,
    });
  }
  const all = parts.flatMap((part) => part.batches);
  const items = all.map((batch, i) => {
    const from = i === 0 ? startUs : all[i - 1].stepEnd;
    return { number: i, start_us: from, duration_us: batch.stepEnd - from, data_wait_us: batch.consumed_us - batch.waitStart };
  });
  const window = parts.at(-1).endUs - startUs;
  const wait = sum(items, "data_wait_us");
  const capture = {
    name, mode: "train", host: "gpu01", torch_version: "2.4.1", window_us: window, window_start_us: startUs, file: `${name}.pt.trace.json.gz`,
    steps: { count: items.length, mean_us: window / items.length, p50_us: 41_000, p95_us: 96_000, items },
    devices: [],
    loader: {
      wait_us: wait, wait_count: items.length, first_batch_wait_us: items[0].data_wait_us, wait_by_stage_us: { "decode::PIL.Image": wait * 0.7, other: wait * 0.3 },
      num_workers: workers, batch_size: SAMPLES_PER_BATCH, prefetch_factor: 2, pin_memory: true, persistent_workers: true, in_order: true, start_method: "fork", dataset: "ImageFolder",
    },
    stages: [], workers: parts.flatMap((part) => workerRows(part.batches, part.startups, part.pid, window)),
    batches: all.map(ROUND).sort((a, b) => a.started_us - b.started_us), batch_count: all.length, queues: parts.map((part, loader) => queueOf(part.batches, loader)),
    slow_samples: slowest(train.batches, slowSample),
    throughput: { samples_per_s: (all.length * SAMPLES_PER_BATCH * 1e6) / window, samples: all.length * SAMPLES_PER_BATCH },
    verdict: { bound: "cpu", sentence: "The training thread waits for data; most of it in decode::PIL.Image.", evidence: [] }, findings: [], diagnostics: [],
  };
  const lanes = parts.flatMap((part, loader) => part.startups.map((_, worker) => ({
    id: `worker:${part.pid + worker}`, title: `DataLoader worker ${worker}${parts.length > 1 ? `, loader ${loader}` : ""}`,
    boxes: part.batches.filter((batch) => batch.worker === worker).flatMap((batch) => spansOf(batch, part.slowSample)),
  })));
  return { capture, timeline: { items, kernels: [], gaps: [], lanes } };
}
