import { batch } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison } from "../../src/contract/report";
import type { Answer } from "../../src/data/api";
import { httpSource, useSource } from "../../src/data/source";
import { captureId, comparison, reports, runs, sideAfter, sideBefore, view } from "../../src/state/atoms";
import { App } from "../../src/views/app";
import { capture, entry, runsOf } from "../build";

const TOLD = {
  outcome: "slower",
  sentence: "Slower by 12 %: because.",
  evidence: ["seen"],
  unit: "sample",
  before: [{ name: "a" }],
  after: [{ name: "b" }],
  time: { before_us: 1000, after_us: 1120, change: 0.12, low: 0.08, high: 0.16, detectable: 0.05, told_apart: true },
  parts: [
    { name: "data_wait", before_us: 600, after_us: 720, change: 0.12 },
    { name: "wait:decode::PIL.Image", before_us: 0, after_us: 0 },
  ],
  stages: [
    {
      stage: "transform::Blur",
      before_us: 100,
      after_us: 140,
      typical: { change: 0.4, low: 0.3, high: 0.5, told_apart: true },
      measure: "cpu",
    },
    { stage: "transform::Old", before_us: 10 },
    {
      stage: "transform::Calm",
      before_us: 10,
      after_us: 10,
      typical: { change: 0.01, told_apart: false },
      measure: "wall",
    },
  ],
  settings: [{ name: "num_workers", before: "2", after: "4" }],
  diagnostics: [{ code: "few_runs", message: "Give more runs", count: 1 }],
};

let root: HTMLElement;
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
  batch(() => {
    runs.value = runsOf({
      captures: [
        entry({ id: "new/b", run: "new", name: "b", modified: 2 }),
        entry({ id: "old/a", run: "old", name: "a" }),
      ],
    });
    captureId.value = "new/b";
    reports.value = new Map([["new/b", { kind: "ready", capture: capture({}), version: "10:2" }]]);
    view.value = "compare";
    comparison.value = { kind: "none" };
    sideBefore.value = null;
    sideAfter.value = null;
  });
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  root.remove();
  useSource(httpSource);
});

async function draw(): Promise<void> {
  await act(async () => {
    render(<App />, root);
    await Promise.resolve();
  });
}

function find(testId: string): HTMLElement {
  const found = root.querySelector<HTMLElement>(`[data-testid="${testId}"]`);
  if (found === null) throw new Error(`no ${testId} in: ${root.textContent}`);
  return found;
}

it("compares the selected capture with the one that suggests itself, and shows exact values", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(TOLD) });
  await draw();
  expect(asked).toEqual([["old/a"], ["new/b"]]);
  expect(find("compare-sentence").textContent).toBe(TOLD.sentence);
  expect(find("number-change").dataset.value).toBe("0.12");
  expect(find("number-before").dataset.value).toBe("1000");
  const lines = [...root.querySelectorAll<HTMLElement>('[data-testid="stage-change"]')];
  expect(lines.map((line) => line.lastElementChild?.textContent)).toEqual(["dearer", "gone", "within noise"]);
  expect(root.querySelectorAll('[data-testid="part-change"]').length).toBe(1);
  expect(find("setting-change").textContent).toBe("num_workers24");
});

it("asks again when the sides are swapped", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(TOLD) });
  await draw();
  await act(async () => {
    find("swap-sides").click();
    await Promise.resolve();
  });
  expect(asked.slice(2)).toEqual([["new/b"], ["old/a"]]);
});

it("waits for captures that are not read yet", async () => {
  answerWith({ kind: "pending", state: "loading" });
  await draw();
  expect(find("loading-state").textContent).toContain("Comparing");
});

it("shows why a comparison failed", async () => {
  answerWith({ kind: "failed", message: "a: the gzip stream ends early", unreachable: false });
  await draw();
  expect(find("error-state").textContent).toContain("ends early");
});

it("says what is unknown instead of a number", async () => {
  answerWith({
    kind: "ready",
    value: Comparison.fromJSON({ outcome: "unknown", sentence: "Cannot be told.", unit: "" }),
  });
  await draw();
  expect(find("number-change").dataset.value).toBeUndefined();
  expect(find("no-settings").textContent).toContain("None");
});

it("says so when there is nothing to compare with", async () => {
  runs.value = runsOf({ captures: [entry({ id: "new/b", run: "new", name: "b" })] });
  await draw();
  expect(find("unavailable-state").textContent).toContain("nothing to compare with");
});

it("names the command where the page has no server", async () => {
  useSource({ ...httpSource, live: false });
  await draw();
  expect(find("compare-command").textContent).toContain("tb-dataplugin compare");
  expect(root.querySelector('[data-testid="refresh"]')).toBeNull();
});
