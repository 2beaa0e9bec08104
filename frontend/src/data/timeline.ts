// A Timeline message as plain columns: times absolute again, a depth and a colour per box.

import { type CounterLine as CounterLineMessage, type Lane, Timeline } from "../contract/report";

/** A line of a counter's chart. `low` and `high` are empty where no point merges several values. */
export type CounterLine = Omit<CounterLineMessage, "time_ns"> & { readonly time_us: readonly number[] };

/** Columns in the order of the message; an empty `merged`, `covered` or `index` means the same for all: 1, 100, -1. */
export type LaneColumns = Omit<Lane, "boxes" | "start_ns" | "duration_ns" | "lines" | "top"> & {
  readonly start_us: readonly number[];
  readonly duration_us: readonly number[];
  readonly depth: readonly number[];
  /** Index into `names`, where theme tokens stand behind the names. */
  readonly color: readonly number[];
  readonly lines: readonly CounterLine[];
  readonly top: number;
};

export type TimelineSlice = Omit<Timeline, "lanes" | "colors"> & { readonly lanes: readonly LaneColumns[] };

/** Distances to the one before -> microseconds. Summed in whole nanoseconds, so nothing is lost on the way. */
function absoluteUs(distancesNs: readonly number[], startNs: number): number[] {
  let atNs = startNs;
  return distancesNs.map((distance) => {
    atNs += distance;
    return atNs / 1e3;
  });
}

/** Each row counts from the slice's start. */
function startsOf(distancesNs: readonly number[], boxesPerRow: readonly number[], startNs: number): number[] {
  let first = 0;
  return boxesPerRow.flatMap((count) => {
    const row = distancesNs.slice(first, first + count);
    first += count;
    return absoluteUs(row, startNs);
  });
}

function laneOf(lane: Lane, startNs: number, colorOfName: readonly number[]): LaneColumns {
  const { boxes, start_ns, duration_ns, top = 1, ...same } = lane;
  return {
    ...same,
    start_us: startsOf(start_ns, boxes, startNs),
    duration_us: duration_ns.map((ns) => ns / 1e3),
    depth: boxes.flatMap((count, depth) => new Array<number>(count).fill(depth)),
    color: lane.name.map((label) => colorOfName[label] ?? -1),
    lines: lane.lines.map(({ time_ns, ...line }) => ({ ...line, time_us: absoluteUs(time_ns, startNs) })),
    top,
  };
}

export function decodeTimeline(value: unknown): TimelineSlice {
  const { lanes, names, colors, ...same } = Timeline.fromJSON(value);
  const tokens = [...new Set(colors)];
  const colorOfName = colors.map((token) => names.length + tokens.indexOf(token));
  const startNs = Math.round(same.start_us * 1e3);
  return { ...same, lanes: lanes.map((lane) => laneOf(lane, startNs, colorOfName)), names: [...names, ...tokens] };
}
