// Draws one frame of the timeline. Knows nothing of events or state.

import type { Link, Mark } from "../model/batches";
import { type Place, rowOfPlace } from "../model/chain";
import { inkOn } from "../model/color";
import { pointAt } from "../model/counters";
import { formatTick } from "../model/format";
import { AXIS_PX, type Layout, type PlacedLane, ROW_PX } from "../model/lane-layout";
import { hit, type LaneRows, type Row, type TimelineModel, visible } from "../model/lanes";
import { lengthUs, niceStep, pxToUs, type TimeRange, type TimeScale, ticks, usToPx } from "../model/time-scale";
import { colorOf, isHatched, type Palette } from "../theme/tokens";
import { paintCounter } from "./counter-painter";
import { hatch } from "./hatch";

const FONT = "11px system-ui, sans-serif";
const BOX_PX = ROW_PX - 2;
const MIN_LABEL_PX = 20;
const TICK_SPACING_PX = 110;
const FOLD_PX = 12;
const ARROW_PX = 7;
/** Of gaps that are filtered out. */
const FAINT = 0.15;

export type Frame = {
  readonly model: TimelineModel;
  readonly layout: Layout;
  readonly scale: TimeScale;
  readonly palette: Palette;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly selected: TimeRange | null;
  readonly marked: Place | null;
  readonly only: string | null;
  readonly link: Link | null;
  readonly hover: Hit | null;
};

/** A box, by where it stands in the columns. */
export type Hit = { readonly laneId: string; readonly row: number; readonly index: number };

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
  context.restore();
  paintTitles(context, frame);
}

function paintGrid(context: CanvasRenderingContext2D, frame: Frame): void {
  const { scale, palette } = frame;
  const step = niceStep(lengthUs(scale.range), (scale.rightPx - scale.leftPx) / TICK_SPACING_PX);
  context.strokeStyle = palette.rule;
  context.lineWidth = 1;
  context.beginPath();
  context.fillStyle = palette["ink-muted"];
  context.textAlign = "left";
  for (const us of ticks(scale.range.startUs, scale.range.endUs, step)) {
    const x = Math.round(usToPx(scale, us)) + 0.5;
    context.moveTo(x, 4);
    context.lineTo(x, frame.heightPx);
    const label = formatTick(us, step);
    if (x + 4 + context.measureText(label).width <= scale.rightPx) context.fillText(label, x + 4, AXIS_PX / 2);
  }
  context.moveTo(0, AXIS_PX + 0.5);
  context.lineTo(frame.widthPx, AXIS_PX + 0.5);
  context.stroke();
}

function paintSelection(context: CanvasRenderingContext2D, frame: Frame): void {
  const { selected, scale, palette } = frame;
  if (selected === null) return;
  const left = Math.max(scale.leftPx, usToPx(scale, selected.startUs));
  const right = Math.min(scale.rightPx, usToPx(scale, selected.endUs));
  if (right < left) return;
  context.fillStyle = palette.selected;
  context.fillRect(left, AXIS_PX + 1, Math.max(1, right - left), frame.heightPx - AXIS_PX - 1);
}

function paintTitles(context: CanvasRenderingContext2D, frame: Frame): void {
  context.fillStyle = frame.palette["ink-muted"];
  context.textAlign = "left";
  for (const { lane, topPx, folded } of frame.layout.lanes) {
    const middle = topPx + ROW_PX / 2;
    const room = frame.scale.leftPx - 16;
    const left = folded === null ? 0 : FOLD_PX;
    if (folded !== null) context.fillText(folded ? "▸" : "▾", 0, middle);
    const text = fitTitle(context, lane.title, room - left);
    if (text !== "") context.fillText(text, left, middle);
  }
}

/** The number at a title's end is what tells lanes apart: it stays. */
function fitTitle(context: CanvasRenderingContext2D, title: string, room: number): string {
  const [, tail = ""] = /( \d+(?:, loader \d+)?)$/.exec(title) ?? [];
  if (tail === "" || context.measureText(title).width <= room) return fitText(context, title, room);
  return fitText(context, title.slice(0, -tail.length), room - context.measureText(tail).width) + tail;
}

function paintLane(context: CanvasRenderingContext2D, frame: Frame, placed: PlacedLane, lane: LaneRows): void {
  if (lane.chart !== null) return paintCounter(context, frame, placed, lane, lane.chart);
  const rows = placed.folded === true ? lane.rows.slice(0, 1) : lane.rows;
  rows.forEach((row, depth) => {
    const topPx = placed.topPx + depth * ROW_PX;
    if (lane.kind === "gaps") paintGaps(context, frame, row, topPx);
    else paintBoxes(context, frame, row, topPx, lane.kind);
  });
  const { hover } = frame;
  if (hover !== null && hover.laneId === lane.id) paintHover(context, frame, placed, lane, hover);
}

