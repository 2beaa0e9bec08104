import { batch as together } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison } from "../../src/contract/report";
import type { Answer } from "../../src/data/api";
import { httpSource, useSource } from "../../src/data/source";
import { captureId, reports, runs, view } from "../../src/state/atoms";
import { capture, entry, runsOf } from "../build";
import { all, draw, find } from "../page";

const SLOWER = {
  outcome: "slower",
  sentence: "Slower by 12%: because.",
  evidence: [{ text: "seen" }],
  unit: "sample",
  before: [{ name: "a" }],
  after: [{ name: "b" }],
  time: { before_us: 1000, after_us: 1120, change: 0.12, low: 0.08, high: 0.16, detectable: 0.05, significant: true },
  parts: [
    { name: "data_wait", title: "data wait", before_us: 600, after_us: 720, change: 0.12 },
    { name: "data_wait:decode::PIL.Image", by_stage: true, before_us: 0, after_us: 0 },
  ],
  stages: [
    {
      stage: "transform::Blur",
      before_us: 100,
      after_us: 140,
      typical: { change: 0.4, low: 0.3, high: 0.5, significant: true },
      measure: "cpu",
      outcome: "slower",
    },
    { stage: "transform::Old", before_us: 10, outcome: "gone" },
    {
      stage: "transform::Calm",
      before_us: 10,
      after_us: 10,
      typical: { change: 0.01, significant: false },
      measure: "wall",
      outcome: "not_significant",
    },
  ],
  settings: [{ name: "num_workers", title: "DataLoader workers", before: "2", after: "4" }],
  diagnostics: [{ code: "few_runs", message: "Give more runs", count: 1 }],
};

let asked: string[][];

function answerWith(answer: Answer<Comparison>): void {
  useSource({
    ...httpSource,
    comparison: (before, after) => {
      asked.push([...before], [...after]);
      return Promise.resolve(answer);
    },
  });
}

beforeEach(() => {
  asked = [];
  const [after, before] = [
    entry({ id: "new/b", run: "new", name: "b", modified: 2 }),
    entry({ id: "old/a", run: "old", name: "a" }),
  ];
  together(() => {
    runs.value = runsOf({ captures: [after, before] });
    captureId.value = "new/b";
    reports.value = new Map([["new/b", { kind: "ready", capture: capture({}), version: "10:2" }]]);
    view.value = "compare";
  });
});

afterEach(() => useSource(httpSource));

async function drawAndWait(): Promise<void> {
  await act(async () => {
    draw();
    await Promise.resolve();
  });
}

it("compares the selected capture with the one that suggests itself, and shows exact values", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(asked).toEqual([["old/a"], ["new/b"]]);
  expect(find("compare-sentence").textContent).toBe(SLOWER.sentence);
  expect(find("number-change").dataset.value).toBe("0.12");
  expect(find("number-before").dataset.value).toBe("1000");
  const lines = all("stage-change");
  expect(lines.map((line) => line.lastElementChild?.textContent)).toEqual(["slower", "gone", "not significant"]);
  expect(all("part-change").length).toBe(1);
  expect(find("setting-change").textContent).toBe("DataLoader workers24");
});

it("asks again when the sides are swapped", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  await act(async () => {
    find("swap-sides").click();
    await Promise.resolve();
  });
  expect(asked.slice(2)).toEqual([["new/b"], ["old/a"]]);
});

it("waits for captures that are not read yet", async () => {
  answerWith({ kind: "pending", state: "loading" });
  await drawAndWait();
  expect(find("loading-state").textContent).toContain("Comparing");
});

it("shows why a comparison failed", async () => {
  answerWith({ kind: "failed", message: "a: the gzip stream ends early", unreachable: false });
  await drawAndWait();
  expect(find("error-state").textContent).toContain("ends early");
});

it("says what is unknown instead of a number", async () => {
  answerWith({
    kind: "ready",
    value: Comparison.fromJSON({ outcome: "unknown", sentence: "The captures cannot be compared.", unit: "" }),
  });
  await drawAndWait();
  expect(find("number-change").dataset.value).toBeUndefined();
  expect(find("no-settings").textContent).toBe("No recorded setting changed.");
});

it("says so when there is nothing to compare with", async () => {
  runs.value = runsOf({ captures: [entry({ id: "new/b", run: "new", name: "b" })] });
  await drawAndWait();
  expect(find("unavailable-state").textContent).toContain("nothing to compare with");
});

it("names the command where the page has no server", async () => {
  useSource({ ...httpSource, live: false });
  await drawAndWait();
  expect(find("compare-command").textContent).toContain("tb-dataplugin compare");
  expect(all("refresh")).toEqual([]);
});

it("does not print an interval that says nothing", async () => {
  const time = { before_us: 1, after_us: 2, change: 1, low: -1, high: 30, significant: false };
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, time }) });
  await drawAndWait();
  expect(find("number-change").nextElementSibling?.textContent).toBe("95% interval: too short to compare");
});
