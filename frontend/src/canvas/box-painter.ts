// Draws the boxes of a row, and gaps as the absences they are.

import type { BoxAddress } from "../model/hover";
import { type PlacedLane, ROW_PX } from "../model/lane-layout";
import { type LaneRows, type Row, visible } from "../model/lanes";
import { hasNamed } from "../model/spans";
import { inkFor } from "../theme/contrast";
import { colorOf, isHatched, type Palette } from "../theme/tokens";
import { BOX_PX, type Extent, extentOf, type Frame } from "./frame";
import { hatch } from "./hatch";
import { fitLastWords, fitText } from "./text";

const MIN_LABEL_PX = 20;
/** Of gaps that are filtered out, and of spans beside those that are searched. */
const FAINT = 0.15;

/** `hidden`: the rows below that are folded away; what is searched there is seen by the box above it. */
export function paintBoxes(
  context: CanvasRenderingContext2D,
  frame: Frame,
  row: Row,
  topPx: number,
  kind: string,
  hidden: readonly Row[] = [],
): void {
  const { palette, model } = frame;
  const [first, end] = visible(row, frame.scale.range);
  let drawnPx = -Infinity;
  let drawnColor = -1;
  let drawnFaint = false;
  for (let i = first; i < end; i += 1) {
    const { left, right } = extentOf(frame, row, i);
    const color = row.color[i] ?? -1;
    const isFaint = !isSearched(frame, row, i, hidden);
    // Spans that end inside a pixel already painted in their colour add nothing to see.
    if (right <= drawnPx && color === drawnColor && isFaint === drawnFaint) continue;
    const token = model.names[color] ?? "";
    const fill = colorOf(palette, token);
    const width = Math.max(1, right - left > 3 ? right - left - 1 : right - left);
    context.fillStyle = isHatched(token) ? hatch(context, fill, palette.paper) : fill;
    context.globalAlpha = isFaint ? FAINT : inkShare(row, i);
    context.fillRect(left, topPx, width, BOX_PX);
    context.globalAlpha = 1;
    drawnPx = Math.max(drawnPx, Math.ceil(left + width));
    drawnColor = color;
    drawnFaint = isFaint;
    const single = (row.merged[i] ?? 1) === 1;
    if (single && width >= MIN_LABEL_PX && !isFaint)
      paintLabel(context, frame, row, i, { left, right: left + width }, topPx, token);
    if (kind === "steps" && width >= 3) paintStepEdge(context, palette, left, topPx);
  }
}

/** Also where nothing is. */
function isSearched({ found }: Frame, row: Row, index: number, hidden: readonly Row[]): boolean {
  if (found === null || found.has(row.name[index] ?? -1)) return true;
  const startUs = row.startUs[index] ?? 0;
  return found.size > 0 && hasNamed(hidden, found, { startUs, endUs: startUs + (row.durationUs[index] ?? 0) });
}

/** A box that merges several spans is paler the more empty time it has, but always visible. */
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
  const isNumbered = token === "step" || token === "batch";
  const text = isNumbered ? fitLastWords(context, name, room) : fitText(context, name, room);
  if (text === "" || (isHatched(token) && text !== name)) return;
  const { palette } = frame;
  const middle = topPx + BOX_PX / 2 + 0.5;
  if (isHatched(token)) {
    // Text on stripes cannot be read: clear its ground first.
    context.fillStyle = palette.paper;
    context.fillRect(left - 2, topPx + 1, context.measureText(text).width + 4, BOX_PX - 2);
    context.fillStyle = palette.ink;
  } else {
    context.fillStyle = inkFor(palette, token);
  }
  context.textAlign = "left";
  context.fillText(text, left, middle);
}

/** A gap is an absence: only a hairline in the colour of its cause, with ends where there is room for them. */
export function paintGaps(context: CanvasRenderingContext2D, frame: Frame, row: Row, topPx: number): void {
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

export function paintHover(
  context: CanvasRenderingContext2D,
  frame: Frame,
  placed: PlacedLane,
  lane: LaneRows,
  hover: BoxAddress,
): void {
  const row = lane.rows[hover.row];
  if (row === undefined) return;
  const { left, right } = extentOf(frame, row, hover.index);
  context.strokeStyle = frame.palette.ink;
  context.lineWidth = 1.5;
  context.strokeRect(left, placed.topPx + hover.row * ROW_PX, Math.max(2, right - left - 1), BOX_PX);
}
