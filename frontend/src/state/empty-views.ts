// Which views have nothing to show, and why: their tabs say so before somebody goes there.

import { computed } from "@preact/signals";
import type { Capture } from "../contract/report";
import { flameParts } from "../model/flame-parts";
import { reasonFor, type Topic } from "../model/reasons";
import { aloneText } from "../model/sides";
import { listedLoaders } from "../model/workers";
import { report, runs, type View } from "./atoms";
import { sides } from "./comparing";

/** null where the view has something. */
type Why = (capture: Capture) => string | null;

function lacks(isThere: (capture: Capture) => boolean, ...topics: readonly [Topic, ...Topic[]]): Why {
  return (capture) => (isThere(capture) ? null : reasonFor(capture, ...topics).message);
}

const OF_CAPTURE: Partial<Readonly<Record<View, Why>>> = {
  stages: lacks(({ stages }) => stages.length > 0, "stages"),
  flame: lacks((capture) => capture.lines !== undefined && flameParts(capture).length > 0, "lines"),
  workers: (capture) => {
    if (listedLoaders(capture).length > 0 || capture.slow_samples.length > 0) return null;
    const isAlone = capture.mode === "replay" || capture.loader?.num_workers === 0;
    return isAlone ? "the training thread builds the batches itself" : reasonFor(capture, "workers", "loader").message;
  },
  gaps: lacks(({ devices }) => devices.length > 0, "device"),
};

/** By view, in words. What is not known yet counts as there. */
export const emptyViews = computed<ReadonlyMap<View, string>>(() => {
  const found = new Map<View, string>();
  const known = runs.value;
  if (known === null || known.scanning) return found;
  if (known.wholeRuns === 0) found.set("run", "annotate.watch, or ANNOTATE_WATCH=FOLDER, records whole runs");
  if (known.rankRuns === 0) found.set("ranks", "no captures here are known to be of several ranks of one run");
  if (sides.value.length < 2) found.set("compare", `there is ${aloneText(known.captures)}`);
  const state = report.value;
  for (const [view, why] of state?.kind === "ready" ? Object.entries(OF_CAPTURE) : []) {
    const text = state?.kind === "ready" ? why(state.capture) : null;
    if (text !== null) found.set(view as View, text);
  }
  return found;
});
