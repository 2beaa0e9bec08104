// What the report knows of one DataLoader.

import type { Batch, Capture, QueueDepth, SampleLoader, SlowSample, Worker, WorkerSummary } from "../contract/report";

import type { Place } from "./chain";
import type { TimelineModel } from "./lanes";

export type LoaderPart = {
  readonly summary: WorkerSummary;
  /** One per worker id, all its processes together. */
  readonly workers: readonly Worker[];
  readonly batches: readonly Batch[];
  readonly queue: QueueDepth | undefined;
  readonly slowSamples: readonly SlowSample[];
};

/** Slow samples of one DataLoader. An index means nothing without its loader. */
export type LoaderSamples = {
  /** "" where there is only one. */
  readonly name: string;
  /** What they are, as in Throughput. */
  readonly item: string;
  readonly slowSamples: readonly SlowSample[];
  /** "" where they cannot be named. */
  readonly replayCommand: string;
  readonly replayCode: string;
};

/** Those that have any, the training loop's first. */
export function loaderSamples(capture: Capture): readonly LoaderSamples[] {
  return capture.sample_loaders.map((one) => samplesOf(capture, one));
}

/** Those of the loader with that number. */
export function samplesOfLoader(capture: Capture, loader: number): LoaderSamples | null {
  const found = capture.sample_loaders.find((one) => one.loader === loader);
  return found === undefined ? null : samplesOf(capture, found);
}

function samplesOf(capture: Capture, of: SampleLoader): LoaderSamples {
  const { loader, name, item, replay_command, replay_code } = of;
  const slowSamples = capture.slow_samples.filter((sample) => sample.loader === loader);
  return { name, item, slowSamples, replayCommand: replay_command, replayCode: replay_code };
}

/** Names a sample in a link: one index may be slow more than once. */
export function sampleKey({ index, loader, worker, start_us: start }: SlowSample): string {
  return [index, loader, worker, start].join(":");
}

/** Where a sample lies: the lane of the DataLoader worker that made it, or of the training thread; null where it has none. */
export function placeOfSample(sample: SlowSample | undefined, whole: TimelineModel | null): Place | null {
  if (sample === undefined) return null;
  const { start_us: startUs, span_us: us, loader, worker } = sample;
  const lane = whole?.lanes.find(({ owner, kind, isTrainingThread }) =>
    worker < 0 ? kind === "stages" && isTrainingThread : owner?.worker === worker && owner.loader === loader,
  );
  return lane === undefined ? null : { laneId: lane.id, name: "", startUs, endUs: startUs + us };
}

/** Of the loaders whose workers are listed: those that did something in the window. */
export function listedLoaders({ worker_summaries: all }: Capture): readonly WorkerSummary[] {
  return all.filter(({ quiet }) => !quiet);
}

/** The chosen loader's part, else that of the first listed one; null where nothing is known of DataLoader workers. */
export function loaderPart(capture: Capture, chosen: number): LoaderPart | null {
  const all = listedLoaders(capture);
  const summary = all.find(({ loader }) => loader === chosen) ?? all[0];
  if (summary === undefined) return null;
  const isOwn = ({ loader }: { readonly loader: number }): boolean => loader === summary.loader;
  return {
    summary,
    workers: capture.workers.filter(isOwn),
    batches: capture.batches.filter(isOwn),
    queue: capture.queues.find(isOwn),
    slowSamples: capture.slow_samples.filter(isOwn),
  };
}
