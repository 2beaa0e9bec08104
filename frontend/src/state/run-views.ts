// Asking for whole runs and ranks, each time the log directory was looked at while one of their views is on screen.

import { source } from "../data/source";
import { ranksError, ranksList, wholeRuns, wholeRunsError } from "./atoms";

export async function loadWholeRuns(): Promise<void> {
  const answer = await source().wholeRuns();
  if (answer.kind === "ready") wholeRuns.value = answer.value;
  wholeRunsError.value = answer.kind === "failed" ? answer.message : null;
}

/** While their captures are read the list stays what it was. */
export async function loadRanks(): Promise<void> {
  const answer = await source().ranks();
  if (answer.kind === "ready") ranksList.value = answer.value;
  ranksError.value = answer.kind === "failed" ? answer.message : null;
}
