// A histogram of the report as bars: where its bins lie, in pixels.

import type { Histogram } from "../contract/report";
import { niceStep, ticks } from "./time-scale";

export type Bar = {
  readonly fromUs: number;
  readonly toUs: number;
  readonly calls: number;
  readonly leftPx: number;
  readonly widthPx: number;
  /** Of the highest bar. */
  readonly share: number;
};

/** Bins that grow by a factor are drawn equally wide. */
function pxOf({ edges_us: edges, logarithmic }: Histogram, us: number, widthPx: number): number {
  const [first, last] = [edges[0] ?? 0, edges.at(-1) ?? 0];
  if (last <= first) return 0;
  const clamped = Math.min(last, Math.max(first, us));
  const part = logarithmic ? Math.log(clamped / first) / Math.log(last / first) : (clamped - first) / (last - first);
  return part * widthPx;
}

export function histogramBars(histogram: Histogram, widthPx: number): Bar[] {
  const { edges_us: edges, calls } = histogram;
  const most = Math.max(1, ...calls);
  return calls.map((count, bin) => {
    const [fromUs, toUs] = [edges[bin] ?? 0, edges[bin + 1] ?? 0];
    const leftPx = pxOf(histogram, fromUs, widthPx);
    const width = pxOf(histogram, toUs, widthPx) - leftPx;
    return { fromUs, toUs, calls: count, leftPx, widthPx: width, share: count / most };
  });
}

export function percentilePx(histogram: Histogram, us: number, widthPx: number): number {
  return pxOf(histogram, us, widthPx);
}

/** Of the axis of counts: whole numbers, 0 among them. */
export function countTicks(most: number): number[] {
  return ticks(0, most, Math.max(1, niceStep(most, 3)));
}

/** A label needs this much room. */
const LABEL_PX = 64;

export type DurationTick = { readonly us: number; readonly px: number };

/** Of the axis of durations: round ones, as far apart as their labels are wide. */
export function durationTicks(histogram: Histogram, widthPx: number): DurationTick[] {
  const { edges_us: edges, logarithmic } = histogram;
  const [first, last] = [edges[0] ?? 0, edges.at(-1) ?? 0];
  if (last <= first) return [];
  const round = logarithmic ? roundOnes(first, last) : ticks(first, last, niceStep(last - first, widthPx / LABEL_PX));
  const kept: DurationTick[] = [];
  for (const us of round) {
    const px = pxOf(histogram, us, widthPx);
    if (px - (kept.at(-1)?.px ?? -LABEL_PX) >= LABEL_PX) kept.push({ us, px });
  }
  return kept;
}

/** 1, 2 and 5 times powers of ten. */
function roundOnes(first: number, last: number): number[] {
  const out: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(first)); power <= last; power *= 10)
    out.push(...[1, 2, 5].map((times) => times * power).filter((us) => us >= first && us <= last));
  return out;
}
