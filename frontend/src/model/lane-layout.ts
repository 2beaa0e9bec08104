// Where each lane stands on the canvas, in CSS pixels from its top, and what is marked there.

import { type Place, rowOfPlace } from "./chain";
import type { LaneRows, TimelineModel } from "./lanes";
import { rowCounts } from "./lanes";

/** Height of the times, which have a canvas of their own above the lanes. */
export const AXIS_PX = 24;
export const ROW_PX = 18;
const LANE_GAP_PX = 8;
/** Folded lanes stand close, so that what they do together is seen together. */
const FOLDED_GAP_PX = 2;

/** Width of the lane titles, left of what carries time. */
export function gutterPx(widthPx: number): number {
  if (widthPx < 720) return 104;
  return widthPx < 1200 ? 152 : 208;
}

export type PlacedLane = {
  readonly lane: LaneRows;
  readonly topPx: number;
  readonly heightPx: number;
  /** null: the lane has but one row. */
  readonly folded: boolean | null;
};
export type Layout = { readonly lanes: readonly PlacedLane[]; readonly heightPx: number };

const NONE_FOLDED: ReadonlySet<string> = new Set();

/** `order` gives the lanes (the whole window knows them all); `others` may only add rows to them. */
export function placeLanes(
  order: TimelineModel,
  others: readonly TimelineModel[],
  foldedIds: ReadonlySet<string> = NONE_FOLDED,
): Layout {
  const counts = rowCounts([order, ...others]);
  const lanes: PlacedLane[] = [];
  let topPx = LANE_GAP_PX;
  order.lanes.forEach((lane, index) => {
    const rows = counts.get(lane.id) ?? 1;
    const isFolded = foldedIds.has(lane.id);
    const heightPx = (isFolded ? 1 : rows) * ROW_PX;
    const canFold = lane.kind === "worker" && rows > 1;
    lanes.push({ lane, topPx, heightPx, folded: canFold ? isFolded : null });
    topPx += heightPx + gapAfter(lane, order.lanes[index + 1], foldedIds);
  });
  return { lanes, heightPx: topPx };
}

function gapAfter(lane: LaneRows, next: LaneRows | undefined, foldedIds: ReadonlySet<string>): number {
  // Gaps belong to the device above them: nothing stands between the two.
  if (next?.kind === "gaps") return 0;
  return next !== undefined && foldedIds.has(lane.id) && foldedIds.has(next.id) ? FOLDED_GAP_PX : LANE_GAP_PX;
}

/** The lane and row under a point; null between lanes. */
export function rowAt(layout: Layout, yPx: number): { readonly placed: PlacedLane; readonly row: number } | null {
  for (const placed of layout.lanes) {
    if (yPx < placed.topPx || yPx >= placed.topPx + placed.heightPx) continue;
    return { placed, row: Math.floor((yPx - placed.topPx) / ROW_PX) };
  }
  return null;
}

export type Strip = { readonly topPx: number; readonly heightPx: number };

/** The lane of a place, and the row in it; the whole lane where the span is too short to have a box. */
export function stripsOf(
  layout: Layout,
  model: TimelineModel,
  place: Place,
): { readonly lane: Strip; readonly row: Strip; readonly hasBox: boolean } | null {
  const placed = layout.lanes.find(({ lane }) => lane.id === place.laneId);
  const lane = model.lanes.find(({ id }) => id === place.laneId);
  if (placed === undefined || lane === undefined) return null;
  const row = placed.folded === true ? 0 : rowOfPlace(lane, place, model.names);
  if (row === null) return { lane: placed, row: placed, hasBox: false };
  return { lane: placed, row: { topPx: placed.topPx + row * ROW_PX, heightPx: ROW_PX }, hasBox: true };
}