type Extent = { readonly left: number; readonly right: number };

/** Pixel extent of a box, cut to the canvas so that a huge one costs no more than a small one. */
function extentOf(frame: Frame, row: Row, index: number): Extent {
  const start = row.startUs[index] ?? 0;
  const left = Math.max(frame.scale.leftPx - 2, usToPx(frame.scale, start));
  const right = Math.min(frame.scale.rightPx + 2, usToPx(frame.scale, start + (row.durationUs[index] ?? 0)));
  return { left, right };
}

function paintBoxes(context: CanvasRenderingContext2D, frame: Frame, row: Row, topPx: number, kind: string): void {
  const { palette, model } = frame;
  const [first, end] = visible(row, frame.scale.range);
  let drawnPx = -Infinity;
  let drawnColor = -1;
  for (let i = first; i < end; i += 1) {
    const { left, right } = extentOf(frame, row, i);
    const color = row.color[i] ?? -1;
    // Spans that end inside a pixel already painted in their colour add nothing to see.
    if (right <= drawnPx && color === drawnColor) continue;
    const token = model.names[color] ?? "";
    const fill = colorOf(palette, token);
    const width = Math.max(1, right - left > 3 ? right - left - 1 : right - left);
    context.fillStyle = isHatched(token) ? hatch(context, fill, palette.paper) : fill;
    context.globalAlpha = inkShare(row, i);
    context.fillRect(left, topPx, width, BOX_PX);
    context.globalAlpha = 1;
    drawnPx = Math.max(drawnPx, Math.ceil(left + width));
    drawnColor = color;
    const single = (row.merged[i] ?? 1) === 1;
    if (single && width >= MIN_LABEL_PX)
      paintLabel(context, frame, row, i, { left, right: left + width }, topPx, token);
    if (kind === "steps" && width >= 3) paintStepEdge(context, palette, left, topPx);
  }
}

/** A box that stands for several is as pale as what lies between them is empty, but never unseen. */
function inkShare(row: Row, index: number): number {
  return 0.3 + 0.7 * ((row.covered[index] ?? 100) / 100);
}

function paintStepEdge(context: CanvasRenderingContext2D, palette: Palette, left: number, topPx: number): void {
  context.fillStyle = palette["rule-strong"];
  context.fillRect(Math.round(left), topPx - 2, 1, BOX_PX + 4);
}

function paintLabel(
  context: CanvasRenderingContext2D,
  frame: Frame,
  row: Row,
  index: number,
  extent: Extent,
  topPx: number,
  token: string,
): void {
  const left = Math.max(extent.left, frame.scale.leftPx) + 4;
  const room = Math.min(extent.right, frame.scale.rightPx) - left - 4;
  const name = frame.model.names[row.name[index] ?? -1] ?? "";
  // A step or a batch that is cut short loses the word before the number.
  const isNumbered = (token === "step" || token === "batch") && context.measureText(name).width > room;
  const text = fitText(context, isNumbered ? name.replace(/^\D+/, "") : name, room);
  if (text === "" || (isHatched(token) && text !== name)) return;
  const { palette } = frame;
  const fill = colorOf(palette, token);
  const middle = topPx + BOX_PX / 2 + 0.5;
  if (isHatched(token)) {
    // Text on stripes cannot be read: clear its ground first.
    context.fillStyle = palette.paper;
    context.fillRect(left - 2, topPx + 1, context.measureText(text).width + 4, BOX_PX - 2);
    context.fillStyle = palette.ink;
  } else {
    context.fillStyle = inkOn(fill, [palette.paper, palette.ink]);
  }
  context.textAlign = "left";
  context.fillText(text, left, middle);
}

/** A gap is an absence: only a hairline in the colour of its cause, with ends once they can be told apart. */
function paintGaps(context: CanvasRenderingContext2D, frame: Frame, row: Row, topPx: number): void {
  const [first, end] = visible(row, frame.scale.range);
  const middle = topPx + Math.floor(ROW_PX / 2) - 1;
  for (let i = first; i < end; i += 1) {
    const { left, right } = extentOf(frame, row, i);
    const token = frame.model.names[row.color[i] ?? -1] ?? "";
    const color = colorOf(frame.palette, token);
    const width = Math.max(1, right - left > 4 ? right - left - 1 : right - left);
    context.fillStyle = isHatched(token) ? hatch(context, color, frame.palette.paper) : color;
    context.globalAlpha = frame.only === null || frame.only === token ? inkShare(row, i) : FAINT;
    context.fillRect(left, middle, width, 2);
    if (width >= 5) paintEnds(context, color, left, left + width, middle);
    context.globalAlpha = 1;
  }
}

function paintEnds(
  context: CanvasRenderingContext2D,
  color: string,
  left: number,
  right: number,
  middle: number,
): void {
  context.fillStyle = color;
  context.fillRect(left, middle - 3, 1, 8);
  context.fillRect(right - 1, middle - 3, 1, 8);
}

