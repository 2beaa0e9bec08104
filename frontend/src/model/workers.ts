// The Workers view's numbers and its sentence, from the report's own figures.

import type { Batch, Capture, QueueDepth, SlowSample, Worker } from "../contract/report";
import { formatDuration, formatPercent, plural, ratioWords } from "./format";
import { share } from "./shares";

/** From this share of the window on, DataLoader workers count as busy all the time. */
const FULLY_BUSY = 0.8;
/** Below this share they have time to spare. */
const HARDLY_BUSY = 0.5;
/** Data wait below this share of the window is no wait to speak of. */
const SMALL_WAIT = 0.05;
/** From this skew on the sentence names the DataLoader worker. */
const UNEVEN = 1.5;
/** With fewer batches than this per DataLoader worker, who is busy is an accident of where the window begins and ends. */
const BATCHES_TO_COMPARE = 3;

/** What the report knows of one DataLoader. */
export type LoaderPart = {
  readonly loader: number;
  /** One per process: a worker number has several where each epoch starts processes of its own. */
  readonly workers: readonly Worker[];
  readonly batches: readonly Batch[];
  readonly queue: QueueDepth | undefined;
  readonly slowSamples: readonly SlowSample[];
};

/** The loaders whose workers are known. */
export function loaderNumbers({ workers }: Pick<Capture, "workers">): number[] {
  return [...new Set(workers.map((worker) => worker.loader))].sort((a, b) => a - b);
}

export function loaderPart(capture: Capture, chosen: number): LoaderPart {
  const numbers = loaderNumbers(capture);
  const loader = numbers.includes(chosen) ? chosen : (numbers[0] ?? 0);
  return {
    loader,
    workers: capture.workers.filter((worker) => worker.loader === loader),
    batches: capture.batches.filter((batch) => batch.loader === loader),
    queue: capture.queues.find((queue) => queue.loader === loader),
    slowSamples: capture.slow_samples.filter((sample) => sample.loader === loader),
  };
}

export type WorkerTotals = {
  /** DataLoader workers; processes that followed one another under one number count once. */
  readonly count: number;
  /** Means per DataLoader worker; undefined where no process tells. */
  readonly busyUs: number;
  readonly starvedUs: number | undefined;
  readonly startupUs: number | undefined;
  readonly blockedUs: number | undefined;
  readonly waitUs: number | undefined;
  /** Part (0 to 1) of the waits that was spent on batches that lay ready: on handing them over, not on making them. */
  readonly readyWaitShare: number | undefined;
};

function sumKnown(values: ReadonlyArray<number | undefined>): number | undefined {
  const known = values.filter((value): value is number => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

function readyShare(batches: readonly Batch[]): number | undefined {
  const all = sumKnown(batches.map((batch) => batch.wait_us));
  const ready = sumKnown(batches.map((batch) => ((batch.delay_us ?? 0) > 0 ? batch.wait_us : 0)));
  return all === undefined || ready === undefined ? undefined : share(ready, all);
}

export function workerTotals(capture: Capture, { workers, batches }: LoaderPart): WorkerTotals {
  const count = Math.max(1, new Set(workers.map((worker) => worker.worker)).size);
  const starved = sumKnown(workers.map((worker) => worker.starved_us));
  const startups = workers.map((worker) => worker.startup_us).filter((us): us is number => us !== undefined);
  const complete = capture.batches.length >= (capture.batch_count ?? 0);
  return {
    count,
    busyUs: workers.reduce((sum, worker) => sum + worker.busy_us, 0) / count,
    starvedUs: starved === undefined ? undefined : starved / count,
    startupUs: startups.length === 0 ? undefined : Math.max(...startups),
    blockedUs: sumKnown(batches.map((batch) => batch.blocked_us)),
    // The report's wait is that of all loaders together; which part one of several has, only its batches tell.
    waitUs:
      loaderNumbers(capture).length <= 1
        ? capture.loader?.wait_us
        : complete
          ? sumKnown(batches.map((batch) => batch.wait_us))
          : undefined,
    readyWaitShare: complete ? readyShare(batches) : undefined,
  };
}

export function workersSentence(capture: Capture, part: LoaderPart): string {
  const totals = workerTotals(capture, part);
  const busy = share(totals.busyUs, capture.window_us);
  const who = plural(totals.count, "DataLoader worker");
  const are = totals.count === 1 ? "is" : "are";
  if (busy === undefined)
    return `${who} ${are} busy for ${formatDuration(totals.busyUs)} on average.${unevenWords(part.workers)}`;
  const wait = totals.waitUs === undefined ? undefined : share(totals.waitUs, capture.window_us);
  return `${who} ${are} busy ${formatPercent(busy)} of the window${balance(busy, wait, totals)}.${unevenWords(part.workers)}`;
}

/** How busy they are against how long the training thread waits: the four corners, and what lies between. */
function balance(busy: number, wait: number | undefined, { count, readyWaitShare = 0 }: WorkerTotals): string {
  if (wait === undefined) return "";
  const [they, keep] = count === 1 ? ["it", "keeps"] : ["they", "keep"];
  const waits = `waits ${formatPercent(wait)} of it`;
  if (wait >= SMALL_WAIT) {
    if (readyWaitShare > 0.5)
      return ` and the training thread ${waits}, but mostly for batches that lay ready: making them is not what it waits for`;
    if (busy >= FULLY_BUSY) return ` and the training thread still ${waits}: ${they} cannot keep up`;
    if (busy < HARDLY_BUSY) return `, yet the training thread ${waits}: the wait is not for want of DataLoader workers`;
    return ` and the training thread ${waits}`;
  }
  if (busy >= FULLY_BUSY) return ` and the training thread ${waits}: ${they} ${keep} up, with little to spare`;
  if (busy < HARDLY_BUSY) return ` and the training thread ${waits}: more of them would not help`;
  return ` and the training thread ${waits}: ${they} ${keep} up`;
}

export function batchesMade(workers: readonly Worker[]): number {
  return workers.reduce((sum, worker) => sum + worker.batches, 0);
}

function unevenWords(workers: readonly Worker[]): string {
  if (batchesMade(workers) < BATCHES_TO_COMPARE * workers.length) return "";
  const most = workers.reduce<Worker | undefined>(
    (best, item) => ((item.skew ?? 0) > (best?.skew ?? 0) ? item : best),
    undefined,
  );
  if (most?.skew === undefined || most.skew < UNEVEN) return "";
  return ` DataLoader worker ${most.worker} has ${ratioWords(most.skew)} the mean work.`;
}
