// A slice of the timeline as typed columns: one row per lane and depth, sorted by start, ready to be culled and hit.

import { isInScope, type LaneScope } from "../data/spans";
import type { LaneColumns, CounterLine as Line, TimelineSlice } from "../data/timeline";
import type { TimeRange } from "./time-scale";

export type Row = {
  readonly startUs: Float64Array;
  readonly durationUs: Float64Array;
  /** Largest end of this box and all before it: sorted even where boxes overlap, so it can be searched. */
  readonly reachUs: Float64Array;
  readonly name: Int32Array;
  /** How many spans a box merges, and the percentage of it that they cover. */
  readonly merged: Int32Array;
  readonly covered: Uint8Array;
  readonly color: Int32Array;
  /** Dataset index of a sample; -1 for all else. */
  readonly index: Int32Array;
};

/** The lines of a counter: its lane has them in place of rows. `top` is the value at the upper edge, in `unit`. */
export type CounterLine = Line;
export type Chart = { readonly lines: readonly CounterLine[]; readonly unit: string; readonly top: number };

export type LaneRows = {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  /** The end of the title, which sets the lane apart from others of its kind: it stays where the title is cut. */
  readonly tail: string;
  /** Of a DataLoader worker's lane; null for all others. */
  readonly owner: LaneOwner | null;
  /** The device that the lane belongs to; null for other lanes. */
  readonly device: number | null;
  readonly isTrainingThread: boolean;
  readonly rows: readonly Row[];
  readonly chart: Chart | null;
};

export type LaneOwner = { readonly worker: number; readonly loader: number; readonly loaderTitle: string };

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
  const { id, kind, title, worker, loader = 0, loader_title: loaderTitle, device } = lane;
  const number = worker ?? device;
  const head = {
    id,
    kind,
    title,
    tail: number === undefined ? "" : ` ${number}`,
    owner: worker === undefined ? null : { worker, loader, loaderTitle },
    device: device ?? null,
    isTrainingThread: lane.training_thread,
  };
  if (kind === "counter") return { ...head, rows: [], chart: { lines: lane.lines, unit: lane.unit, top: lane.top } };
  const deepest = Math.max(0, ...byDepth.keys());
  const rows = Array.from({ length: deepest + 1 }, (_, depth) => buildRow(lane, byDepth.get(depth) ?? []));
  return { ...head, rows, chart: null };
}

/** Without counters that were 0 throughout: their lanes would be empty, and the table of host load has them. */
export function buildTimeline(timeline: TimelineSlice): TimelineModel {
  return {
    slice: { startUs: timeline.start_us, endUs: timeline.end_us },
    window: { startUs: timeline.window_start_us, endUs: timeline.window_end_us },
    lanes: withLoaders(timeline.lanes.map(buildLane).filter(({ chart }) => chart === null || chart.top > 0)),
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

/** Height of a counter's lane, in rows: its words, then enough to see a line's ups and downs. */
export const CHART_ROWS = 2.5;

/** Lanes keep their place while one slice replaces another: a depth that is not in this slice still takes its row. */
export function rowCounts(models: readonly TimelineModel[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const model of models)
    for (const lane of model.lanes)
      counts.set(lane.id, Math.max(counts.get(lane.id) ?? 1, lane.chart === null ? lane.rows.length : CHART_ROWS));
  return counts;
}

/** The lanes in the scope; the model itself when that is all of them. */
export function keepLanes(model: TimelineModel, scope: LaneScope): TimelineModel {
  const lanes = model.lanes.filter(({ owner, device }) => isInScope(scope, owner?.loader, device));
  return lanes.length === model.lanes.length ? model : { ...model, lanes: withLoaders(lanes) };
}

/** Where DataLoader workers of several loaders stand together, each title says whose it is. */
function withLoaders(lanes: readonly LaneRows[]): readonly LaneRows[] {
  const several = new Set(lanes.flatMap(({ owner }) => owner?.loader ?? [])).size > 1;
  return lanes.map((lane) => {
    const { owner, title } = lane;
    if (owner === null || owner.loaderTitle === "") return lane;
    const bare = title.slice(0, -lane.tail.length);
    const tail = ` ${owner.worker}${several ? `, ${owner.loaderTitle}` : ""}`;
    return { ...lane, title: bare + tail, tail };
  });
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

/** With more DataLoader workers than this, their lanes show batches only, so that all are on screen together. */
const OPEN_WORKER_LANES = 8;

/** Ids of the lanes that are folded to their first row; `turned` are those that the user turned over. */
export function foldedLanes(lanes: readonly LaneRows[], turned: ReadonlySet<string>): Set<string> {
  const own = lanes.filter(({ owner }) => owner !== null);
  const many = own.length > OPEN_WORKER_LANES;
  return new Set(own.filter((lane) => turned.has(lane.id) !== many).map((lane) => lane.id));
}

/** `turned` with this lane turned over once more, as by a click on its title. */
export function turnedOver(turned: ReadonlySet<string>, laneId: string): Set<string> {
  const next = new Set(turned);
  if (!next.delete(laneId)) next.add(laneId);
  return next;
}

/** `turned` so that a span in that row of that lane is drawn: a folded lane is turned over, unless that is its first row. */
export function turnedToSee(
  lanes: readonly LaneRows[],
  turned: ReadonlySet<string>,
  { laneId, depth }: { readonly laneId: string; readonly depth: number },
): ReadonlySet<string> {
  return depth > 0 && foldedLanes(lanes, turned).has(laneId) ? turnedOver(turned, laneId) : turned;
}

/** Which lanes are turned over when all are folded, or all are open. */
export function turnedFor(lanes: readonly LaneRows[], folded: boolean): Set<string> {
  const own = lanes.filter(({ owner }) => owner !== null);
  const many = own.length > OPEN_WORKER_LANES;
  return new Set(folded === many ? [] : own.map((lane) => lane.id));
}
