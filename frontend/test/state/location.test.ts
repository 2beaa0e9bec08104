import { batch } from "@preact/signals";
import { beforeEach, expect, it, vi } from "vitest";
import { httpSource, useSource } from "../../src/data/source";
import { chooseSides, refreshRuns, selectCapture, selectSteps, selectView, showStage } from "../../src/state/actions";
import { type Address, fieldsOfOwnHash, ownHash } from "../../src/state/address";
import {
  captureId,
  captureSearch,
  chainLink,
  chosenSteps,
  entry as current,
  flameScope,
  goneId,
  isGone,
  keptEntry,
  lanesTurned,
  listSearch,
  range,
  report,
  reports,
  runs,
  selectedCall,
  selectedGapUs,
  shownStage,
  sideAfter,
  sideBefore,
  spanSearch,
  suggestion,
  unknownSteps,
  unknownView,
  view,
  whatIfChanges,
} from "../../src/state/atoms";
import { PlaceKeeper } from "../../src/state/location";
import type { Fields } from "../../src/state/place";
import { askWhatIf, removeWhatIf } from "../../src/state/predicting";
import { paddedSlice, suffices } from "../../src/state/timeline-loader";
import { openCapture } from "../../src/views/shared/open-capture";
import { entry, runsOf } from "../build";

beforeEach(() => {
  window.sessionStorage.clear();
  batch(() => {
    runs.value = null;
    captureId.value = null;
    view.value = "overview";
    range.value = null;
    selectedGapUs.value = null;
    chainLink.value = null;
    goneId.value = null;
    keptEntry.value = null;
    reports.value = new Map();
    captureSearch.value = "";
    unknownView.value = null;
    unknownSteps.value = null;
    whatIfChanges.value = [];
    shownStage.value = null;
    listSearch.value = "";
    spanSearch.value = "";
    lanesTurned.value = new Set();
  });
});

/** An address with its history, and a clock that is turned by hand. */
function browser(first: Fields = {}) {
  const entries = [first];
  const due: Array<() => void> = [];
  const address: Address = {
    read: () => entries.at(-1) ?? {},
    write: (fields, push) => {
      if (!push) entries.pop();
      entries.push(fields);
    },
    link: ownHash,
  };
  const after = (_: number, call: () => void): (() => void) => {
    due.push(call);
    return () => due.splice(due.indexOf(call) >>> 0, 1);
  };
  const rest = (): void => {
    for (const call of due.splice(0)) call();
  };
  return { entries, keeper: new PlaceKeeper(address, { after }), rest };
}

it("makes an entry for another view or capture, and none for a zoom", () => {
  const { entries, keeper, rest } = browser({ view: "gaps", capture: "a" });
  const stop = keeper.start();
  range.value = { startUs: 1, endUs: 2 };
  range.value = { startUs: 1, endUs: 3 };
  expect(entries).toEqual([{ view: "gaps", capture: "a" }]);
  rest();
  expect(entries).toEqual([{ view: "gaps", capture: "a", from_us: "1", to_us: "3" }]);
  range.value = { startUs: 1, endUs: 4 };
  selectView("stages");
  selectCapture("b");
  expect(entries.map(({ view: shown, capture, to_us }) => [shown, capture, to_us])).toEqual([
    ["gaps", "a", "4"],
    ["stages", "a", "4"],
    ["stages", "b", undefined],
  ]);
  stop();
});

it("carries which call of a stage is framed, with the page of that stage alone", () => {
  const { entries, keeper, rest } = browser({ view: "stages", capture: "a", stage: "Mask", call: "50:35:0:1" });
  const stop = keeper.start();
  expect(selectedCall.value).toBe("50:35:0:1");
  selectedCall.value = "10:20::";
  rest();
  expect(entries.at(-1)?.call).toBe("10:20::");
  expect(keeper.link()).toContain("call=10%3A20%3A%3A");
  showStage("Crop");
  expect(entries.at(-1)?.call).toBeUndefined();
  stop();
});

