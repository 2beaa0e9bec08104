// Counters of the host and its devices: values in words, and the point under the pointer.

import type { CounterLine } from "../data/timeline";
import { exactUs, formatBytes, formatDuration, formatPercent, significant } from "./format";
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

/** Mean of the points within a range; of the nearest one where none is. */
export function meanIn({ time_us, mean }: CounterLine, { startUs, endUs }: TimeRange): number | undefined {
  const inside = mean.filter((_, point) => {
    const us = time_us[point] ?? Number.NaN;
    return us >= startUs && us <= endUs;
  });
  if (inside.length === 0) return mean[nearest(time_us, (startUs + endUs) / 2)];
  return inside.reduce((sum, value) => sum + value, 0) / inside.length;
}

/** What each line says of the time on screen: its name, where there are several, and its mean. */
export function lineLabels({ lines, unit }: Chart, range: TimeRange): string[] {
  return lines.map((line) => {
    const mean = meanIn(line, range);
    const words = mean === undefined ? "" : `mean ${valueWords(mean, unit)}`;
    return lines.length === 1 || line.name === "" ? words : `${line.name}: ${words}`;
  });
}

/** The point of the first line that is nearest to `us`; -1 where there is none. */
export function pointAt(chart: Chart, us: number): number {
  const times = chart.lines[0]?.time_us ?? [];
  return nearest(times, us);
}

function nearest(times: readonly number[], us: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) >= us) high = middle;
    else low = middle + 1;
  }
  if (low === 0) return times.length === 0 ? -1 : 0;
  return us - (times[low - 1] ?? -Infinity) <= (times[low] ?? Infinity) - us ? low - 1 : low;
}

/** What all lines of a counter say at the time of the first one's point. */
export function counterHover({ chart, title }: LaneRows, point: number): HoverInfo | null {
  const atUs = chart?.lines[0]?.time_us[point];
  if (chart === null || atUs === undefined) return null;
  const lines = chart.lines.map((line) => lineWords(line, nearest(line.time_us, atUs), chart.unit));
  return { box: null, title, lines: [...lines, `at ${exactUs(atUs)}`], token: "ink-muted" };
}

function lineWords(line: CounterLine, point: number, unit: string): string {
  const mean = `${line.name}: ${valueWords(line.mean[point] ?? 0, unit)}`;
  const low = line.low[point];
  const high = line.high[point];
  if (low === undefined || high === undefined || low === high) return mean;
  return `${mean} (${valueWords(low, unit)} to ${valueWords(high, unit)})`;
}
