// Two trees of sampled stacks as one: a frame is as wide as the mean of both sides, and has a change.

import type { FlameChange } from "../contract/report";
import { type Flame, type Frame, type FrameFacts, growFlame } from "./flame";

export type Sides = {
  readonly before: number;
  readonly after: number;
  readonly selfBefore: number;
  readonly selfAfter: number;
  /** Half of the 95% interval of the change, by the number of samples. */
  readonly error: number;
  /** The change is larger than that. */
  readonly isChanged: boolean;
  /** What of the change is in the frame's line, in words; "" where that is its only one. */
  readonly lineChange: string;
};

/** Widths add up: that of a mean of both sides does, that of the larger side would not. */
export function flameOfChange(change: FlameChange, label: string): Flame {
  const text = (index: number | undefined): string => change.names[index ?? -1] ?? "";
  const rows = change.depth.map(
    (depth, row): FrameFacts => ({
      depth,
      name: text(change.label[row]),
      place: text(change.place[row]),
      file: text(change.file[row]),
      source: text(change.source[row]),
      origin: change.origin[row] ?? "",
      value: ((change.before[row] ?? 0) + (change.after[row] ?? 0)) / 2,
    }),
  );
  return growFlame(label, (change.before_us + change.after_us) / 2, "operator", rows);
}

export function sidesOf(change: FlameChange, { index }: Frame): Sides {
  const row = index - 1;
  if (row < 0) {
    const whole = { before: change.before_us, after: change.after_us };
    const judged = { error: change.whole_error, isChanged: change.whole_changed };
    return { ...whole, ...judged, selfBefore: 0, selfAfter: 0, lineChange: "" };
  }
  return {
    before: change.before[row] ?? 0,
    after: change.after[row] ?? 0,
    selfBefore: change.self_before[row] ?? 0,
    selfAfter: change.self_after[row] ?? 0,
    error: change.error[row] ?? 0,
    isChanged: change.changed[row] ?? false,
    lineChange: change.names[change.line_change[row] ?? -1] ?? "",
  };
}

/** Steps of colour: changes of the larger side. */
const STEPS = [0.25, 0.6] as const;

/** "more-2", "less-1"; "same" where the samples show no change. */
export function toneOf({ before, after, isChanged }: Sides): string {
  const size = Math.abs(after - before) / Math.max(before, after, 1e-9);
  if (!isChanged || size === 0) return "same";
  return `${after > before ? "more" : "less"}-${1 + STEPS.filter((step) => size >= step).length}`;
}
