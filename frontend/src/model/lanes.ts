// A slice of the timeline as typed columns: one row per lane and depth, sorted by start, ready to be culled and hit.

import type { Worker } from "../contract/report";
import type { CounterLine, LaneColumns, TimelineSlice } from "../data/timeline";
import type { TimeRange } from "./time-scale";

export type Row = {
  readonly startUs: Float64Array;
  readonly durationUs: Float64Array;
  /** Largest end of this box and all before it: sorted even where boxes overlap, so it can be searched. */
  readonly reachUs: Float64Array;
  readonly name: Int32Array;
  /** How many spans a box stands for, and how many percent of it they cover. */
  readonly merged: Int32Array;
  readonly covered: Uint8Array;
  readonly color: Int32Array;
  /** Dataset index of a sample; -1 for all else. */
  readonly index: Int32Array;
};

/** The lines of a counter: its lane has them in place of rows. `top` is the value at the upper edge, in `unit`. */
export type Chart = { readonly lines: readonly CounterLine[]; readonly unit: string; readonly top: number };

export type LaneRows = {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly rows: readonly Row[];
  readonly chart: Chart | null;
};

export type TimelineModel = {
  readonly slice: TimeRange;
  readonly window: TimeRange;
  readonly lanes: readonly LaneRows[];
  readonly names: readonly string[];
};

function buildRow(lane: LaneColumns, indices: readonly number[]): Row {
  const order = indices.toSorted((a, b) => (lane.start_us[a] ?? 0) - (lane.start_us[b] ?? 0));
  const pick = (column: readonly number[], fallback: number): number[] => order.map((i) => column[i] ?? fallback);
  const startUs = Float64Array.from(pick(lane.start_us, 0));
  const durationUs = Float64Array.from(pick(lane.duration_us, 0));
  const reachUs = new Float64Array(order.length);
  let reach = -Infinity;
  for (let i = 0; i < order.length; i += 1) {
    reach = Math.max(reach, (startUs[i] ?? 0) + (durationUs[i] ?? 0));
    reachUs[i] = reach;
  }
  return {
    startUs,
    durationUs,
    reachUs,
    name: Int32Array.from(pick(lane.name, -1)),
    merged: Int32Array.from(pick(lane.merged, 1)),
    covered: Uint8Array.from(pick(lane.covered, 100)),
    color: Int32Array.from(pick(lane.color, -1)),
    index: Int32Array.from(pick(lane.index, -1)),
  };
}

function buildLane(lane: LaneColumns): LaneRows {
  const byDepth = new Map<number, number[]>();
  lane.start_us.forEach((_, i) => {
    const depth = lane.depth[i] ?? 0;
    const row = byDepth.get(depth);
    if (row === undefined) byDepth.set(depth, [i]);
    else row.push(i);
  });
  const { id, kind, title, lines, unit, top } = lane;
  if (kind === "counter") return { id, kind, title, rows: [], chart: { lines, unit, top } };
  const deepest = Math.max(0, ...byDepth.keys());
  const rows = Array.from({ length: deepest + 1 }, (_, depth) => buildRow(lane, byDepth.get(depth) ?? []));
  return { id, kind, title, rows, chart: null };
}

export function buildTimeline(timeline: TimelineSlice): TimelineModel {
  return {
    slice: { startUs: timeline.start_us, endUs: timeline.end_us },
    window: { startUs: timeline.window_start_us, endUs: timeline.window_end_us },
    lanes: timeline.lanes.map(buildLane),
    names: timeline.names,
  };
}

/** First index whose value is > `bound` (values ascending). */
function firstAbove(values: Float64Array, bound: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? Infinity) > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Half-open index interval of the boxes that can touch the range. */
export function visible(row: Row, range: TimeRange): readonly [number, number] {
  return [firstAbove(row.reachUs, range.startUs), firstAbove(row.startUs, range.endUs)];
}

