// All state of the page. Small atoms; whatever can be computed is computed from them and never stored beside them.

import { computed, signal } from "@preact/signals";
import type { Capture, CaptureRows, Comparison, RanksList, Steps, WholeRuns } from "../contract/report";
import type { Suggestion } from "../data/api";
import type { CaptureEntry, Runs } from "../data/runs";
import type { DataSource } from "../data/source";
import type { WhatIf } from "../data/what-if";
import type { BatchSort } from "../model/batches";
import type { Cause } from "../model/causes";
import type { ChainKey, Place } from "../model/chain";
import type { GapSort } from "../model/gap-order";
import type { TimelineModel } from "../model/lanes";
import type { StageSort } from "../model/stage-tree";
import type { TimeRange } from "../model/time-scale";
import type { ThemeName } from "../theme/theme";

export const VIEWS = [
  "overview",
  "findings",
  "stages",
  "flame",
  "workers",
  "gaps",
  "run",
  "ranks",
  "compare",
  "captures",
  "trace",
] as const;
export type View = (typeof VIEWS)[number];
/** An HTML report does without the trace, and has the comparisons that it carries. */
export function viewsFor({ live, compared }: Pick<DataSource, "live" | "compared">): readonly View[] {
  if (live) return VIEWS;
  return VIEWS.filter((name) => name !== "trace" && (name !== "compare" || (compared ?? []).length > 0));
}

/** `version` is the file's size and time stamp: a report of an older version is fetched again. */
export type ReportState =
  | { readonly kind: "pending"; readonly state: "queued" | "loading" }
  | { readonly kind: "ready"; readonly capture: Capture; readonly version: string }
  | { readonly kind: "failed"; readonly message: string; readonly version: string };

export type TimelineState = {
  /** The whole window: drawn wherever `detail` does not reach. */
  readonly whole: TimelineModel | null;
  readonly detail: TimelineModel | null;
  readonly error: string | null;
};

/** `key` names both sides and the versions of their files. */
export type ComparisonState =
  | { readonly kind: "none" }
  | { readonly kind: "pending"; readonly key: string }
  | { readonly kind: "ready"; readonly key: string; readonly value: Comparison }
  | { readonly kind: "failed"; readonly key: string; readonly message: string };

export type WhatIfState =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: WhatIf }
  | { readonly kind: "failed"; readonly message: string };

/** What the capture `id`, in that version, suggests itself to be compared with. */
export type SuggestionState = Suggestion & {
  readonly id: string;
  readonly version: string;
  readonly pending: boolean;
};

export const EMPTY_TIMELINE: TimelineState = { whole: null, detail: null, error: null };

// --- what the server said ---

/** Last good answer of `runs`; null before the first one. */
export const runs = signal<Runs | null>(null);
/** Why the last request for `runs` failed; null when it did not. */
export const runsError = signal<string | null>(null);
/** One line per capture, the worst first; null before the first answer. `rowsError`: why the last request failed. */
export const captureRows = signal<CaptureRows | null>(null);
export const rowsError = signal<string | null>(null);
/** Last good answers, null before the first; and why the last request failed. */
export const wholeRuns = signal<WholeRuns | null>(null);
export const wholeRunsError = signal<string | null>(null);
export const ranksList = signal<RanksList | null>(null);
export const ranksError = signal<string | null>(null);
/** Reports by `reportKey`. */
export const reports = signal<ReadonlyMap<string, ReportState>>(new Map());
/** Slices of the selected capture's timeline. */
export const timeline = signal<TimelineState>(EMPTY_TIMELINE);

/** The comparison on screen, and what it is of. */
export const comparison = signal<ComparisonState>({ kind: "none" });

/** Of the capture that Compare was last opened for. */
export const suggestion = signal<SuggestionState | null>(null);

// --- what the user chose (view and capture are mirrored in location.hash) ---

export const view = signal<View>("overview");
/** Id of the selected capture; null until there is one. */
export const captureId = signal<string | null>(null);
/** The only steps that all numbers are about, as "3..7" (model/step-range.ts); null = all of them. */
export const chosenSteps = signal<string | null>(null);
/** The only run that the view of all captures lists, and the one that Run and Ranks show; null = all, and the first. */
export const chosenRun = signal<string | null>(null);
/** The rank that Run shows; null = the first. */
export const chosenRank = signal<number | null>(null);
/** Id of the capture that was selected until it was no longer there; null = none. */
export const goneId = signal<string | null>(null);
/** The capture on screen as it was listed last; what was read of it stays when its file goes. */
export const keptEntry = signal<CaptureEntry | null>(null);
/** The view of a link that an HTML report does without, until another one is chosen; null = none. */
export const servedView = signal<View | null>(null);
/** The view of a link that is none, until another one is chosen; null = none. */
export const unknownView = signal<string | null>(null);
/** The steps of a link that are no range, until one goes on; null = none. */
export const unknownSteps = signal<string | null>(null);
/** Whether Back or Forward led to what is shown. */
export const isReturn = signal(false);
/** Whether the page was opened for a prediction that is still to be scrolled to. */
export const isLedToWhatIf = signal(false);
/** On narrow screens the list of captures is folded away. */
export const capturesOpen = signal(false);

