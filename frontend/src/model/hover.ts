// What the timeline says about the box under the pointer.

import { counterHover, pointAt } from "./counters";
import { exactPosition, exactUs, formatDuration, plural } from "./format";
import { hit, type LaneRows, type TimelineModel } from "./lanes";
import { lengthUs, pxToUs, type TimeScale } from "./time-scale";

/** A box of the timeline with what its columns say of it. */
export type BoxInfo = {
  readonly lane: LaneRows;
  readonly row: number;
  readonly name: string;
  readonly token: string;
  readonly startUs: number;
  readonly durationUs: number;
  readonly merged: number;
  /** Percent of the box that its spans cover. */
  readonly covered: number;
  /** Dataset index of a sample's box; null for all others. */
  readonly index: number | null;
};
export type HoverInfo = {
  /** null over a counter. */
  readonly box: BoxInfo | null;
  readonly title: string;
  readonly lines: readonly string[];
  readonly token: string;
};
export type BoxAddress = { readonly laneId: string; readonly row: number; readonly index: number };

export function boxAt(model: TimelineModel, { laneId, row: rowNumber, index }: BoxAddress): BoxInfo | null {
  const lane = model.lanes.find((item) => item.id === laneId);
  const row = lane?.rows[rowNumber];
  const startUs = row?.startUs[index];
  const durationUs = row?.durationUs[index];
  if (lane === undefined || row === undefined || startUs === undefined || durationUs === undefined) return null;
  const name = model.names[row.name[index] ?? -1] ?? "";
  const token = model.names[row.color[index] ?? -1] ?? "";
  const datasetIndex = row.index[index] ?? -1;
  return {
    lane,
    row: rowNumber,
    name,
    token,
    startUs,
    durationUs,
    merged: row.merged[index] ?? 1,
    covered: row.covered[index] ?? 100,
    index: datasetIndex < 0 ? null : datasetIndex,
  };
}

export function buildHover(model: TimelineModel, address: BoxAddress): HoverInfo | null {
  const counter = model.lanes.find((lane) => lane.id === address.laneId && lane.chart !== null);
  if (counter !== undefined) return counterHover(counter, address.index);
  const box = boxAt(model, address);
  if (box === null) return null;
  const { token, startUs, durationUs, merged } = box;
  const rounded = formatDuration(durationUs);
  const exact = exactUs(durationUs);
  const lines = [rounded === exact ? exact : `${rounded} (${exact})`, `starts at ${exactPosition(startUs)}`];
  // Of several samples in one box the index would be that of one of them.
  if (box.index !== null && merged === 1) lines.push(`dataset index ${box.index}`);
  if (merged > 1) lines.push(`merges ${plural(merged, "span")}, too short to draw separately`);
  if (box.covered < 100) lines.push(`they cover ${box.covered === 0 ? "less than 1" : box.covered}% of it`);
  return { box, title: titleOf(box), lines, token };
}

function titleOf({ lane, name, merged }: BoxInfo): string {
  if (merged === 1) return name;
  return lane.kind === "gaps" ? `${name}, mostly` : `${name} and more`;
}

/** A thin box need not be met exactly. */
const SLACK_PX = 3;

/** The box, or the point of a counter, under a place on the canvas; null when there is none. */
export function addressAt(
  model: TimelineModel,
  scale: TimeScale,
  laneId: string,
  row: number,
  xPx: number,
): BoxAddress | null {
  const lane = model.lanes.find((item) => item.id === laneId);
  const us = pxToUs(scale, xPx);
  if (lane !== undefined && lane.chart !== null) {
    const point = pointAt(lane.chart, us);
    return point < 0 ? null : { laneId, row: 0, index: point };
  }
  const columns = lane?.rows[row];
  if (columns === undefined) return null;
  const index = hit(columns, us, (SLACK_PX * lengthUs(scale.range)) / (scale.rightPx - scale.leftPx));
  return index < 0 ? null : { laneId, row, index };
}
