// Draws a counter's lane: a line per series, and the range of the values that each point merges as a band.

import { valueWords } from "../model/counters";
import { type PlacedLane, ROW_PX } from "../model/lane-layout";
import type { Chart, CounterLine, LaneRows } from "../model/lanes";
import { usToPx } from "../model/time-scale";
import type { Frame } from "./frame";

const PAD_PX = 3;
/** Lines of one counter differ by their dashes. */
const DASHES: ReadonlyArray<readonly number[]> = [[], [4, 3], [1, 3]];

export function paintCounter(
  context: CanvasRenderingContext2D,
  frame: Frame,
  placed: PlacedLane,
  lane: LaneRows,
  chart: Chart,
): void {
  const { palette, scale, hover } = frame;
  const bottom = placed.topPx + placed.heightPx - PAD_PX;
  const yOf = (value: number): number =>
    bottom - (placed.heightPx - 2 * PAD_PX) * Math.min(1, Math.max(0, value / (chart.top || 1)));
  context.fillStyle = palette.rule;
  context.fillRect(scale.leftPx, bottom, scale.rightPx - scale.leftPx, 1);
  chart.lines.forEach((line, number) => {
    const xs = line.time_us.map((us) => usToPx(scale, us));
    paintBand(context, xs, line, yOf, palette.rule);
    context.strokeStyle = palette["ink-muted"];
    context.lineWidth = 1.25;
    context.setLineDash([...(DASHES[number % DASHES.length] ?? [])]);
    trace(context, xs, line.mean.map(yOf));
    context.stroke();
    context.setLineDash([]);
  });
  if (hover !== null && hover.laneId === lane.id) paintCursor(context, frame, placed, chart, hover.index);
  const top = valueWords(chart.top, chart.unit);
  const middle = placed.topPx + ROW_PX / 2 - 2;
  // A line may run where the words stand: their ground is cleared first.
  context.fillStyle = palette.paper;
  context.fillRect(
    scale.rightPx - context.measureText(top).width - 6,
    middle - 7,
    context.measureText(top).width + 6,
    14,
  );
  context.fillStyle = palette["ink-faint"];
  context.textAlign = "right";
  context.fillText(top, scale.rightPx - 2, middle);
  context.textAlign = "left";
}

function trace(context: CanvasRenderingContext2D, xs: readonly number[], ys: readonly number[]): void {
  context.beginPath();
  for (const [i, x] of xs.entries()) {
    if (i === 0) context.moveTo(x, ys[i] ?? 0);
    else context.lineTo(x, ys[i] ?? 0);
  }
}

function paintBand(
  context: CanvasRenderingContext2D,
  xs: readonly number[],
  line: CounterLine,
  yOf: (value: number) => number,
  fill: string,
): void {
  if (line.low.length !== xs.length || line.high.length !== xs.length) return;
  context.fillStyle = fill;
  trace(context, xs, line.high.map(yOf));
  for (let i = xs.length - 1; i >= 0; i -= 1) context.lineTo(xs[i] ?? 0, yOf(line.low[i] ?? 0));
  context.fill();
}

function paintCursor(
  context: CanvasRenderingContext2D,
  { scale, palette }: Frame,
  placed: PlacedLane,
  chart: Chart,
  point: number,
): void {
  const us = chart.lines[0]?.time_us[point];
  if (us === undefined) return;
  context.fillStyle = palette.ink;
  context.fillRect(Math.round(usToPx(scale, us)), placed.topPx, 1, placed.heightPx);
}
