// Spans of a timeline by their name: what the route `spans` answers, and what a page without a server finds in its boxes.

import { fieldsOf, textIn } from "./runs";
import type { LaneColumns, TimelineSlice } from "./timeline";

/** Lanes of one DataLoader or one device only, and those of neither. */
export type LaneScope = { readonly loader?: number; readonly device?: number };

/** The span of that number by start, counted on from either end; or the first from a moment on, or the last before one. */
export type SpanPlace = { readonly number: number } | { readonly fromUs: number } | { readonly beforeUs: number };

export type SpanQuery = {
  readonly id: string;
  readonly steps: string | null;
  readonly words: readonly string[];
  readonly scope: LaneScope;
  /** null: only their number is wanted. */
  readonly place: SpanPlace | null;
};

export type FoundSpan = {
  readonly number: number;
  readonly laneId: string;
  /** Its row in the lane: 0 is the one that a folded lane shows. */
  readonly depth: number;
  readonly name: string;
  readonly startUs: number;
  readonly endUs: number;
};

export type FoundSpans = {
  readonly count: number;
  /** Spans of the trace that no lane has. */
  readonly undrawn: number;
  /** Whether spans may be missing that are joined into one box with others. */
  readonly isDrawnOnly: boolean;
  readonly span: FoundSpan | null;
};

/** Whether a lane that belongs to `loader` or `device`, or to neither, is in the scope. */
export function isInScope(scope: LaneScope, loader?: number | null, device?: number | null): boolean {
  const fits = (wanted?: number, owned?: number | null): boolean =>
    wanted === undefined || (owned ?? wanted) === wanted;
  return fits(scope.loader, loader) && fits(scope.device, device);
}

export function decodeSpans(value: unknown): FoundSpans {
  const { count, undrawn, span } = fieldsOf(value);
  return {
    count: Number(count),
    undrawn: Number(undrawn),
    isDrawnOnly: false,
    span: span === null ? null : foundSpan(span),
  };
}

function foundSpan(value: unknown): FoundSpan {
  const { number, depth, start_us, duration_us } = fieldsOf(value);
  const startUs = Number(start_us);
  const endUs = startUs + Number(duration_us);
  return {
    number: Number(number),
    laneId: textIn(value, "lane"),
    depth: Number(depth),
    name: textIn(value, "name"),
    startUs,
    endUs,
  };
}

/** As the route, of what the picture of the whole window has. */
export function spansInSlice(slice: TimelineSlice, { words, scope, place }: SpanQuery): FoundSpans {
  const lanes = slice.lanes.filter(({ worker, loader = 0, device }) =>
    isInScope(scope, worker === undefined ? null : loader, device),
  );
  const spans = lanes.flatMap((lane) => boxesOf(lane, slice, words)).toSorted((a, b) => a.startUs - b.startUs);
  const number = place === null || spans.length === 0 ? -1 : numberOf(spans, place);
  const span = spans[number];
  return {
    count: spans.length,
    undrawn: 0,
    isDrawnOnly: lanes.some(({ merged }) => merged.some((count) => count > 1)),
    span: span === undefined ? null : { ...span, number },
  };
}

type Box = Omit<FoundSpan, "number">;

function boxesOf(lane: LaneColumns, slice: TimelineSlice, words: readonly string[]): Box[] {
  const has = slice.names.map((name) => words.every((word) => name.toLowerCase().includes(word.toLowerCase())));
  return lane.start_us.flatMap((startUs, i) => {
    const name = lane.name[i] ?? -1;
    const isInside = startUs >= slice.window_start_us && startUs < slice.window_end_us;
    if (!isInside || has[name] !== true) return [];
    const endUs = startUs + (lane.duration_us[i] ?? 0);
    return [{ laneId: lane.id, depth: lane.depth[i] ?? 0, name: slice.names[name] ?? "", startUs, endUs }];
  });
}

function numberOf(spans: readonly Box[], place: SpanPlace): number {
  const count = spans.length;
  if ("number" in place) return ((place.number % count) + count) % count;
  const from = "fromUs" in place ? place.fromUs : place.beforeUs;
  const first = spans.findIndex(({ startUs }) => startUs >= from);
  const at = first < 0 ? count : first;
  return "fromUs" in place ? at % count : (at - 1 + count) % count;
}