it("makes an entry for each link of a gap's chain that is followed, and none for another gap", () => {
  const { entries, keeper, rest } = browser({ view: "gaps", capture: "a" });
  const stop = keeper.start();
  const follow = (link: "batch" | "stage" | null, gapUs: number): void =>
    batch(() => {
      selectedGapUs.value = gapUs;
      chainLink.value = link;
    });
  follow(null, 1);
  follow("batch", 1);
  follow("stage", 1);
  follow(null, 2);
  rest();
  expect(entries.map(({ gap_us, link }) => [gap_us, link])).toEqual([
    ["1", undefined],
    ["1", "batch"],
    ["2", undefined],
  ]);
  stop();
});

it("goes back to what was on screen, the zoom and the gap included", () => {
  const { entries, keeper, rest } = browser({ view: "gaps", capture: "a" });
  const stop = keeper.start();
  batch(() => {
    range.value = { startUs: 1, endUs: 2 };
    selectedGapUs.value = 1.25;
  });
  rest();
  selectCapture("b");
  selectView("workers");
  entries.pop();
  entries.pop();
  keeper.onNavigation();
  expect([captureId.value, view.value, range.value, selectedGapUs.value]).toEqual([
    "a",
    "gaps",
    { startUs: 1, endUs: 2 },
    1.25,
  ]);
  expect(entries).toHaveLength(1);
  stop();
});

it("shows another capture where an address names one that a file does not have, and says so", () => {
  useSource({ ...httpSource, live: false });
  runs.value = runsOf({ captures: [entry({ id: "0" }), entry({ id: "1" })] });
  const { entries, keeper } = browser({ view: "overview", capture: "1" });
  const stop = keeper.start();
  entries.push({ view: "overview", capture: "7" });
  keeper.onNavigation();
  expect([captureId.value, goneId.value]).toEqual(["0", "7"]);
  stop();
  useSource(httpSource);
});

it("remembers the last place in the browser's tab, and an address goes before it", () => {
  browser({ view: "stages", capture: "a" }).keeper.start()();
  const again = browser();
  again.keeper.start()();
  expect([view.value, captureId.value]).toEqual(["stages", "a"]);
  expect(again.entries).toEqual([{ view: "stages", capture: "a" }]);
  browser({ view: "gaps" }).keeper.start()();
  expect(view.value).toBe("gaps");
});

it("remembers the place in one file, not in another that the same browser's tab opens", () => {
  const own = window.location.pathname;
  browser({ view: "stages", capture: "a" }).keeper.start()();
  window.history.replaceState(null, "", "/other.html");
  browser().keeper.start()();
  expect(view.value).toBe("overview");
  window.history.replaceState(null, "", own);
});

it("makes no entry when a capture is gone and another takes its place: Back would come straight here again", async () => {
  const { entries, keeper, rest } = browser({ view: "gaps", capture: "gone" });
  const stop = keeper.start();
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json(runsOf({ captures: [entry({ id: "here" })] }))));
  await refreshRuns();
  rest();
  expect(entries).toEqual([{ view: "gaps", capture: "here" }]);
  vi.unstubAllGlobals();
  stop();
});

it("fetches a slice as wide again on both sides, within the window", () => {
  const window = { startUs: 0, endUs: 1000 };
  expect(paddedSlice({ startUs: 400, endUs: 500 }, window)).toEqual({ startUs: 350, endUs: 550 });
  expect(paddedSlice({ startUs: 0, endUs: 100 }, window)).toEqual({ startUs: 0, endUs: 200 });
});

it("is content with a slice that covers the range and is fine enough", () => {
  const slice = { startUs: 350, endUs: 550 };
  expect(suffices(slice, 2000, { startUs: 400, endUs: 500 }, 1000)).toBe(true);
  expect(suffices(slice, 2000, { startUs: 400, endUs: 450 }, 1000)).toBe(false);
  expect(suffices(slice, 2000, { startUs: 500, endUs: 600 }, 1000)).toBe(false);
});

