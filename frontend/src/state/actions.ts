// What changes the atoms.

import { batch, type Signal } from "@preact/signals";
import type { CaptureEntry } from "../data/runs";
import { source } from "../data/source";
import { sideOfCapture } from "../model/sides";
import { changesIn, writtenChanges } from "../model/what-if";
import {
  batchRows,
  captureId,
  captureSearch,
  capturesOpen,
  causeFilter,
  chainLink,
  chosenRank,
  chosenRun,
  chosenSteps,
  comparesAnyway,
  comparison,
  deviceIndex,
  EMPTY_TIMELINE,
  entry,
  FIRST_BATCHES,
  FIRST_ROWS,
  flameListed,
  flameMeasure,
  flameOrder,
  flameScope,
  flameSearch,
  flameZoom,
  gapRows,
  goneId,
  keptEntry,
  lanesTurned,
  listSearch,
  loaderNumber,
  type ReportState,
  range,
  report,
  reportKey,
  reports,
  runs,
  runsError,
  selectedBatch,
  selectedCall,
  selectedGapUs,
  selectedSample,
  servedView,
  shownStage,
  sideAfter,
  sideBefore,
  spanSearch,
  stageSearch,
  stagesFlat,
  stagesFolded,
  timeline,
  trendOfStep,
  unknownSteps,
  unknownView,
  type View,
  versionOf,
  view,
  viewsFor,
  whatIfChanges,
  whatIfs,
} from "./atoms";
import type { Place } from "./place";
import { showSorts, writtenSorts } from "./sorts";

/** The tab of the stages leads to the table of all, wherever the page of one was left. */
export function selectView(next: View): void {
  if (next === "stages" && shownStage.value !== null) showStage(null);
  view.value = next;
  leaveLink();
}

/** What was said of a link that led elsewhere is read once one goes on. */
function leaveLink(): void {
  servedView.value = null;
  unknownView.value = null;
  unknownSteps.value = null;
  goneId.value = null;
}

/** Goes to the page of one stage, whose timeline shows the whole window; null: to the table of all. */
export function showStage(name: string | null): void {
  batch(() => {
    shownStage.value = name;
    selectedCall.value = null;
    range.value = null;
    leaveFrame();
    view.value = "stages";
    leaveLink();
  });
}

/** Goes to the flame graph of a part. */
export function showFlame(key: string): void {
  batch(() => {
    flameScope.value = key;
    leaveFrame();
    selectView("flame");
  });
}

/** Another tree has other frames. */
function leaveFrame(): void {
  flameZoom.value = null;
  flameSearch.value = "";
}

function forgetFlame(): void {
  flameScope.value = null;
  flameMeasure.value = null;
  flameOrder.value = null;
  flameListed.value = false;
  leaveFrame();
}

export function selectCapture(id: string): void {
  batch(() => {
    capturesOpen.value = false;
    goneId.value = null;
    // What a link says without naming a capture is said of the first one that is shown.
    if (captureId.value !== null) unknownSteps.value = null;
    if (captureId.value !== null && captureId.value !== id) forgetCaptureState();
    if (source().compared !== null && captureId.value !== id) forgetSides(); // a file's pairs are chosen as a whole
    if (sideBefore.value === sideOfCapture(id)) sideBefore.value = null; // nobody compares a capture with itself
    captureId.value = id;
  });
  void loadReport();
}

/** All numbers are then about these steps alone ("3..7"); null: about all of them again. */
export function selectSteps(steps: string | null): void {
  if (steps === chosenSteps.value) return;
  batch(() => {
    forgetTimes();
    chosenSteps.value = steps;
    unknownSteps.value = null;
  });
  void loadReport();
}

/** Other sides are judged anew: whether they can be compared is to be read first. */
export function chooseSide(side: "before" | "after", key: string): void {
  batch(() => {
    (side === "before" ? sideBefore : sideAfter).value = key;
    comparesAnyway.value = false;
  });
}

/** Both at once: one comparison, and one step back from it. */
export function chooseSides(first: string, second: string): void {
  batch(() => {
    chooseSide("before", first);
    chooseSide("after", second);
  });
}

