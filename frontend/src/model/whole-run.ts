// A whole run on one axis: which lines there are, and how they are drawn.

import type { RunPoint, WholeRun } from "../contract/report";
import { formatBytes, formatDuration, formatPercent, significant } from "./format";
import { niceStep } from "./time-scale";

export type RunLine = {
  readonly label: string;
  readonly stroke: "main" | "second" | "third";
  readonly of: (point: RunPoint) => number | undefined;
};

export type Panel = {
  readonly title: string;
  readonly lines: readonly RunLine[];
  readonly text: (value: number) => string;
  /** What the top of the axis is; undefined: the largest value. */
  readonly top?: number;
};

const PANELS: readonly Panel[] = [
  {
    title: "Data wait",
    lines: [{ label: "data wait", stroke: "main", of: (point) => point.data_wait_share }],
    text: formatPercent,
    top: 1,
  },
  {
    title: "Step time",
    lines: [
      { label: "mean", stroke: "main", of: (point) => point.step_us },
      { label: "p95", stroke: "second", of: (point) => point.p95_us },
    ],
    text: formatDuration,
  },
  {
    title: "Samples/s",
    lines: [{ label: "samples/s", stroke: "main", of: (point) => point.samples_per_s }],
    text: (value) => significant(value),
  },
  {
    title: "Python, of the time",
    lines: [
      { label: "waiting for the GIL", stroke: "main", of: (point) => point.gil_share },
      { label: "garbage collector", stroke: "second", of: (point) => point.gc_share },
    ],
    text: formatPercent,
  },
  {
    title: "Memory",
    lines: [
      { label: "training process", stroke: "main", of: (point) => point.rss_bytes },
      { label: "DataLoader workers", stroke: "second", of: (point) => point.workers_rss_bytes },
      { label: "/dev/shm", stroke: "third", of: (point) => point.shm_bytes },
    ],
    text: formatBytes,
  },
  {
    title: "Device utilisation",
    lines: [{ label: "device utilisation", stroke: "main", of: (point) => point.device_percent }],
    text: (value) => formatPercent(value / 100),
    top: 100,
  },
];

export type LineName = { readonly line: RunLine; readonly row: number; readonly keyPx: number };

const TITLE_LETTER_PX = 6.6;
const LETTER_PX = 5.8;
const KEY_PX = 24;
const BETWEEN_PX = 16;

/**
 * The names of a panel's lines behind its title, in rows of `roomPx`, and where each begins: widths are estimated, since
 * a picture that is not laid out yet knows none. None where the title says it all.
 */
export function lineNames({ title, lines }: Panel, roomPx: number): LineName[] {
  if (lines.length === 1 && lines[0]?.label === title.toLowerCase()) return [];
  let row = 0;
  let endPx = title.length * TITLE_LETTER_PX;
  return lines.map((line) => {
    const longPx = KEY_PX + line.label.length * LETTER_PX;
    const isNewRow = endPx + BETWEEN_PX + longPx > roomPx;
    const keyPx = isNewRow ? 0 : endPx + BETWEEN_PX;
    row += Number(isNewRow);
    endPx = keyPx + longPx;
    return { line, row, keyPx };
  });
}

/** Panels and lines of which the run has something. */
export function panelsOf(points: readonly RunPoint[]): Panel[] {
  return PANELS.map((panel) => ({
    ...panel,
    lines: panel.lines.filter((line) => points.some((point) => line.of(point) !== undefined)),
  })).filter((panel) => panel.lines.length > 0);
}

export function topOf(panel: Panel, points: readonly RunPoint[]): number {
  if (panel.top !== undefined) return panel.top;
  const most = points.reduce(
    (top, point) => panel.lines.reduce((highest, line) => Math.max(highest, line.of(point) ?? 0), top),
    0,
  );
  return most > 0 ? roundAbove(most) : 1;
}

/** The next round number: a line never touches the names above it. */
function roundAbove(value: number): number {
  const step = niceStep(value, 4);
  return step * (Math.floor(value / step + 1e-9) + 1);
}

/** Whether a line is known in some points of the run, and in others not. */
export function hasUnknown(points: readonly RunPoint[]): boolean {
  return panelsOf(points).some(({ lines }) => lines.some((line) => points.some((one) => line.of(one) === undefined)));
}

/** An SVG path in steps, one level per point; broken where nothing is known, or nothing was recorded between two. */
export function pathOf(
  points: readonly RunPoint[],
  line: RunLine,
  xOf: (seconds: number) => number,
  yOf: (value: number) => number,
): string {
  let path = "";
  let endS = Number.NaN;
  for (const point of points) {
    const value = line.of(point);
    if (value === undefined) {
      endS = Number.NaN;
      continue;
    }
    const joins = point.from_s - endS < 1;
    const y = yOf(value).toFixed(1);
    path += `${joins ? "L" : "M"}${xOf(point.from_s).toFixed(1)},${y}L${xOf(point.to_s).toFixed(1)},${y}`;
    endS = point.to_s;
  }
  return path;
}

/** "run exp1, rank 3". */
export function runName({ run, rank }: Pick<WholeRun, "run" | "rank">): string {
  const folder = run === "." ? "log directory" : run;
  return rank === undefined ? folder : `${folder}, rank ${rank}`;
}

/** "1:02:03" since the run began. */
export function clockOf(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

const CLOCK_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** Moments that a clock counts by, from 0 to `endS`, at most so many of them after the first. */
export function clockTicks(endS: number, most: number): number[] {
  const longest = 86_400 * Math.ceil(endS / 86_400 / most);
  const step = CLOCK_STEPS_S.find((seconds) => endS / seconds <= most) ?? longest;
  return Array.from({ length: Math.floor(endS / step) + 1 }, (_, tick) => tick * step);
}

/** The point at a moment; the nearest one where nothing was recorded. */
export function pointAt(points: readonly RunPoint[], seconds: number): number {
  const distance = (point: RunPoint): number => Math.max(point.from_s - seconds, seconds - point.to_s, 0);
  return points.reduce((best, point, index) => {
    const known = points[best];
    return known === undefined || distance(point) < distance(known) ? index : best;
  }, 0);
}
