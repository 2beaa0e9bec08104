import { batch as together } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison } from "../../src/contract/report";
import { type Compared, httpSource, useSource } from "../../src/data/source";
import { captureId, printing, reports, runs, view } from "../../src/state/atoms";
import { capture, entry, runsOf } from "../build";
import { all, drawAndWait, find } from "../page";

const FASTER = "Faster: 1.00 → 0.50 ms per sample; because.";
const PAIR: Compared = { before: ["old/a"], after: ["new/b"] };

let asked: string[][];

/** An HTML report that carries these comparisons, and whose capture on screen suggests that one. */
function file(compared: readonly Compared[], suggested: string | null): void {
  useSource({
    ...httpSource,
    live: false,
    compared,
    suggestion: () => Promise.resolve({ kind: "ready", value: { before: suggested, after: null } }),
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
  file([PAIR], "old/a");
  await drawAndWait();
  expect([...find("carried-pair").children].map((option) => option.textContent)).toEqual(["old / a → new / b"]);
  expect(find("compare-sentence").textContent).toBe(FASTER);
  expect(all("side-before")).toEqual([]);
  expect(all("refresh")).toEqual([]);
});

it("opens with the first comparison where the capture on screen suggests none", async () => {
  file([PAIR], null);
  await drawAndWait();
  expect(asked).toEqual([["old/a"], ["new/b"]]);
  expect(find("compare-sentence").textContent).toBe(FASTER);
});

it("names the capture that the other views are of where all are printed", async () => {
  file([PAIR], "old/a");
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
  file([], null);
  await drawAndWait();
  expect(all("tab-compare")).toEqual([]);
});
