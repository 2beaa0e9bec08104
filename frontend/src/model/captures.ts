// The list of captures as it is read: runs, newest first, each with its captures.

import type { CaptureEntry, CaptureMode } from "../data/runs";

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

const MODE_WORDS: Readonly<Record<CaptureMode, string>> = {
  train: "train",
  replay: "replay",
  foreign: "foreign trace",
};

export function modeWords(mode: string | null): string {
  return mode === null ? "" : ((MODE_WORDS as Readonly<Record<string, string>>)[mode] ?? mode);
}

export const MODE_MEANING: Readonly<Record<string, string>> = {
  train: "Written by annotate during training.",
  replay: "Written by annotate.replay: the loader alone, without training and without DataLoader workers.",
  foreign: "Not written by annotate: only what torch.profiler records on its own can be told.",
};

/** What stands beside a capture's name: its state until it is ready, then its mode. */
export function entryWords(item: CaptureEntry): string {
  if (item.state === "queued") return "queued";
  if (item.state === "loading") return "loading";
  if (item.state === "error") return "cannot be read";
  return modeWords(item.mode) || "ready";
}
