// Where each lane stands on the canvas, in CSS pixels from its top.

import type { LaneRows, TimelineModel } from "./lanes";
import { rowCounts } from "./lanes";

export const AXIS_PX = 24;
export const ROW_PX = 18;
const LANE_GAP_PX = 8;

export type PlacedLane = { readonly lane: LaneRows; readonly topPx: number; readonly heightPx: number };
export type Layout = { readonly lanes: readonly PlacedLane[]; readonly heightPx: number };

/** `order` gives the lanes (the whole window knows them all); `others` may only add rows to them. */
export function placeLanes(order: TimelineModel, others: readonly TimelineModel[]): Layout {
  const counts = rowCounts([order, ...others]);
  const lanes: PlacedLane[] = [];
  let topPx = AXIS_PX + LANE_GAP_PX;
  order.lanes.forEach((lane, index) => {
    const heightPx = (counts.get(lane.id) ?? 1) * ROW_PX;
    lanes.push({ lane, topPx, heightPx });
    // Gaps belong to the device above them: nothing stands between the two.
    topPx += heightPx + (order.lanes[index + 1]?.kind === "gaps" ? 0 : LANE_GAP_PX);
  });
  return { lanes, heightPx: topPx };
}

/** The lane and row under a point; null between lanes. */
export function rowAt(layout: Layout, yPx: number): { readonly placed: PlacedLane; readonly row: number } | null {
  for (const placed of layout.lanes) {
    if (yPx < placed.topPx || yPx >= placed.topPx + placed.heightPx) continue;
    return { placed, row: Math.floor((yPx - placed.topPx) / ROW_PX) };
  }
  return null;
}