/** What the server has from now on: one capture, read or not. */
function serve(id: string, isRead: boolean): void {
  const listing = runsOf({ captures: [entry({ id, run: "exp1" })] });
  vi.stubGlobal("fetch", (url: string) =>
    Promise.resolve(
      String(url).includes("report?")
        ? Response.json({ captures: [{ name: id }] }, { status: isRead ? 200 : 404 })
        : Response.json(listing),
    ),
  );
}

it("keeps a capture on screen whose file goes, until another is chosen", async () => {
  serve("exp1/a", true);
  await refreshRuns();
  await vi.waitFor(() => expect(report.value?.kind).toBe("ready"));
  expect(isGone.value).toBe(false);
  serve("exp1/b", true);
  await refreshRuns();
  await refreshRuns();
  expect([captureId.value, current.value?.id, report.value?.kind, isGone.value, goneId.value]).toEqual([
    "exp1/a",
    "exp1/a",
    "ready",
    true,
    null,
  ]);
  selectCapture("exp1/b");
  expect(isGone.value).toBe(false);
  vi.unstubAllGlobals();
});

it("says which capture is gone when another takes its place, until one is chosen", async () => {
  const answer = (id: string): void => serve(id, false);
  answer("exp1/a");
  await refreshRuns();
  expect([captureId.value, goneId.value]).toEqual(["exp1/a", null]);
  answer("exp1/b");
  await refreshRuns();
  expect([captureId.value, goneId.value]).toEqual(["exp1/b", "exp1/a"]);
  selectCapture("exp1/b");
  expect(goneId.value).toBeNull();
  vi.unstubAllGlobals();
});

it("says no longer which capture is gone once one goes on to another view", async () => {
  for (const goOn of [() => selectView("captures"), () => showStage("decode::PIL")]) {
    for (const id of ["exp1/a", "exp1/b"]) {
      serve(id, false);
      await refreshRuns();
    }
    expect(goneId.value).toBe("exp1/a");
    goOn();
    expect(goneId.value).toBeNull();
  }
  vi.unstubAllGlobals();
});

it("leaves the zoom behind where one goes on to the page of a stage, and where there is no timeline", () => {
  const { keeper } = browser({ view: "workers", capture: "b", from_us: "1", to_us: "2" });
  const stop = keeper.start();
  selectView("stages");
  expect(fieldsOfOwnHash(keeper.link())).toEqual({ view: "stages", capture: "b" });
  selectView("workers");
  expect(fieldsOfOwnHash(keeper.link())).toMatchObject({ from_us: "1" });
  showStage("decode::PIL");
  expect(range.value).toBeNull();
  stop();
});

it("names the compared sides in a link, also those that suggest themselves today", () => {
  const { entries, keeper } = browser({ view: "compare", capture: "b" });
  const stop = keeper.start();
  batch(() => {
    runs.value = runsOf({ captures: [entry({ id: "a" }), entry({ id: "b" })] });
    suggestion.value = { id: "b", version: "", before: ["a"], after: ["b"], pending: false };
  });
  expect(fieldsOfOwnHash(keeper.link())).toMatchObject({ before: "capture:a", after: "capture:b" });
  expect(entries.at(-1)?.before, "the address leaves them open").toBeUndefined();
  batch(() => {
    sideBefore.value = "run:gone";
  });
  expect(fieldsOfOwnHash(keeper.link()), "what is not there stays named").toMatchObject({ before: "run:gone" });
  sideBefore.value = null;
  suggestion.value = null;
  stop();
});

it("leaves out of a link what belongs to other views, and what stays in the address is nothing lost", () => {
  const stage = "decode::PIL";
  const { entries, keeper } = browser({ view: "stages", capture: "b", steps: "3..7", stage, from_us: "1", to_us: "2" });
  const stop = keeper.start();
  const zoom = { from_us: "1", to_us: "2" }; // of the stage's timeline
  expect(fieldsOfOwnHash(keeper.link())).toEqual({ view: "stages", capture: "b", steps: "3..7", stage, ...zoom });
  selectView("captures");
  captureSearch.value = "images";
  expect(fieldsOfOwnHash(keeper.link())).toEqual({ view: "captures", capture: "b", search: "images" });
  expect(entries.at(-1)).toMatchObject({ stage, from_us: "1" });
  stop();
});

