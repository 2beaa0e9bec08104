// The list of captures as it is read: runs, newest first, each with its captures.

import { MODES } from "../contract/words";
import type { CaptureEntry } from "../data/runs";
import { labelOf, meaningOf } from "./words";

export type { CaptureEntry };

export type RunGroup = { readonly run: string; readonly captures: readonly CaptureEntry[] };

/** Keeps the order of the server (newest first): a run stands where its newest capture stands. */
export function groupByRun(captures: readonly CaptureEntry[]): RunGroup[] {
  const groups = new Map<string, CaptureEntry[]>();
  for (const item of captures) {
    const group = groups.get(item.run);
    if (group === undefined) groups.set(item.run, [item]);
    else group.push(item);
  }
  return [...groups].map(([run, items]) => ({ run, captures: items }));
}

/** The run is part of the name: captures of several runs may be called alike. */
export function fullName({ run, name }: Pick<CaptureEntry, "run" | "name">): string {
  return run === "." ? name : `${run} / ${name}`;
}

export function modeLabel(mode: string | null): string {
  return mode === null ? "" : labelOf(MODES, mode);
}

export function modeMeaning(mode: string | null): string {
  return mode === null ? "" : meaningOf(MODES, mode);
}

/** What stands beside a capture's name: its state until it is ready, then its mode. */
export function entryWords(item: CaptureEntry): string {
  if (item.state === "queued") return "queued";
  if (item.state === "loading") return "loading";
  if (item.state === "error") return "cannot be read";
  return modeLabel(item.mode) || "ready";
}
