// Asking for predictions, and keeping those that were asked for.

import { batch, effect } from "@preact/signals";
import { source } from "../data/source";
import { withChange } from "../model/what-if";
import { captureId, entry, versionOf, type WhatIfState, whatIfChanges, whatIfs } from "./atoms";

/** Names the predictions of a change for the capture as it is on disk. */
export function whatIfKey(change: string): string {
  return `${captureId.value} ${entry.value === null ? "" : versionOf(entry.value)}\n${change}`;
}

/** Puts the change first; one that failed is tried again. */
export function askWhatIf(change: string): void {
  batch(() => {
    whatIfChanges.value = withChange(whatIfChanges.value, change);
    if (whatIfs.value.get(whatIfKey(change))?.kind === "failed") forget(whatIfKey(change));
  });
}

export function removeWhatIf(change: string): void {
  batch(() => {
    whatIfChanges.value = whatIfChanges.value.filter((other) => other !== change);
    forget(whatIfKey(change));
  });
}

function forget(key: string): void {
  whatIfs.value = new Map([...whatIfs.value].filter(([other]) => other !== key));
}

/** Fetches what nobody has asked for yet. */
export function fetchWhatIfs(changes: readonly string[]): void {
  for (const change of changes) if (!whatIfs.peek().has(whatIfKey(change))) void fetchWhatIf(change);
}

/** Of the selected capture, for a page that carries its data: so that they are there when the page is printed. */
export function predictAhead(): () => void {
  return effect(() => {
    if (entry.value !== null) fetchWhatIfs([""]);
  });
}

/** An answer that came too late, when its change was removed or another capture chosen, is none. */
async function fetchWhatIf(change: string): Promise<void> {
  const [id, key] = [captureId.value, whatIfKey(change)];
  if (id === null) return;
  const set = (state: WhatIfState): void => {
    whatIfs.value = new Map(whatIfs.peek()).set(key, state);
  };
  set({ kind: "loading" });
  const answer = await source().whatIf(id, change);
  if (whatIfs.peek().get(key)?.kind !== "loading") return;
  if (answer.kind === "ready") set({ kind: "ready", value: answer.value });
  else
    set({ kind: "failed", message: answer.kind === "failed" ? answer.message : "This capture is not analysed yet." });
}