/** Back to the sides that suggest themselves. */
export function forgetSides(): void {
  batch(() => {
    sideBefore.value = null;
    sideAfter.value = null;
    comparesAnyway.value = false;
  });
}

/** What the view's field for words narrows: the tables of stages and of captures have one, and each flame graph. */
function searchIn(name: View, stage: string | null): Signal<string> {
  if (name === "captures") return captureSearch;
  return name === "stages" && stage === null ? stageSearch : flameSearch;
}

/** What is on screen, as a link names it. */
export function currentPlace(): Place {
  return {
    view: view.value,
    capture: captureId.value,
    steps: chosenSteps.value,
    run: chosenRun.value,
    rank: chosenRank.value,
    range: range.value,
    gapUs: selectedGapUs.value,
    link: chainLink.value,
    cause: causeFilter.value,
    device: deviceIndex.value || null,
    loader: loaderNumber.value || null,
    batch: selectedBatch.value,
    sample: selectedSample.value,
    stage: shownStage.value,
    call: selectedCall.value,
    before: sideBefore.value,
    after: sideAfter.value,
    anyway: comparesAnyway.value ? "on" : null,
    flame: flameScope.value,
    measure: flameMeasure.value,
    order: flameOrder.value,
    frame: flameZoom.value,
    list: flameListed.value ? "on" : null,
    search: searchIn(view.value, shownStage.value).value || null,
    flat: stagesFlat.value ? "on" : null,
    trend: trendOfStep.value ? "step" : null,
    captures: listSearch.value || null,
    spans: spanSearch.value || null,
    lanes: [...lanesTurned.value].join(",") || null,
    sort: writtenSorts(),
    whatIf: writtenChanges(whatIfChanges.value),
  };
}

/** Goes to a place that a link names. One without a capture keeps the one on screen. */
export function showPlace(place: Place): void {
  const capture = place.capture ?? captureId.value;
  batch(() => {
    if (capture !== null && capture !== captureId.value) selectCapture(capture);
    selectSteps(source().live ? place.steps : null);
    const isThere = viewsFor(source()).includes(place.view);
    view.value = isThere ? place.view : "overview";
    servedView.value = isThere ? null : place.view;
    chosenRun.value = place.run;
    chosenRank.value = place.rank;
    range.value = place.range;
    selectedGapUs.value = place.gapUs;
    chainLink.value = place.link;
    causeFilter.value = place.cause;
    deviceIndex.value = place.device ?? 0;
    loaderNumber.value = place.loader ?? 0;
    selectedBatch.value = place.batch;
    selectedSample.value = place.sample;
    shownStage.value = place.stage;
    selectedCall.value = place.call;
    if (place.view === "compare") {
      sideBefore.value = place.before;
      sideAfter.value = place.after;
      comparesAnyway.value = place.anyway !== null;
    }
    flameScope.value = place.flame;
    flameMeasure.value = place.measure;
    flameOrder.value = place.order;
    flameZoom.value = place.frame;
    flameListed.value = place.list !== null;
    searchIn(place.view, place.stage).value = place.search ?? "";
    stagesFlat.value = place.flat !== null;
    trendOfStep.value = place.trend !== null;
    listSearch.value = place.captures ?? "";
    spanSearch.value = place.spans ?? "";
    lanesTurned.value = new Set(place.lanes?.split(","));
    showSorts(place.view, place.stage, place.sort);
    whatIfChanges.value = changesIn(place.whatIf);
  });
}

/** What lies at a time that other steps may not have. */
function forgetTimes(): void {
  timeline.value = EMPTY_TIMELINE;
  range.value = null;
  selectedGapUs.value = null;
  chainLink.value = null;
  selectedBatch.value = null;
  selectedSample.value = null;
  selectedCall.value = null;
}

function forgetCaptureState(): void {
  forgetTimes();
  chosenSteps.value = null;
  causeFilter.value = null;
  deviceIndex.value = 0;
  gapRows.value = FIRST_ROWS;
  stagesFolded.value = new Set();
  stageSearch.value = "";
  shownStage.value = null;
  forgetFlame();
  loaderNumber.value = 0;
  batchRows.value = FIRST_BATCHES;
  lanesTurned.value = new Set();
  spanSearch.value = "";
  if (comparison.value.kind === "ready" && comparison.value.value.outcome === "not_comparable") sideBefore.value = null;
  sideAfter.value = null;
  comparesAnyway.value = false;
  whatIfChanges.value = [];
  whatIfs.value = new Map();
}