export const stageSort = signal<StageSort>({ column: "total_us", descending: true });
export const stagesFlat = signal(false);
/** The words that the table of stages is narrowed to. */
export const stageSearch = signal("");
/** The words that the list of all captures is narrowed to. */
export const captureSearch = signal("");
/** Whether the trend of All captures is of the mean step, no longer of shares of the window. */
export const trendOfStep = signal(false);
/** The words that the list of captures beside every view is narrowed to. */
export const listSearch = signal("");
/** Name of the stage that the Stages view shows in depth; null = the table of all. */
export const shownStage = signal<string | null>(null);
/** Keys of the stages whose children are hidden. */
export const stagesFolded = signal<ReadonlySet<string>>(new Set());

/** A place in the timeline (null: what is marked there), or the explanation of the chosen gap below it. */
export type Sought = { readonly where: "timeline"; readonly place: Place | null } | { readonly where: "explanation" };

/** Index into `Capture.devices`. */
export const deviceIndex = signal(0);
/** What the timeline shows; null = the whole window. */
export const range = signal<TimeRange | null>(null);
/** What was just chosen in a table is shown in the timeline: a new value for each choice; null = nothing was. */
export const offered = signal<object | null>(null);
/** What the page scrolls to until a hand moves it; null = it stays. */
export const sought = signal<Sought | null>(null);
/** Start of the gap that was chosen; null = the longest of those listed. */
export const selectedGapUs = signal<number | null>(null);
/** The link of that gap's chain that the timeline frames; null = the gap itself. */
export const chainLink = signal<ChainKey | null>(null);
/** Only gaps of this cause are listed and drawn in full; null = all. */
export const causeFilter = signal<Cause | null>(null);
export const gapSort = signal<GapSort>({ column: "duration_us", descending: true });
/** Rows of a long list until more are asked for. */
export const FIRST_ROWS = 50;
/** Of the batches fewer: other tables stand below them. */
export const FIRST_BATCHES = 12;
/** Rows of the gap list on screen. */
export const gapRows = signal(FIRST_ROWS);

/** `loader` number of the DataLoader in the Workers view; the first one where the capture lacks that number. */
export const loaderNumber = signal(0);
/** Key of the batch whose arrow is drawn; null = none. */
export const selectedBatch = signal<string | null>(null);
/** Key of the sample that the timeline frames (model/workers.ts); null = none. */
export const selectedSample = signal<string | null>(null);
/** Key of the call that the timeline of a stage's page frames (model/calls.ts); null = the slowest. */
export const selectedCall = signal<string | null>(null);
export const batchSort = signal<BatchSort>({ column: "wait_us", descending: true });
/** Rows of the batch list on screen. */
export const batchRows = signal(FIRST_BATCHES);
/** The words that spans of the timeline are searched for. */
export const spanSearch = signal("");
/** Ids of the timeline lanes that were opened or folded by hand, against what their number suggests. */
export const lanesTurned = signal<ReadonlySet<string>>(new Set());

/** Key of the part that the Flame graph is of (model/flame-parts.ts); null = the whole pipeline. */
export const flameScope = signal<string | null>(null);
/** Of flame graphs, also those of single stages: the measure of width, the order, the words that are searched, the frame in view. */
export const flameMeasure = signal<string | null>(null);
/** "time"; null: left-heavy. */
export const flameOrder = signal<string | null>(null);
export const flameSearch = signal("");
/** Whether the frames stand below the graph as a list. */
export const flameListed = signal(false);
export const flameZoom = signal<string | null>(null);

/** The changes whose predictions are shown, as `writtenChange` has them ("" the usual ones), the newest first. */
export const whatIfChanges = signal<readonly string[]>([]);

/** Predictions of the selected capture, by `whatIfKey`. Kept here: printing draws every view anew, and cannot wait. */
export const whatIfs = signal<ReadonlyMap<string, WhatIfState>>(new Map());

/** Keys of the sides that are compared (model/sides.ts); null = what suggests itself for the selected capture. */
export const sideBefore = signal<string | null>(null);
export const sideAfter = signal<string | null>(null);
/** Whether numbers of sides that are not comparable are shown all the same. */
export const comparesAnyway = signal(false);

// --- the host ---

/** While the page is printed all views stand one below the other. */
export const printing = signal(false);

export const theme = signal<ThemeName>("light");

// --- derived ---

const listedEntry = computed<CaptureEntry | null>(
  () => runs.value?.captures.find((item) => item.id === captureId.value) ?? null,
);

/** Whether the capture on screen is no longer in the log directory. */
export const isGone = computed(
  () => runs.value !== null && listedEntry.value === null && keptEntry.value?.id === captureId.value,
);

export const entry = computed<CaptureEntry | null>(() => listedEntry.value ?? (isGone.value ? keptEntry.value : null));

/** Names the report of a capture, or of some of its steps. */
export function reportKey(id: string, steps: string | null): string {
  return steps === null ? id : `${id}\n${steps}`;
}

/** All recorded steps, also while some of them are chosen; null until they are there. */
export const recordedSteps = computed<Steps | null>(() => {
  const known = captureId.value === null ? undefined : reports.value.get(reportKey(captureId.value, null));
  return known?.kind === "ready" ? (known.capture.steps ?? null) : null;
});

export const report = computed<ReportState | null>(() =>
  captureId.value === null ? null : (reports.value.get(reportKey(captureId.value, chosenSteps.value)) ?? null),
);

export function versionOf(item: CaptureEntry): string {
  return `${item.bytes}:${item.modified}`;
}
