// The whole page in a document, for tests of views: state is that of a fresh page before each test.

import { batch as together } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, vi } from "vitest";
import type { Capture } from "../src/contract/report";
import type { CaptureEntry } from "../src/data/runs";
import { buildTimeline } from "../src/model/lanes";
import * as atoms from "../src/state/atoms";
import { showSorts } from "../src/state/sorts";
import { App } from "../src/views/app";
import { capture, entry, type Part, runsOf, timeline } from "./build";

let root: HTMLElement;

function reset(): void {
  atoms.runs.value = null;
  atoms.runsError.value = null;
  atoms.reports.value = new Map();
  atoms.captureId.value = null;
  atoms.goneId.value = null;
  atoms.keptEntry.value = null;
  atoms.unknownView.value = null;
  atoms.unknownSteps.value = null;
  atoms.isLedToWhatIf.value = false;
  atoms.chosenSteps.value = null;
  atoms.chosenRun.value = null;
  atoms.chosenRank.value = null;
  atoms.wholeRuns.value = null;
  atoms.wholeRunsError.value = null;
  atoms.ranksList.value = null;
  atoms.ranksError.value = null;
  atoms.captureRows.value = null;
  atoms.rowsError.value = null;
  atoms.view.value = "overview";
  atoms.timeline.value = { ...atoms.EMPTY_TIMELINE, error: "not in this test" };
  atoms.range.value = null;
  atoms.offered.value = null;
  atoms.sought.value = null;
  atoms.deviceIndex.value = 0;
  atoms.selectedGapUs.value = null;
  atoms.chainLink.value = null;
  atoms.causeFilter.value = null;
  atoms.gapSort.value = { column: "duration_us", descending: true };
  atoms.loaderNumber.value = 0;
  atoms.selectedBatch.value = null;
  atoms.selectedSample.value = null;
  atoms.selectedCall.value = null;
  atoms.batchRows.value = atoms.FIRST_BATCHES;
  atoms.batchSort.value = { column: "wait_us", descending: true };
  atoms.lanesTurned.value = new Set();
  atoms.listSearch.value = "";
  atoms.spanSearch.value = "";
  atoms.capturesOpen.value = false;
  atoms.shownStage.value = null;
  atoms.stageSort.value = { column: "total_us", descending: true };
  atoms.stagesFlat.value = false;
  atoms.stageSearch.value = "";
  atoms.captureSearch.value = "";
  atoms.trendOfStep.value = false;
  atoms.stagesFolded.value = new Set();
  atoms.comparison.value = { kind: "none" };
  atoms.suggestion.value = null;
  atoms.flameScope.value = null;
  atoms.flameMeasure.value = null;
  atoms.flameSearch.value = "";
  atoms.flameZoom.value = null;
  atoms.whatIfChanges.value = [];
  atoms.whatIfs.value = new Map();
  atoms.sideBefore.value = null;
  atoms.sideAfter.value = null;
  atoms.comparesAnyway.value = false;
  atoms.flameListed.value = false;
  showSorts("overview", null, null);
}

beforeEach(() => {
  together(reset);
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  root.remove();
});

export function draw(): HTMLElement {
  act(() => render(<App />, root));
  return root;
}

/** Until the suggestion is there, and what it suggests has been asked for. */
export async function drawAndWait(): Promise<void> {
  await act(async () => {
    draw();
    await Promise.resolve();
  });
  await act(async () => {
    await Promise.resolve();
  });
}

/** One capture, selected, in the state that is given. */
export function openAs(state: atoms.ReportState, view: atoms.View, item: CaptureEntry = entry({})): HTMLElement {
  together(() => {
    atoms.runs.value = runsOf({ captures: [item] });
    atoms.captureId.value = item.id;
    atoms.reports.value = new Map([[atoms.reportKey(item.id, atoms.chosenSteps.value), state]]);
    atoms.view.value = view;
  });
  return draw();
}

export function open(over: Part<Capture>, view: atoms.View): HTMLElement {
  return openAs({ kind: "ready", capture: capture(over), version: "10:1" }, view);
}

export function withTimeline(lanes: Parameters<typeof timeline>[0]): void {
  atoms.timeline.value = { whole: buildTimeline(timeline(lanes)), detail: null, error: null };
}

export function all(testId: string): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(`[data-testid="${testId}"]`)];
}

export function find(testId: string): HTMLElement {
  const [found] = all(testId);
  if (found === undefined) throw new Error(`no ${testId} in: ${root.textContent}`);
  return found;
}

export function click(element: HTMLElement | null | undefined): void {
  act(() => element?.click());
}

export function choose(select: HTMLElement, value: string): void {
  act(() => {
    (select as HTMLSelectElement).value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

export function type(field: HTMLElement, text: string): void {
  act(() => {
    (field as HTMLInputElement).value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/** With plain spaces, as a test is written. */
export function plain(text: string | null | undefined): string {
  return (text ?? "").replaceAll("\u00a0", " ");
}

/** What the menu of the table of that name copies as CSV, line by line. Whoever asks takes the stubs away again. */
export async function csvOf(name: string): Promise<string[]> {
  return (await copied(name, "Copy as CSV")).trimEnd().split("\r\n");
}

/** The same as Markdown. */
export async function markdownOf(name: string): Promise<string[]> {
  return (await copied(name, "Copy as Markdown")).trimEnd().split("\n");
}

async function copied(name: string, item: string): Promise<string> {
  const writeText = vi.fn((_: string) => Promise.resolve());
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  const menu = all("table-menu").find((one) =>
    one.querySelector("summary")?.getAttribute("aria-label")?.endsWith(`: ${name}`),
  );
  act(() => {
    menu?.setAttribute("open", "");
    menu?.dispatchEvent(new Event("toggle"));
  });
  const copy = [...(menu?.querySelectorAll("button") ?? [])].find((button) => button.textContent === item);
  await act(async () => {
    copy?.click();
    await Promise.resolve();
  });
  return writeText.mock.calls[0]?.[0] ?? "";
}
