// Draws one frame of the timeline, lanes and times on a canvas each. Knows nothing of events or state.

import { formatDuration, formatTick } from "../model/format";
import { AXIS_PX, type PlacedLane, ROW_PX } from "../model/lane-layout";
import type { LaneRows } from "../model/lanes";
import { lengthUs, rulerStep, type TimeRange, ticks, usToPx } from "../model/time-scale";
import { paintBoxes, paintGaps, paintHover } from "./box-painter";
import { paintCounter } from "./counter-painter";
import type { Frame } from "./frame";
import { paintLink, paintPlace } from "./mark-painter";
import { titleLines } from "./text";

const FONT = "11px system-ui, sans-serif";
const TICK_SPACING_PX = 110;
const FOLD_PX = 12;

export function paintTimeline(context: CanvasRenderingContext2D, frame: Frame): void {
  context.font = FONT;
  context.textBaseline = "middle";
  paintGrid(context, frame);
  paintSelection(context, frame);
  const lanes = new Map(frame.model.lanes.map((lane) => [lane.id, lane]));
  context.save();
  context.beginPath();
  context.rect(frame.scale.leftPx, 0, frame.scale.rightPx - frame.scale.leftPx, frame.heightPx);
  context.clip();
  for (const placed of frame.layout.lanes) {
    const lane = lanes.get(placed.lane.id);
    if (lane !== undefined) paintLane(context, frame, placed, lane);
  }
  if (frame.marked !== null) paintPlace(context, frame, frame.marked);
  if (frame.link !== null) paintLink(context, frame, frame.link);
  if (frame.selecting !== null) paintSelecting(context, frame, frame.selecting);
  context.restore();
  paintTitles(context, frame);
}

/** The times above the lanes, and how long the stretch is that is being selected there. */
export function paintRuler(context: CanvasRenderingContext2D, frame: Frame): void {
  const { scale, palette, selecting } = frame;
  context.font = FONT;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.strokeStyle = palette.rule;
  context.lineWidth = 1;
  context.fillStyle = palette["ink-muted"];
  context.beginPath();
  for (const { us, xPx, step } of gridOf(frame)) {
    context.moveTo(xPx, 4);
    context.lineTo(xPx, AXIS_PX);
    const label = formatTick(us, step);
    if (xPx + 4 + context.measureText(label).width <= scale.rightPx) context.fillText(label, xPx + 4, AXIS_PX / 2);
  }
  context.moveTo(0, AXIS_PX - 0.5);
  context.lineTo(frame.widthPx, AXIS_PX - 0.5);
  context.stroke();
  if (selecting === null) return;
  const [left, right] = paintSelecting(context, frame, selecting);
  const words = formatDuration(lengthUs(selecting));
  const width = context.measureText(words).width + 8;
  const x = Math.max(scale.leftPx, Math.min(scale.rightPx - width, (left + right - width) / 2));
  context.fillRect(x, 2, width, AXIS_PX - 5);
  context.fillStyle = palette.paper;
  context.fillText(words, x + 4, AXIS_PX / 2);
}

/** The stretch that is being selected; returns its ends. */
function paintSelecting(context: CanvasRenderingContext2D, frame: Frame, range: TimeRange): [number, number] {
  const { scale, palette } = frame;
  const [left, right] = [usToPx(scale, range.startUs), usToPx(scale, range.endUs)];
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.15;
  context.fillRect(left, 0, right - left, frame.heightPx);
  context.globalAlpha = 1;
  for (const x of [left, right - 1]) context.fillRect(Math.round(x), 0, 1, frame.heightPx);
  return [left, right];
}

function gridOf({ scale }: Frame): Array<{ readonly us: number; readonly xPx: number; readonly step: number }> {
  const step = rulerStep(scale.range, (scale.rightPx - scale.leftPx) / TICK_SPACING_PX);
  const times = ticks(scale.range.startUs, scale.range.endUs, step);
  return times.map((us) => ({ us, xPx: Math.round(usToPx(scale, us)) + 0.5, step }));
}

function paintGrid(context: CanvasRenderingContext2D, frame: Frame): void {
  context.strokeStyle = frame.palette.rule;
  context.lineWidth = 1;
  context.beginPath();
  for (const { xPx } of gridOf(frame)) {
    context.moveTo(xPx, 0);
    context.lineTo(xPx, frame.heightPx);
  }
  context.stroke();
}

function paintSelection(context: CanvasRenderingContext2D, frame: Frame): void {
  const { selected, scale, palette } = frame;
  if (selected === null) return;
  const left = Math.max(scale.leftPx, usToPx(scale, selected.startUs));
  const right = Math.min(scale.rightPx, usToPx(scale, selected.endUs));
  if (right < left) return;
  context.fillStyle = palette.selected;
  context.fillRect(left, 0, Math.max(1, right - left), frame.heightPx);
}

function paintTitles(context: CanvasRenderingContext2D, frame: Frame): void {
  context.fillStyle = frame.palette["ink-muted"];
  context.textAlign = "left";
  for (const { lane, topPx, heightPx, folded } of frame.layout.lanes) {
    const middle = topPx + ROW_PX / 2;
    const room = frame.scale.leftPx - 16;
    const left = folded === null ? 0 : FOLD_PX;
    if (folded !== null) context.fillText(folded ? "▸" : "▾", 0, middle);
    const lines = titleLines(context, lane.title, lane.tail, room - left, heightPx / ROW_PX);
    for (const [at, line] of lines.entries()) context.fillText(line, left, middle + at * ROW_PX);
  }
}

function paintLane(context: CanvasRenderingContext2D, frame: Frame, placed: PlacedLane, lane: LaneRows): void {
  if (lane.chart !== null) {
    paintCounter(context, frame, placed, lane, lane.chart);
    return;
  }
  const drawn = placed.folded === true ? 1 : lane.rows.length;
  const [rows, hidden] = [lane.rows.slice(0, drawn), lane.rows.slice(drawn)];
  rows.forEach((row, depth) => {
    const topPx = placed.topPx + depth * ROW_PX;
    if (lane.kind === "gaps") paintGaps(context, frame, row, topPx);
    else paintBoxes(context, frame, row, topPx, lane.kind, hidden);
  });
  const { hover } = frame;
  if (hover !== null && hover.laneId === lane.id) paintHover(context, frame, placed, lane, hover);
}
