// Which two sides are compared, and asking for the comparison.

import { computed } from "@preact/signals";
import { NO_SUGGESTION } from "../data/api";
import { browserTimers, type Timers } from "../data/poll";
import { areAlike, source } from "../data/source";
import { absenceOf, runAround, type Side, sidesOf } from "../model/sides";
import { comparison, entry, runs, type SuggestionState, sideAfter, sideBefore, suggestion, versionOf } from "./atoms";

const RETRY_MS = 1000;

export const sides = computed<readonly Side[]>(() =>
  sidesOf(runs.value?.captures ?? [], runs.value?.repeatedRuns, runs.value?.mixedRuns),
);

export const before = computed<Side | null>(() => {
  return sideCalled(sideBefore.value, suggestedFor(entry.value?.id ?? "")?.before ?? []);
});

function suggestedFor(id: string): SuggestionState | null {
  return suggestion.value?.id === id ? suggestion.value : null;
}

/** What was chosen, else what suggests itself. Nothing stands in for a chosen side that is not there. */
function sideCalled(chosen: string | null, suggested: readonly string[]): Side | null {
  return sides.value.find(({ key, ids }) => (chosen === null ? areAlike(ids, suggested) : key === chosen)) ?? null;
}

/** A chosen side that is not there; `reason`: why, null while the log directory is still looked through. */
export type Absence = { readonly label: "Before" | "After"; readonly reason: string | null };

export const absences = computed<readonly Absence[]>(() => {
  const chosen = [["Before", sideBefore.value] as const, ["After", sideAfter.value] as const];
  return chosen.flatMap(([label, key]) =>
    key === null || sides.value.some((side) => side.key === key) ? [] : [{ label, reason: reasonFor(key) }],
  );
});

function reasonFor(key: string): string | null {
  if (runs.value === null || runs.value.scanning) return null;
  return absenceOf(
    key,
    runs.value.captures,
    source().live ? "in the log directory" : "in this file",
    runs.value.mixedRuns,
  );
}

/** Asks once per capture and version what to compare it with, until there is an answer. Returns how to stop. */
export function watchSuggestion(id: string, version: string, timers: Timers = browserTimers): () => void {
  const known = suggestion.value;
  if (known !== null && known.id === id && known.version === version && !known.pending) return () => undefined;
  let stopped = false;
  let cancel: () => void = () => undefined;
  suggestion.value = { id, version, ...NO_SUGGESTION, pending: true };
  const ask = async (): Promise<void> => {
    const answer = await source().suggestion(id);
    if (stopped) return;
    if (answer.kind === "pending") cancel = timers.after(RETRY_MS, () => void ask());
    else {
      suggestion.value = { id, version, ...(answer.kind === "ready" ? answer.value : NO_SUGGESTION), pending: false };
    }
  };
  void ask();
  return () => {
    stopped = true;
    cancel();
  };
}

export const after = computed<Side | null>(() => {
  const own = entry.value?.id ?? "";
  // With a chosen capture it is the one on screen that is compared.
  const suggested = sideBefore.value === null ? (suggestedFor(own)?.after ?? []) : [];
  return sideCalled(sideAfter.value, suggested.length > 0 ? suggested : [own]);
});

/** All captures of both runs, where single ones of them are compared: repeated runs show more. */
export const bothRuns = computed<readonly [before: Side, after: Side] | null>(() => {
  const [first, second] = [before.value, after.value].map((side) => side && runAround(sides.value, side));
  return first && second && first.key !== second.key ? [first, second] : null;
});

/** Those that an HTML report carries; null where any two sides can be compared. */
export function carriedPairs(): readonly (readonly [before: Side, after: Side])[] | null {
  const sideOf = (ids: readonly string[]): Side[] => sides.value.filter((side) => areAlike(side.ids, ids));
  const found = source().compared?.flatMap((one) => {
    const [[first], [second]] = [sideOf(one.before), sideOf(one.after)];
    return first && second ? [[first, second] as const] : [];
  });
  return found ?? null;
}

/** Names both sides and the versions of their files; null while there are no two sides. */
export const comparisonKey = computed<string | null>(() => {
  if (before.value === null || after.value === null) return null;
  const versions = new Map((runs.value?.captures ?? []).map((item) => [item.id, versionOf(item)]));
  return [before.value, after.value]
    .map(({ ids }) => ids.map((id) => `${id} ${versions.get(id) ?? ""}`).join("\n"))
    .join("\n\n");
});

/** Whether the comparison of the sides is there. */
export const isCompared = computed(
  () => comparison.value.kind === "ready" && comparison.value.key === comparisonKey.value,
);

/** Whether the capture on screen is one of the compared ones: a file may carry comparisons of others only. */
export const comparesShown = computed(() =>
  [before.value, after.value].some((side) => side?.ids.includes(entry.value?.id ?? "") ?? false),
);

/** Asks until there is an answer, or until the sides are others. Returns how to stop. */
export function watchComparison(key: string, timers: Timers = browserTimers): () => void {
  let stopped = false;
  let cancel: () => void = () => undefined;
  const ask = async (): Promise<void> => {
    const [first, second] = [before.value, after.value];
    if (first === null || second === null) return;
    const answer = await source().comparison(first.ids, second.ids);
    if (stopped) return;
    if (answer.kind === "ready") comparison.value = { kind: "ready", key, value: answer.value };
    else if (answer.kind === "failed") comparison.value = { kind: "failed", key, message: answer.message };
    else cancel = timers.after(RETRY_MS, () => void ask());
  };
  const known = comparison.value;
  if (known.kind !== "ready" || known.key !== key) {
    comparison.value = { kind: "pending", key };
    void ask();
  }
  return () => {
    stopped = true;
    cancel();
  };
}
