import { batch as together } from "@preact/signals";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison } from "../../src/contract/report";
import type { Runs } from "../../src/data/runs";
import { httpSource, useSource } from "../../src/data/source";
import { refreshRuns, showPlace } from "../../src/state/actions";
import { captureId, runs, sideAfter, sideBefore } from "../../src/state/atoms";
import { before } from "../../src/state/comparing";
import { START } from "../../src/state/place";
import { capture, entry, runsOf } from "../build";
import { all, drawAndWait, find } from "../page";

const CAPTURES = [
  entry({ id: "new/b", run: "new", name: "b", modified: 2 }),
  entry({ id: "old/a", run: "old", name: "a" }),
  entry({ id: "old/x", run: "old", name: "x", state: "error" }),
];

let asked: string[][];
let listed: Runs;

beforeEach(() => {
  asked = [];
  listed = runsOf({ captures: CAPTURES });
  useSource({
    ...httpSource,
    runs: () => Promise.resolve({ kind: "ready", value: listed }),
    report: () => Promise.resolve({ kind: "ready", value: capture({}) }),
    suggestion: () =>
      Promise.resolve({ kind: "ready", value: { before: ["old/a"], after: ["new/b"], passedOver: ["odd"] } }),
    comparison: (before, after) => {
      asked.push([...before], [...after]);
      return Promise.resolve({ kind: "ready", value: Comparison.fromJSON({ outcome: "identical", sentence: "Same" }) });
    },
  });
});

afterEach(() => useSource(httpSource));

/** As a link opens in a fresh browser tab. */
async function open(link: { before?: string; after?: string; capture?: string }): Promise<void> {
  showPlace({ ...START, view: "compare", ...link });
  await refreshRuns();
  await drawAndWait();
}

it("says which sides of a link are gone, and compares nothing in their place", async () => {
  await open({ before: "run:v/sh-before", after: "run:v/sh-after" });
  expect(find("unavailable-state").textContent).toContain(
    "Before: v/sh-before is not in the log directory. After: v/sh-after is not in the log directory.",
  );
  expect(asked).toEqual([]);
  expect([sideBefore.value, sideAfter.value], "the link stays what it was").toEqual([
    "run:v/sh-before",
    "run:v/sh-after",
  ]);
  expect((find("side-before") as HTMLSelectElement).value).toBe("");
  expect(all("suggested-sides")).toHaveLength(1);
});

it("compares nothing with the one side that is there", async () => {
  await open({ before: "run:gone" });
  expect(find("unavailable-state").textContent).toContain("Before: gone is not in");
  expect(find("unavailable-state").textContent).not.toContain("After");
  expect(asked).toEqual([]);
});

it("does so for single captures, and for those that cannot be read", async () => {
  await open({ before: "capture:old/x", after: "capture:new/gone" });
  expect(find("unavailable-state").textContent).toContain(
    "Before: old/x cannot be read. After: new/gone is not in the log directory.",
  );
  expect(asked).toEqual([]);
});

it("does not compare the newest capture in place of the one in view that is gone", async () => {
  await open({ before: "capture:new/b", capture: "gone/c" });
  expect(captureId.value).toBe("new/b");
  expect(find("unavailable-state").textContent).toContain("After: gone/c is not in the log directory.");
  expect(asked).toEqual([]);
});

it("keeps the sides of a link that names no capture", async () => {
  await open({ before: "capture:new/b", after: "capture:old/a" });
  expect(asked).toEqual([["new/b"], ["old/a"]]);
});

it("compares folders of repeated runs that a link names", async () => {
  const captures = ["r2", "r1"].flatMap((run) =>
    ["after", "before"].map((side) => entry({ id: `${side}/${run}/x`, run: `${side}/${run}` })),
  );
  const repeatedRuns = ["after", "before"].map((folder) => ({
    folder,
    ids: captures.flatMap(({ id }) => (id.startsWith(folder) ? [id] : [])),
  }));
  listed = runsOf({ captures, repeatedRuns });
  await open({ before: "run:before", after: "run:after" });
  expect(asked).toEqual([
    ["before/r2/x", "before/r1/x"],
    ["after/r2/x", "after/r1/x"],
  ]);
});

it("says what a run has too little of", async () => {
  await open({ before: "run:old", after: "capture:new/b" });
  expect(find("unavailable-state").textContent).toContain("Before: old has only one capture that can be read.");
});

it("waits while the log directory is looked through, and while a run's captures are read", async () => {
  listed = { ...listed, scanning: true };
  await open({ before: "run:later", capture: "new/b" });
  expect(find("loading-state").textContent).toContain("Looking for the chosen captures");
  together(() => {
    runs.value = runsOf({ captures: [...CAPTURES, entry({ id: "later/r1/a", run: "later/r1", state: "loading" })] });
  });
  await drawAndWait();
  expect(find("loading-state").textContent).toContain("Looking for the chosen captures");
  expect(before.value).toBeNull();
});

it("says it too where there is nothing left to compare with", async () => {
  listed = runsOf({ captures: CAPTURES.slice(0, 1) });
  await open({ before: "run:v/sh-before" });
  expect(find("unavailable-state").textContent).toContain("Before: v/sh-before is not in the log directory.");
});

it("says which nearer runs are not proposed, unless sides are chosen", async () => {
  await open({ capture: "new/b" });
  expect(find("passed-over").textContent).toContain("doubtful, and so not proposed: odd");
  await open({ capture: "new/b", before: "capture:old/a" });
  expect(all("passed-over")).toEqual([]);
});
