// Counters of the host and its devices: values in words, and the point under the pointer.

import type { CounterLine } from "../data/timeline";
import { exactPosition, formatBytes, formatDuration, formatPercent, significant } from "./format";
import type { HoverInfo } from "./hover";
import type { Chart, LaneRows } from "./lanes";
import type { TimeRange } from "./time-scale";

const NBSP = "\u00a0";

export function valueWords(value: number, unit: string): string {
  if (unit === "bytes") return formatBytes(value);
  if (unit === "bytes/s") return `${formatBytes(value)}/s`;
  if (unit === "us/s") return `${formatDuration(value)} per s`;
  if (unit === "%") return formatPercent(value / 100);
  return unit === "" ? significant(value) : `${significant(value, 2)}${NBSP}${unit}`;
}

/** When the value of each point ends: it holds until the next one, the last for as long as the one before it. */
export function endsOf(times: readonly number[]): number[] {
  const last = times.at(-1) ?? 0;
  return times.map((_, point) => times[point + 1] ?? last + (last - (times.at(-2) ?? last)));
}

/** Mean over the time of a range; where none of it has a value, that of the nearest point. */
export function meanIn({ time_us, mean }: CounterLine, { startUs, endUs }: TimeRange): number | undefined {
  const ends = endsOf(time_us);
  const heldUs = time_us.map((us, point) => Math.max(0, Math.min(ends[point] ?? us, endUs) - Math.max(us, startUs)));
  const wholeUs = heldUs.reduce((sum, us) => sum + us, 0);
  if (wholeUs === 0) return mean[heldAt(time_us, startUs)];
  return mean.reduce((sum, value, point) => sum + value * (heldUs[point] ?? 0), 0) / wholeUs;
}

/** What each line says of the time on screen: its name, where there are several, and its mean. */
export function lineLabels({ lines, unit }: Chart, range: TimeRange): string[] {
  return lines.map((line) => {
    const mean = meanIn(line, range);
    const words = mean === undefined ? "" : `mean ${valueWords(mean, unit)}`;
    return lines.length === 1 || line.name === "" ? words : `${line.name}: ${words}`;
  });
}

/** The point of the first line whose value holds at `us`; -1 where there is none. */
export function pointAt(chart: Chart, us: number): number {
  return heldAt(chart.lines[0]?.time_us ?? [], us);
}

/** The last point that is no later; the first one before it. */
function heldAt(times: readonly number[], us: number): number {
  return times.length === 0
    ? -1
    : Math.max(
        0,
        times.findLastIndex((time) => time <= us),
      );
}

/** What all lines of a counter say at the time of the first one's point. */
export function counterHover({ chart, title }: LaneRows, point: number): HoverInfo | null {
  const atUs = chart?.lines[0]?.time_us[point];
  if (chart === null || atUs === undefined) return null;
  const lines = chart.lines.map((line) => lineWords(line, heldAt(line.time_us, atUs), chart.unit));
  return { box: null, title, lines: [...lines, `at ${exactPosition(atUs)}`], token: "ink-muted" };
}

function lineWords(line: CounterLine, point: number, unit: string): string {
  const mean = `${line.name}: ${valueWords(line.mean[point] ?? 0, unit)}`;
  const low = line.low[point];
  const high = line.high[point];
  if (low === undefined || high === undefined || low === high) return mean;
  return `${mean} (${valueWords(low, unit)} to ${valueWords(high, unit)})`;
}
