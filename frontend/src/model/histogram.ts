// A histogram of the report as bars: where its bins lie, in pixels.

import type { Histogram } from "../contract/report";

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