function paintHover(
  context: CanvasRenderingContext2D,
  frame: Frame,
  placed: PlacedLane,
  lane: LaneRows,
  hover: Hit,
): void {
  const row = lane.rows[hover.row];
  if (row === undefined) return;
  const { left, right } = extentOf(frame, row, hover.index);
  context.strokeStyle = frame.palette.ink;
  context.lineWidth = 1.5;
  context.strokeRect(left, placed.topPx + hover.row * ROW_PX, Math.max(2, right - left - 1), BOX_PX);
}

/** A frame round a span; round its whole lane for as long where it is too short to have a box. */
function paintPlace(context: CanvasRenderingContext2D, frame: Frame, place: Place): void {
  const placed = frame.layout.lanes.find(({ lane }) => lane.id === place.laneId);
  const lane = frame.model.lanes.find(({ id }) => id === place.laneId);
  if (placed === undefined || lane === undefined) return;
  const row = placed.folded === true ? 0 : rowOfPlace(lane, place, frame.model.names);
  const topPx = placed.topPx + (row ?? 0) * ROW_PX;
  const left = Math.max(frame.scale.leftPx - 4, usToPx(frame.scale, place.startUs));
  const right = Math.min(frame.scale.rightPx + 4, usToPx(frame.scale, place.endUs));
  if (right < left) return;
  context.strokeStyle = frame.palette.accent;
  context.lineWidth = 2;
  context.strokeRect(left - 1, topPx - 1, Math.max(4, right - left + 1), (row === null ? placed.heightPx : BOX_PX) + 1);
}

/** Both ends framed, and an arrow between them: what was made here was received there. */
function paintLink(context: CanvasRenderingContext2D, frame: Frame, { from, to }: Link): void {
  const start = paintMark(context, frame, from);
  const end = paintMark(context, frame, to);
  if (start === null || end === null) return;
  const up = end.topPx < start.topPx;
  const fromY = start.topPx + (up ? 0 : BOX_PX);
  const toY = end.topPx + (up ? BOX_PX : 0);
  const sign = up ? 1 : -1;
  const bend = Math.max(12, Math.abs(fromY - toY) / 2);
  for (const [color, width] of [
    [frame.palette.paper, 5],
    [frame.palette.accent, 2],
  ] as const) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(start.xPx, fromY);
    context.bezierCurveTo(start.xPx, fromY - sign * bend, end.xPx, toY + sign * bend, end.xPx, toY + sign * ARROW_PX);
    context.stroke();
  }
  context.fillStyle = frame.palette.accent;
  context.beginPath();
  context.moveTo(end.xPx, toY);
  context.lineTo(end.xPx - ARROW_PX * 0.6, toY + sign * ARROW_PX * 1.4);
  context.lineTo(end.xPx + ARROW_PX * 0.6, toY + sign * ARROW_PX * 1.4);
  context.fill();
}

/** Frames one end; says where on the canvas the arrow meets it. */
function paintMark(
  context: CanvasRenderingContext2D,
  frame: Frame,
  mark: Mark,
): { readonly xPx: number; readonly topPx: number } | null {
  const placed = frame.layout.lanes.find(({ lane }) => lane.id === mark.laneId);
  if (placed === undefined) return null;
  const { scale, palette } = frame;
  const left = Math.max(scale.leftPx - 4, usToPx(scale, mark.startUs));
  const right = Math.min(scale.rightPx + 4, usToPx(scale, mark.endUs));
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  if (right >= left) context.strokeRect(left, placed.topPx, Math.max(1, right - left), BOX_PX);
  return { xPx: usToPx(scale, mark.atUs), topPx: placed.topPx };
}

/** As much of `text` as `room` pixels hold, with an ellipsis; "" when not even that fits. */
function fitText(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (room <= 0 || text === "") return "";
  if (context.measureText(text).width <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : `${text.slice(0, low)}…`;
}

/** The box under a point, within 3 pixels; null when there is none. */
export function hitAt(frame: Pick<Frame, "model" | "scale">, laneId: string, row: number, xPx: number): Hit | null {
  const lane = frame.model.lanes.find((item) => item.id === laneId);
  if (lane !== undefined && lane.chart !== null) {
    const point = pointAt(lane.chart, pxToUs(frame.scale, xPx));
    return point < 0 ? null : { laneId, row: 0, index: point };
  }
  const columns = lane?.rows[row];
  if (columns === undefined) return null;
  const slackUs = (3 * lengthUs(frame.scale.range)) / (frame.scale.rightPx - frame.scale.leftPx);
  const index = hit(columns, pxToUs(frame.scale, xPx), slackUs);
  return index < 0 ? null : { laneId, row, index };
}
