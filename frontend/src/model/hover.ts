// What the timeline says about the box under the pointer.

import { exactUs, formatDuration, plural } from "./format";
import type { TimelineModel } from "./lanes";

export type HoverInfo = { readonly title: string; readonly lines: readonly string[]; readonly token: string };
export type BoxAddress = { readonly laneId: string; readonly row: number; readonly index: number };

export const CAUSE_WORDS: Readonly<Record<string, string>> = {
  data_wait: "data wait",
  h2d: "host-to-device copy",
  sync: "synchronisation",
  launch: "launch",
  host: "host code",
  comm: "communication",
  unknown: "unknown",
};

export function causeWords(cause: string): string {
  return CAUSE_WORDS[cause] ?? cause;
}

export function buildHover(model: TimelineModel, box: BoxAddress): HoverInfo | null {
  const lane = model.lanes.find((item) => item.id === box.laneId);
  const row = lane?.rows[box.row];
  const startUs = row?.startUs[box.index];
  const durationUs = row?.durationUs[box.index];
  if (lane === undefined || row === undefined || startUs === undefined || durationUs === undefined) return null;
  const name = model.names[row.name[box.index] ?? -1] ?? "";
  const token = model.names[row.color[box.index] ?? -1] ?? "";
  const merged = row.merged[box.index] ?? 1;
  const rounded = formatDuration(durationUs);
  const exact = exactUs(durationUs);
  const lines = [rounded === exact ? exact : `${rounded} (${exact})`, `starts at ${exactUs(startUs)}`];
  if (merged > 1) lines.push(`stands for ${plural(merged, "span")}, too short to draw one by one`);
  return { title: titleOf(lane.kind, name, token, merged), lines, token };
}

function titleOf(kind: string, name: string, token: string, merged: number): string {
  if (kind === "gaps") return `Idle: ${causeWords(token.replace("idle:", ""))}${merged > 1 ? ", mostly" : ""}`;
  return merged > 1 ? `${name} and more` : name;
}
