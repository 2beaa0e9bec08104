// Asking for one line per capture, again whenever what is known of the captures has changed.

import { computed } from "@preact/signals";
import { source } from "../data/source";
import { captureRows, rowsError, runs, versionOf } from "./atoms";

/** Changes with every capture that comes, goes, grows or is analysed. */
export const listingKey = computed<string>(() =>
  (runs.value?.captures ?? []).map((item) => `${item.id} ${item.state} ${versionOf(item)}`).join("\n"),
);

let latest = 0;

/** The answer to an older question is dropped. */
export async function loadRows(): Promise<void> {
  latest += 1;
  const own = latest;
  const answer = await source().captures();
  if (own !== latest) return;
  if (answer.kind === "ready") captureRows.value = answer.value;
  rowsError.value = answer.kind === "failed" ? answer.message : null;
}
