// Two coordinate spaces: time in microseconds on the capture's clock (`...Us`) and CSS pixels of the canvas (`...Px`).

/** Half-open stretch of the capture's clock. */
export type TimeRange = { readonly startUs: number; readonly endUs: number };

export type TimeScale = { readonly range: TimeRange; readonly leftPx: number; readonly rightPx: number };

/** Below this a double cannot place a nanosecond reliably in a long capture, and nothing in a trace is shorter. */
export const MIN_RANGE_US = 0.05;

const MAX_TICKS = 1000;

export function lengthUs(range: TimeRange): number {
  return range.endUs - range.startUs;
}

export function usToPx(scale: TimeScale, us: number): number {
  const pxPerUs = (scale.rightPx - scale.leftPx) / lengthUs(scale.range);
  return scale.leftPx + (us - scale.range.startUs) * pxPerUs;
}

export function pxToUs(scale: TimeScale, px: number): number {
  const usPerPx = lengthUs(scale.range) / (scale.rightPx - scale.leftPx);
  return scale.range.startUs + (px - scale.leftPx) * usPerPx;
}

/** Moves `range` into `bounds`, keeping its length where it fits. */
export function clampRange(range: TimeRange, bounds: TimeRange): TimeRange {
  const length = Math.min(lengthUs(bounds), Math.max(MIN_RANGE_US, lengthUs(range)));
  const startUs = Math.min(Math.max(range.startUs, bounds.startUs), bounds.endUs - length);
  return { startUs, endUs: startUs + length };
}

/** `factor` < 1 zooms in. The time under `anchorUs` stays where it is. */
export function zoomAround(range: TimeRange, factor: number, anchorUs: number, bounds: TimeRange): TimeRange {
  const length = Math.min(lengthUs(bounds), Math.max(MIN_RANGE_US, lengthUs(range) * factor));
  const position = (anchorUs - range.startUs) / lengthUs(range);
  const startUs = anchorUs - position * length;
  return clampRange({ startUs, endUs: startUs + length }, bounds);
}

export function panBy(range: TimeRange, deltaUs: number, bounds: TimeRange): TimeRange {
  return clampRange({ startUs: range.startUs + deltaUs, endUs: range.endUs + deltaUs }, bounds);
}

/** A stretch of interest with half its length free on both sides. */
export function aroundSpan(startUs: number, durationUs: number, bounds: TimeRange): TimeRange {
  const margin = Math.max(durationUs * 0.5, MIN_RANGE_US);
  return clampRange({ startUs: startUs - margin, endUs: startUs + durationUs + margin }, bounds);
}

export function covers(outer: TimeRange, inner: TimeRange): boolean {
  const slack = lengthUs(inner) * 1e-6;
  return outer.startUs <= inner.startUs + slack && outer.endUs >= inner.endUs - slack;
}

/** Smallest of 1, 2, 5 times a power of ten that gives at most `maxCount` steps. */
export function niceStep(length: number, maxCount: number): number {
  const raw = length / Math.max(1, maxCount);
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const multiple of [1, 2, 5]) if (multiple * power >= raw * (1 - 1e-9)) return multiple * power;
  return 10 * power;
}

/** A step for at most `maxCount` ticks, but at least two of them: one alone is no scale. */
export function rulerStep({ startUs, endUs }: TimeRange, maxCount: number): number {
  const finer = [1, 2, 4].map((times) => niceStep(endUs - startUs, times * maxCount));
  return finer.find((step) => ticks(startUs, endUs, step).length >= 2) ?? finer[0] ?? 0;
}

/** Multiples of `step` inside the range. Counted, not accumulated, so that rounding cannot creep in. */
export function ticks(start: number, end: number, step: number): number[] {
  // A window without length has no step to count by.
  if (!(step > 0) || !Number.isFinite(start / step) || (end - start) / step > MAX_TICKS) return [];
  const first = Math.ceil(start / step - 1e-9);
  const last = Math.floor(end / step + 1e-9);
  const out: number[] = [];
  for (let n = first; n <= last; n += 1) out.push(n === 0 ? 0 : n * step);
  return out;
}
