import { batch as together } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison } from "../../src/contract/report";
import { NO_SUGGESTION, type Suggestion } from "../../src/data/api";
import { type Compared, httpSource, useSource } from "../../src/data/source";
import { chooseSides, selectCapture } from "../../src/state/actions";
import { captureId, printing, reports, runs, view } from "../../src/state/atoms";
import { capture, entry, runsOf } from "../build";
import { all, drawAndWait, find } from "../page";

const FASTER = "Faster: 1.00 → 0.50 ms per sample; because.";
const PAIR: Compared = { before: ["old/a"], after: ["new/b"] };

let asked: string[][];

/** An HTML report that carries these comparisons, and whose capture on screen suggests that one. */
function file(compared: readonly Compared[], suggested: Suggestion = PAIR): void {
  useSource({
    ...httpSource,
    live: false,
    compared,
    suggestion: () => Promise.resolve({ kind: "ready", value: suggested }),
    comparison: (before, after) => {
      asked.push([...before], [...after]);
      return Promise.resolve({ kind: "ready", value: Comparison.fromJSON({ outcome: "faster", sentence: FASTER }) });
    },
  });
}

beforeEach(() => {
  asked = [];
  together(() => {
    runs.value = runsOf({
      captures: [entry({ id: "new/b", run: "new", name: "b" }), entry({ id: "old/a", run: "old", name: "a" })],
    });
    captureId.value = "new/b";
    reports.value = new Map([["new/b", { kind: "ready", capture: capture({}), version: "10:1" }]]);
    view.value = "compare";
  });
});

afterEach(() => useSource(httpSource));

it("offers the comparisons that it carries, and no others", async () => {
  file([PAIR]);
  await drawAndWait();
  expect([...find("carried-pair").children].map((option) => option.textContent)).toEqual(["old / a → new / b"]);
  expect(find("compare-sentence").textContent).toBe(FASTER);
  expect(all("side-before")).toEqual([]);
  expect(all("refresh")).toEqual([]);
});

it("shows no comparison of others unasked, and says how one is made", async () => {
  file([PAIR], NO_SUGGESTION);
  await drawAndWait();
  expect(asked).toEqual([]);
  expect(all("compare-sentence")).toEqual([]);
  const said = find("unavailable-state").textContent;
  expect(said).toContain("This file has no comparison of this capture.");
  expect(said).toContain("tb-dataplugin compare BEFORE AFTER");
  expect(find("carried-pair").children[0]?.textContent).toBe("choose one");
});

it("leaves a pair that was chosen where another capture is", async () => {
  file([PAIR], NO_SUGGESTION);
  chooseSides("capture:old/a", "capture:new/b");
  await drawAndWait();
  expect(find("compare-sentence").textContent).toBe(FASTER);
  act(() => selectCapture("old/a"));
  await drawAndWait();
  expect(all("compare-sentence")).toEqual([]);
});

it("names the capture that the other views are of where all are printed", async () => {
  file([PAIR]);
  await drawAndWait();
  expect(all("capture-head")).toEqual([]);
  act(() => {
    printing.value = true;
  });
  expect(find("capture-head").textContent).toContain("new / b");
  act(() => {
    printing.value = false;
  });
});

it("has no tab without comparisons", async () => {
  file([], NO_SUGGESTION);
  await drawAndWait();
  expect(all("tab-compare")).toEqual([]);
});
