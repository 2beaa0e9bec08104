// Where the bars of the step chart stand, in CSS pixels.

import type { Steps } from "../../contract/report";
import { chooseTimeUnit, type TimeUnit } from "../../model/format";
import { type StepBar, stepBars } from "../../model/steps";

export const LEFT_PX = 56;
const RIGHT_PX = 8;
export const WAIT_TOP_PX = 28;
export const WAIT_PX = 56;
export const BARS_PX = 160;
const MAX_SLOT_PX = 120;
const MIN_SLOT_PX = 3;
export const LABEL_PX = 32;

export type Geometry = {
  readonly bars: readonly StepBar[];
  readonly slotPx: number;
  readonly barPx: number;
  readonly endPx: number;
  readonly unit: TimeUnit;
  readonly longestUs: number;
  readonly mostWaitUs: number;
  readonly waitUnit: TimeUnit;
  readonly waitKnown: boolean;
  readonly barsTopPx: number;
  readonly heightPx: number;
};

export function geometryOf(steps: Steps, widthPx: number, waitKnown: boolean): Geometry {
  const plotPx = Math.max(100, widthPx - LEFT_PX - RIGHT_PX);
  const bars = stepBars(steps.items, Math.floor(plotPx / MIN_SLOT_PX));
  const slotPx = Math.min(MAX_SLOT_PX, plotPx / Math.max(1, bars.length));
  const durations = bars.map(({ step }) => step.duration_us);
  const waits = bars.map(({ step }) => step.data_wait_us ?? 0);
  const barsTopPx = waitKnown ? WAIT_TOP_PX + WAIT_PX + 36 : 24;
  return {
    bars,
    slotPx,
    barPx: slotPx > 8 ? slotPx - Math.min(32, slotPx * 0.25) : Math.max(1, slotPx - 1),
    endPx: LEFT_PX + slotPx * bars.length,
    unit: chooseTimeUnit(durations),
    longestUs: Math.max(1e-3, ...durations),
    mostWaitUs: Math.max(...waits, 0),
    waitUnit: chooseTimeUnit(waits),
    waitKnown,
    barsTopPx,
    heightPx: barsTopPx + BARS_PX + 24,
  };
}

/** Index of the bar at `xPx` of the chart, the nearest one beside the plot. */
export function barAt({ bars, slotPx }: Geometry, xPx: number): number {
  return Math.max(0, Math.min(bars.length - 1, Math.floor((xPx - LEFT_PX) / slotPx)));
}