it("carries the words that captures and spans are searched for, and the lanes that were turned", () => {
  const found = { captures: "gpu", spans: "Random Crop", lanes: "worker:0.0,worker:0.1" };
  const { entries, keeper, rest } = browser({ view: "gaps", capture: "b", ...found });
  const stop = keeper.start();
  expect([listSearch.value, spanSearch.value, [...lanesTurned.value]]).toEqual([
    "gpu",
    "Random Crop",
    ["worker:0.0", "worker:0.1"],
  ]);
  listSearch.value = "";
  spanSearch.value = "collate";
  lanesTurned.value = new Set();
  rest();
  expect(entries).toEqual([{ view: "gaps", capture: "b", spans: "collate" }]);
  selectView("findings");
  expect(fieldsOfOwnHash(keeper.link())).toEqual({ view: "findings", capture: "b" });
  stop();
});

it("makes an entry for a prediction, and for another flame graph, so that Back leads to the capture without it", () => {
  const { entries, keeper } = browser({ view: "overview", capture: "b" });
  const stop = keeper.start();
  askWhatIf("workers=4");
  askWhatIf("");
  const at = { view: "overview", capture: "b" };
  expect(entries).toEqual([at, { ...at, what_if: "workers=4" }, { ...at, what_if: "usual;workers=4" }]);
  removeWhatIf("workers=4");
  expect(entries.at(-1)).toEqual({ ...at, what_if: "usual" });
  selectView("flame");
  flameScope.value = "training thread";
  expect(entries.slice(-2).map((one) => one.flame)).toEqual([undefined, "training thread"]);
  stop();
});

it("makes one entry for a capture that another view leads to", () => {
  const { entries, keeper } = browser({ view: "captures", capture: "a" });
  keeper.start();
  openCapture("b");
  expect(entries).toEqual([expect.objectContaining({ capture: "a" }), { view: "overview", capture: "b" }]);
});

it("makes an entry for another comparison, so that Back leads to the one before", () => {
  const { entries, keeper } = browser({ view: "compare", capture: "b" });
  const stop = keeper.start();
  chooseSides("run/x", "run/y");
  chooseSides("run/y", "run/x");
  const at = { view: "compare", capture: "b" };
  expect(entries).toEqual([at, { ...at, before: "run/x", after: "run/y" }, { ...at, before: "run/y", after: "run/x" }]);
  entries.pop();
  entries.pop();
  keeper.onNavigation();
  expect([captureId.value, sideBefore.value, sideAfter.value]).toEqual(["b", null, null]);
  stop();
});

it("says which view of an address there is none of, until one is chosen", () => {
  const { keeper } = browser({ view: "wether", capture: "b" });
  const stop = keeper.start();
  expect([view.value, unknownView.value]).toEqual(["overview", "wether"]);
  selectView("gaps");
  expect(unknownView.value).toBeNull();
  stop();
});

it("says which steps of an address are no range, until one goes on", () => {
  const { keeper } = browser({ view: "gaps", capture: "b", steps: "foo" });
  const stop = keeper.start();
  expect([chosenSteps.value, unknownSteps.value]).toEqual([null, "foo"]);
  selectSteps("3..7");
  expect([chosenSteps.value, unknownSteps.value]).toEqual(["3..7", null]);
  stop();
});

it("keeps what a link without a capture says for the first one that is shown", async () => {
  serve("exp1/b", true);
  const { keeper } = browser({ view: "gaps", steps: "3..7", gap_us: "5" });
  const stop = keeper.start();
  await refreshRuns();
  expect([captureId.value, chosenSteps.value, selectedGapUs.value]).toEqual(["exp1/b", "3..7", 5]);
  stop();
  vi.unstubAllGlobals();
});
