// What the timeline says about the box under the pointer.

import { causeWords } from "./causes";
import { counterHover } from "./counters";
import { exactUs, formatDuration, plural } from "./format";
import type { LaneRows, TimelineModel } from "./lanes";

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
  const { lane, name, token, startUs, durationUs, merged } = box;
  const rounded = formatDuration(durationUs);
  const exact = exactUs(durationUs);
  const lines = [rounded === exact ? exact : `${rounded} (${exact})`, `starts at ${exactUs(startUs)}`];
  // Of several samples in one box the index would be that of one of them.
  if (box.index !== null && merged === 1) lines.push(`dataset index ${box.index}`);
  if (merged > 1) lines.push(`stands for ${plural(merged, "span")}, too short to draw one by one`);
  if (box.covered < 100) lines.push(`they cover ${box.covered === 0 ? "less than 1" : box.covered}\u00a0% of it`);
  return { box, title: titleOf(lane.kind, name, token, merged), lines, token };
}

function titleOf(kind: string, name: string, token: string, merged: number): string {
  if (kind === "gaps") return `Idle: ${causeWords(token.replace("idle:", ""))}${merged > 1 ? ", mostly" : ""}`;
  return merged > 1 ? `${name} and more` : name;
}
