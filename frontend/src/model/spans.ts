// Spans of the timeline by what they are: to go from one to the next.

import type { Place } from "./chain";
import { type LaneRows, type Row, type TimelineModel, visible } from "./lanes";
import type { TimeRange } from "./time-scale";

/** Data waits of the training thread; idle gaps of the devices. */
export type Kind = "wait" | "gap";

export type Asked = (lane: LaneRows, token: string) => boolean;

export const isOfKind: Readonly<Record<Kind, Asked>> = {
  wait: (lane, token) => lane.isTrainingThread && token === "wait",
  gap: (lane) => lane.kind === "gaps",
};

/** By start. What a slice has joined into one box counts as one. */
export function spansOf(model: TimelineModel, asked: Asked): Place[] {
  const found: Place[] = [];
  for (const lane of model.lanes) {
    for (const row of lane.rows) {
      for (let i = 0; i < row.startUs.length; i += 1) {
        const name = model.names[row.name[i] ?? -1] ?? "";
        if (!asked(lane, model.names[row.color[i] ?? -1] ?? "")) continue;
        const startUs = row.startUs[i] ?? 0;
        found.push({ laneId: lane.id, name, startUs, endUs: startUs + (row.durationUs[i] ?? 0) });
      }
    }
  }
  return found.sort((a, b) => a.startUs - b.startUs);
}

/** Numbers of the model's names that have each word; null without words. */
export function namesWith({ names }: TimelineModel, words: readonly string[]): ReadonlySet<number> | null {
  if (words.length === 0) return null;
  return new Set(names.flatMap((name, number) => (hasWords(name, words) ? [number] : [])));
}

function hasWords(name: string, words: readonly string[]): boolean {
  return name !== "" && words.every((word) => name.toLowerCase().includes(word));
}

/** Whether one of these rows has a box of one of these names that lies in the range, or in a part of it. */
export function hasNamed(rows: readonly Row[], names: ReadonlySet<number>, range: TimeRange): boolean {
  return rows.some((row) => {
    const [first, end] = visible(row, range);
    for (let i = first; i < end; i += 1) {
      const startUs = row.startUs[i] ?? 0;
      const isInside = startUs < range.endUs && startUs + (row.durationUs[i] ?? 0) > range.startUs;
      if ((isInside || startUs === range.startUs) && names.has(row.name[i] ?? -1)) return true;
    }
    return false;
  });
}

/** Whether the rows that folded lanes do not show have boxes whose names have each word. */
export function areInFolded(model: TimelineModel, words: readonly string[], folded: ReadonlySet<string>): boolean {
  const found = namesWith(model, words);
  if (found === null || found.size === 0) return false;
  return model.lanes.some(({ id, rows }) => folded.has(id) && hasNamed(rows.slice(1), found, model.window));
}

/** The span after (before) what is in the middle of the screen; null at the end. */
export function nextSpan<Span extends TimeRange>(spans: readonly Span[], shown: TimeRange, turn: 1 | -1): Span | null {
  const middleUs = (shown.startUs + shown.endUs) / 2;
  // A span that was gone to is in the middle, but for rounding.
  const slackUs = (shown.endUs - shown.startUs) * 1e-6;
  const middleOf = ({ startUs, endUs }: TimeRange): number => (startUs + endUs) / 2;
  const beyond = spans.filter((span) => turn * (middleOf(span) - middleUs) > slackUs);
  return beyond.reduce<Span | null>(
    (best, span) => (best === null || turn * (middleOf(span) - middleOf(best)) < 0 ? span : best),
    null,
  );
}
