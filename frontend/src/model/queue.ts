// Queue depth over time as a step function, reduced to what its pixels can show.

import type { QueueDepth } from "../contract/report";
import { type TimeScale, usToPx } from "./time-scale";

/** Index of the last row at or before `us`; -1 before the first. */
export function rowAtTime(timeUs: readonly number[], us: number): number {
  let low = 0;
  let high = timeUs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timeUs[middle] ?? Infinity) > us) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

export function deepest(queue: QueueDepth): number {
  return queue.time_us.reduce((most, _, i) => Math.max(most, queue.ready[i] ?? 0, queue.in_flight[i] ?? 0), 0);
}

export type Corner = { readonly xPx: number; readonly value: number };

/**
 * Corners of the step line over the scale's range. Many changes within one pixel keep its lowest, highest and last value:
 * an empty queue is what the chart is read for, and it may be short.
 */
export function stepCorners(timeUs: readonly number[], values: readonly number[], scale: TimeScale): Corner[] {
  const { startUs, endUs } = scale.range;
  const first = rowAtTime(timeUs, startUs);
  const corners: Corner[] = [];
  let pixel = scale.leftPx;
  let value = first < 0 ? undefined : values[first];
  if (value !== undefined) corners.push({ xPx: pixel, value });
  for (let i = first + 1; i < timeUs.length && (timeUs[i] ?? Infinity) <= endUs; ) {
    pixel = Math.floor(usToPx(scale, timeUs[i] ?? 0));
    const group: number[] = [];
    const from = usToPx(scale, timeUs[i] ?? 0);
    for (
      ;
      i < timeUs.length && (timeUs[i] ?? Infinity) <= endUs && Math.floor(usToPx(scale, timeUs[i] ?? 0)) === pixel;
      i += 1
    ) {
      group.push(values[i] ?? 0);
    }
    const last = group.at(-1) ?? 0;
    if (value !== undefined) corners.push({ xPx: from, value });
    for (const extreme of new Set([Math.max(...group), Math.min(...group), last]))
      corners.push({ xPx: from, value: extreme });
    if (corners.at(-1)?.value !== last) corners.push({ xPx: from, value: last });
    value = last;
  }
  if (value !== undefined) corners.push({ xPx: scale.rightPx, value });
  return corners;
}