/** Index of the box at `us`, or of the nearest one within `slackUs`; -1 when there is none. */
export function hit(row: Row, us: number, slackUs: number): number {
  const [first, end] = visible(row, { startUs: us - slackUs, endUs: us + slackUs });
  let best = -1;
  let bestDistance = Infinity;
  for (let i = first; i < end; i += 1) {
    const start = row.startUs[i] ?? 0;
    const stop = start + (row.durationUs[i] ?? 0);
    const distance = us < start ? start - us : us > stop ? us - stop : 0;
    if (distance <= slackUs && distance <= bestDistance) {
      best = i;
      bestDistance = distance;
    }
  }
  return best;
}

/** Height of a counter's lane, in rows: enough to tell a line's ups and downs. */
export const CHART_ROWS = 2;

/** Lanes keep their place while one slice replaces another: a depth that is not in this slice still takes its row. */
export function rowCounts(models: readonly TimelineModel[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const model of models)
    for (const lane of model.lanes)
      counts.set(lane.id, Math.max(counts.get(lane.id) ?? 1, lane.chart === null ? lane.rows.length : CHART_ROWS));
  return counts;
}

/** The lanes that `keep` lets through; the model itself when that is all of them. */
export function keepLanes(model: TimelineModel, keep: (lane: LaneRows) => boolean): TimelineModel {
  const lanes = model.lanes.filter(keep);
  return lanes.length === model.lanes.length ? model : { ...model, lanes: withoutSharedLoader(lanes) };
}

const LOADER_IN_TITLE = /, loader \d+$/;

/** Where all DataLoader workers are of one loader, naming it in each title only takes the room of the rest. */
function withoutSharedLoader(lanes: readonly LaneRows[]): LaneRows[] {
  const loaders = new Set(
    lanes.filter((lane) => lane.kind === "worker").map((lane) => LOADER_IN_TITLE.exec(lane.title)?.[0]),
  );
  return lanes.map((lane) =>
    loaders.size === 1 && lane.kind === "worker" ? { ...lane, title: lane.title.replace(LOADER_IN_TITLE, "") } : lane,
  );
}

/** Theme tokens that occur in what is drawn of the lanes. */
export function tokensIn(model: TimelineModel, folded: ReadonlySet<string>): Set<string> {
  const numbers = new Set<number>();
  for (const lane of model.lanes) {
    const rows = folded.has(lane.id) ? lane.rows.slice(0, 1) : lane.rows;
    for (const row of rows) for (const color of row.color) numbers.add(color);
  }
  return new Set([...numbers].map((number) => model.names[number] ?? ""));
}

/** The lane in which the training thread waits; analyses put it before those of other threads. */
export function trainingLane(lanes: readonly LaneRows[]): LaneRows | null {
  return lanes.find((lane) => lane.kind === "stages" || lane.kind === "wait") ?? null;
}

/** Number of the device that a lane belongs to ("device:0", "gaps:0"); null for other lanes. */
export function deviceOfLane({ kind, id }: LaneRows): number | null {
  const found = kind === "device" || kind === "gaps" ? /^\w+:(\d+)/.exec(id)?.[1] : undefined;
  return found === undefined ? null : Number(found);
}

export type LaneOwner = { readonly worker: number; readonly loader: number | null };

/** Whose lane it is: by the process in its id ("worker:<pid>"), else by its title; null for lanes of no worker. */
export function ownerOf({ kind, id, title }: LaneRows, workers: readonly Worker[]): LaneOwner | null {
  if (kind !== "worker") return null;
  const known = workers.find((worker) => id === `worker:${worker.pid}`);
  if (known !== undefined) return known;
  const [, worker, loader] = /worker (\d+)(?:, loader (\d+))?/.exec(title) ?? [];
  return worker === undefined ? null : { worker: Number(worker), loader: loader === undefined ? null : Number(loader) };
}

/** With more DataLoader workers than this, their lanes show batches only, so that all are on screen together. */
export const OPEN_WORKER_LANES = 8;

/** Ids of the lanes that are folded to their first row; `turned` are those that the user turned over. */
export function foldedLanes(lanes: readonly LaneRows[], turned: ReadonlySet<string>): Set<string> {
  const own = lanes.filter((lane) => lane.kind === "worker");
  const many = own.length > OPEN_WORKER_LANES;
  return new Set(own.filter((lane) => turned.has(lane.id) !== many).map((lane) => lane.id));
}