/** Reports that stay in memory; the one that was fetched first goes. */
const MAX_REPORTS = 24;

function setReport(key: string, state: ReportState): void {
  const next = new Map(reports.value);
  next.delete(key);
  next.set(key, state);
  for (const oldest of next.keys()) {
    if (next.size <= MAX_REPORTS) break;
    if (oldest !== key) next.delete(oldest);
  }
  reports.value = next;
}

/** Whether a view is about whole runs, and needs no capture. */
export function showsRuns(name: View): boolean {
  return name === "run" || name === "ranks";
}

/** A remembered capture that is gone gives way to the newest one, unless it is on screen; the page says so. What a link
 * compares stays what it names. */
export function settleSelection(): void {
  const list = runs.value?.captures ?? [];
  if (entry.value !== null || runs.value?.scanning === true) return;
  const newest = list.find((item) => item.state !== "error") ?? list[0];
  if (newest === undefined) {
    if (!showsRuns(view.value) && (runs.value?.wholeRuns ?? 0) > 0) view.value = "run";
    return;
  }
  batch(() => {
    const gone = captureId.value;
    const [first, second, anyway] = [sideBefore.value, sideAfter.value, comparesAnyway.value];
    // A side alone is compared with the capture on screen.
    const other = first !== null && gone !== null ? sideOfCapture(gone) : null;
    selectCapture(newest.id);
    goneId.value = gone;
    if ((second ?? other) === null) return;
    sideBefore.value = first;
    sideAfter.value = second ?? other;
    comparesAnyway.value = anyway;
  });
}

export async function refreshRuns(): Promise<void> {
  const answer = await source().runs();
  if (answer.kind === "ready") {
    batch(() => {
      if (report.value?.kind === "ready") keptEntry.value = entry.value;
      runs.value = answer.value;
      runsError.value = null;
    });
    settleSelection();
    await loadReport();
  } else {
    runsError.value = answer.kind === "failed" ? answer.message : "TensorBoard is still starting.";
  }
}

const inFlight = new Set<string>();

/** Of the selected capture; where steps are chosen, first theirs, then the whole one: the step chart shows all steps. */
async function loadReport(): Promise<void> {
  const item = entry.value;
  if (item === null) return;
  const steps = chosenSteps.value;
  await fetchReport(item, steps);
  if (steps !== null && isShown(item.id, steps)) await fetchReport(item, null);
}

/** Unless the report at hand is of the same version. */
async function fetchReport(item: CaptureEntry, steps: string | null): Promise<void> {
  const key = reportKey(item.id, steps);
  const version = versionOf(item);
  const known = reports.value.get(key);
  if (inFlight.has(key) || (known !== undefined && known.kind !== "pending" && known.version === version)) return;
  if (item.state === "error")
    return setReport(key, { kind: "failed", message: item.error ?? "It cannot be read.", version });
  inFlight.add(key);
  try {
    const answer = await source().report(item.id, steps);
    // While a grown file is analysed again, the older report stays on screen.
    if (answer.kind === "pending" && known?.kind === "ready") return;
    if (answer.kind === "ready") {
      if (known !== undefined && isShown(item.id, steps)) timeline.value = EMPTY_TIMELINE;
      setReport(key, { kind: "ready", capture: answer.value, version });
    } else {
      // Without a version the next look at the log directory asks again: it was the way there that failed.
      setReport(key, answer.kind === "pending" ? answer : { ...answer, version: answer.unreachable ? "" : version });
    }
  } finally {
    inFlight.delete(key);
  }
}

function isShown(id: string, steps: string | null): boolean {
  return id === captureId.value && steps === chosenSteps.value;
}

/** The Refresh button: look again now, and try a failed capture once more. */
export function refreshNow(): void {
  const key = captureId.value === null ? null : reportKey(captureId.value, chosenSteps.value);
  if (key !== null && reports.value.get(key)?.kind === "failed") {
    const without = new Map(reports.value);
    without.delete(key);
    reports.value = without;
  }
  void refreshRuns();
}
