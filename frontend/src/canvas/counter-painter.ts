// Draws a counter's lane: a line per series, and the range of the values that each point merges as a band.

import { lineLabels, valueWords } from "../model/counters";
import type { PlacedLane } from "../model/lane-layout";
import type { Chart, CounterLine, LaneRows } from "../model/lanes";
import { type TimeRange, usToPx } from "../model/time-scale";
import type { Frame } from "./frame";
import { fitText } from "./text";

const PAD_PX = 3;
/** The words stand above the lines. */
const WORDS_PX = 16;
const KEY_PX = 28;
const BETWEEN_PX = 12;
/** A name that is cut to less says nothing. */
const LEAST_NAME_PX = 48;
/** Labels of one lane: a host may have a line per disk. */
const MOST_LABELS = 3;
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
    bottom - (placed.heightPx - WORDS_PX - PAD_PX) * Math.min(1, Math.max(0, value / (chart.top || 1)));
  context.fillStyle = palette.rule;
  context.fillRect(scale.leftPx, bottom, scale.rightPx - scale.leftPx, 1);
  chart.lines.forEach((line, number) => {
    const xs = line.time_us.map((us) => usToPx(scale, us));
    paintBand(context, xs, line, yOf, palette.rule);
    context.strokeStyle = palette["ink-muted"];
    context.lineWidth = 1.25;
    context.setLineDash([...dashOf(number)]);
    trace(context, xs, line.mean.map(yOf));
    context.stroke();
    context.setLineDash([]);
  });
  if (hover !== null && hover.laneId === lane.id) paintCursor(context, frame, placed, chart, hover.index);
  paintLabels(context, frame, placed, chart);
}

/** At the right, above the lines: each line's dashes, what it is and its mean on screen; then what the lane's height stands for. */
function paintLabels(
  context: CanvasRenderingContext2D,
  { scale, palette }: Frame,
  placed: PlacedLane,
  chart: Chart,
): void {
  const middle = placed.topPx + WORDS_PX / 2;
  const axis = `axis up to ${valueWords(chart.top, chart.unit)}`;
  const several = chart.lines.length > 1;
  const room = scale.rightPx - scale.leftPx;
  const items = labelsFor(context, chart, scale.range, room).map((words, number) => ({ words, dash: dashOf(number) }));
  const shown = items.slice(0, MOST_LABELS);
  const rest = items.length > shown.length ? [{ words: `and ${items.length - shown.length} more`, dash: null }] : [];
  const all = [...shown, ...rest, { words: axis, dash: null }].map(({ words, dash }) => {
    const keyPx = several && dash !== null ? KEY_PX : 0;
    return { words, dash, keyPx, widthPx: keyPx + context.measureText(words).width + BETWEEN_PX };
  });
  // Where there is no room for all, the axis goes first, then the lines from the last.
  while (all.length > 1 && all.reduce((sum, { widthPx }) => sum + widthPx, 0) > room) all.pop();
  let x = scale.rightPx - all.reduce((sum, { widthPx }) => sum + widthPx, 0);
  context.textAlign = "left";
  for (const { words, dash, keyPx, widthPx } of all) {
    if (keyPx > 0 && dash !== null) paintKey(context, palette["ink-muted"], dash, x + BETWEEN_PX, middle);
    context.fillStyle = words === axis ? palette["ink-faint"] : palette.ink;
    context.fillText(words, x + BETWEEN_PX + keyPx, middle);
    x += widthPx;
  }
}

/** With means; where those have no room, the names of the lines alone, cut so that each dash has one. */
function labelsFor(context: CanvasRenderingContext2D, chart: Chart, range: TimeRange, roomPx: number): string[] {
  const full = lineLabels(chart, range);
  const widthPx = full.reduce((sum, words) => sum + KEY_PX + context.measureText(words).width + BETWEEN_PX, 0);
  if (full.length < 2 || widthPx <= roomPx) return full;
  const eachPx = roomPx / Math.min(MOST_LABELS, full.length) - KEY_PX - BETWEEN_PX;
  const names = chart.lines.map(({ name }) => name);
  const namesPx = names.reduce((sum, name) => sum + KEY_PX + context.measureText(name).width + BETWEEN_PX, 0);
  return namesPx <= roomPx || eachPx < LEAST_NAME_PX ? names : names.map((name) => fitText(context, name, eachPx));
}

function paintKey(
  context: CanvasRenderingContext2D,
  stroke: string,
  dash: readonly number[],
  x: number,
  middle: number,
): void {
  context.strokeStyle = stroke;
  context.lineWidth = 1.25;
  context.setLineDash([...dash]);
  context.beginPath();
  context.moveTo(x, middle);
  context.lineTo(x + KEY_PX - 6, middle);
  context.stroke();
  context.setLineDash([]);
}

function dashOf(number: number): readonly number[] {
  return DASHES[number % DASHES.length] ?? [];
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
