// Draws what points at spans: a frame round one, an arrow from one to another.

import type { Link, Mark } from "../model/batches";
import type { Place } from "../model/chain";
import { stripsOf } from "../model/lane-layout";
import { usToPx } from "../model/time-scale";
import { BOX_PX, type Frame } from "./frame";

const ARROW_PX = 7;

/** A frame round a span; round its whole lane for as long where it is too short to have a box. */
export function paintPlace(context: CanvasRenderingContext2D, frame: Frame, place: Place): void {
  const strips = stripsOf(frame.layout, frame.model, place);
  if (strips === null) return;
  const { topPx, heightPx } = strips.row;
  const left = Math.max(frame.scale.leftPx - 4, usToPx(frame.scale, place.startUs));
  const right = Math.min(frame.scale.rightPx + 4, usToPx(frame.scale, place.endUs));
  if (right < left) return;
  context.strokeStyle = frame.palette.accent;
  context.lineWidth = 2;
  context.strokeRect(left - 1, topPx - 1, Math.max(4, right - left + 1), (strips.hasBox ? BOX_PX : heightPx) + 1);
}

/** Both ends framed, and an arrow between them: what was made here was received there. */
export function paintLink(context: CanvasRenderingContext2D, frame: Frame, { from, to }: Link): void {
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
