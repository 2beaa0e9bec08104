// A Timeline message as plain columns: times absolute again, a depth and a colour per box.

import { asObject, number, numbers, objects, optNumber, text, texts } from "./json";
import type { JsonObject } from "./json";

/** A line of a counter's chart. `low` and `high` are empty where no point stands for more than one value. */
export type CounterLine = {
  readonly name: string;
  readonly time_us: readonly number[];
  readonly mean: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
};

/** Columns in the order of the message; an empty `merged`, `covered` or `index` means the same for all: 1, 100, -1. */
export type LaneColumns = {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly start_us: readonly number[];
  readonly duration_us: readonly number[];
  readonly depth: readonly number[];
  /** Index into `names`. */
  readonly name: readonly number[];
  /** Index into `names`, where theme tokens stand behind the names. */
  readonly color: readonly number[];
  readonly merged: readonly number[];
  readonly covered: readonly number[];
  readonly index: readonly number[];
  readonly lines: readonly CounterLine[];
  readonly unit: string;
  readonly top: number;
};

export type TimelineSlice = {
  readonly start_us: number;
  readonly end_us: number;
  readonly window_start_us: number;
  readonly window_end_us: number;
  readonly lanes: readonly LaneColumns[];
  readonly names: readonly string[];
};

/** Distances to the one before -> microseconds. Summed in whole nanoseconds, so nothing is lost on the way. */
function absoluteUs(distancesNs: readonly number[], startNs: number): number[] {
  let at = startNs;
  return distancesNs.map((distance) => (at += distance) / 1e3);
}

function startsOf(o: JsonObject, rows: readonly number[], startNs: number): number[] {
  const distances = numbers(o, "start_ns");
  let first = 0;
  return rows.flatMap((count) => absoluteUs(distances.slice(first, (first += count)), startNs));
}

function lineOf(o: JsonObject, startNs: number): CounterLine {
  return {
    name: text(o, "name"),
    time_us: absoluteUs(numbers(o, "time_ns"), startNs),
    mean: numbers(o, "mean"),
    low: numbers(o, "low"),
    high: numbers(o, "high"),
  };
}

function laneOf(o: JsonObject, startNs: number, colorOfName: readonly number[]): LaneColumns {
  const rows = numbers(o, "boxes");
  const name = numbers(o, "name");
  return {
    id: text(o, "id"),
    kind: text(o, "kind"),
    title: text(o, "title"),
    start_us: startsOf(o, rows, startNs),
    duration_us: numbers(o, "duration_ns").map((ns) => ns / 1e3),
    depth: rows.flatMap((count, depth) => new Array<number>(count).fill(depth)),
    name,
    color: name.map((label) => colorOfName[label] ?? -1),
    merged: numbers(o, "merged"),
    covered: numbers(o, "covered"),
    index: numbers(o, "index"),
    lines: objects(o, "lines", (line) => lineOf(line, startNs)),
    unit: text(o, "unit"),
    top: optNumber(o, "top") ?? 1,
  };
}

export function decodeTimeline(value: unknown): TimelineSlice {
  const o = asObject(value);
  const names = texts(o, "names");
  const colors = texts(o, "colors");
  const tokens = [...new Set(colors)];
  const colorOfName = colors.map((token) => names.length + tokens.indexOf(token));
  const startNs = Math.round(number(o, "start_us") * 1e3);
  return {
    start_us: number(o, "start_us"),
    end_us: number(o, "end_us"),
    window_start_us: number(o, "window_start_us"),
    window_end_us: number(o, "window_end_us"),
    lanes: objects(o, "lanes", (lane) => laneOf(lane, startNs, colorOfName)),
    names: [...names, ...tokens],
  };
}
