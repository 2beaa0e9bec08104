import { batch as together } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison } from "../../src/contract/report";
import type { Answer, Suggestion } from "../../src/data/api";
import { httpSource, useSource } from "../../src/data/source";
import { currentPlace, selectCapture } from "../../src/state/actions";
import { captureId, reports, runs, sideBefore, view } from "../../src/state/atoms";
import { fieldsOfPlace } from "../../src/state/place";
import { capture, entry, runsOf } from "../build";
import { all, choose, click, drawAndWait, find } from "../page";

const SLOWER = {
  outcome: "slower",
  sentence: "Slower: 1.00 → 1.12 ms per sample; because.",
  evidence: [{ text: "seen" }],
  unit: "sample",
  before: [{ name: "a" }],
  after: [{ name: "b" }],
  time: {
    kind: "time",
    name: "time",
    before_us: 1000,
    after_us: 1120,
    change: 0.12,
    low: 0.08,
    high: 0.16,
    interval_text: "+8.0% to +16%",
    detectable: 0.05,
    outcome: "slower",
  },
  parts: [
    {
      kind: "part",
      name: "data_wait",
      title: "data wait",
      before_us: 6,
      after_us: 720,
      change: 119,
      low: 40,
      interval_text: "at least +4,000%",
      outcome: "more",
    },
    {
      kind: "data_wait_by_stage",
      name: "data_wait:decode::PIL.Image",
      title: "data wait: decode::PIL.Image",
      before_us: 3,
      after_us: 4,
      change: 0.33,
      interval_text: "needs repeated runs",
      outcome: "unknown",
    },
  ],
  stages: [
    {
      kind: "stage",
      name: "transform::Blur",
      before_us: 100,
      after_us: 140,
      change: 0.4,
      low: 0.3,
      high: 0.5,
      interval_text: "+30% to +50%",
      calls: { measure: "cpu" },
      outcome: "slower",
    },
    { kind: "stage", name: "transform::Old", before_us: 10, interval_text: "none after", outcome: "gone" },
    {
      kind: "stage",
      name: "transform::Calm",
      before_us: 10,
      after_us: 10,
      change: 0.01,
      low: -0.1,
      high: 0.12,
      interval_text: "−10% to +12%",
      calls: { measure: "wall" },
      outcome: "not_significant",
    },
    {
      kind: "stage",
      name: "transform::Short",
      before_us: 10,
      after_us: 12,
      change: 0.2,
      interval_text: "too uncertain to compare",
      outcome: "too_short",
    },
  ],
  settings: [{ name: "num_workers", title: "DataLoader workers", before: "2", after: "4" }],
  diagnostics: [{ code: "few_runs", message: "Give more runs", count: 1 }],
};

let asked: string[][];
let suggested: Answer<Suggestion>;

function answerWith(answer: Answer<Comparison>): void {
  useSource({
    ...httpSource,
    suggestion: () => Promise.resolve(suggested),
    comparison: (before, after) => {
      asked.push([...before], [...after]);
      return Promise.resolve(answer);
    },
  });
}

beforeEach(() => {
  asked = [];
  suggested = { kind: "ready", value: { before: ["old/a"], after: ["new/b"] } };
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

it("compares the selected capture with the one that suggests itself, and shows exact values", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(asked).toEqual([["old/a"], ["new/b"]]);
  expect(find("compare-sentence").textContent).toBe(SLOWER.sentence);
  expect(find("number-change").dataset.value).toBe("0.12");
  expect(find("number-before").dataset.value).toBe("1000");
  const lines = all("stage-change");
  expect(lines.map((line) => line.lastElementChild?.textContent)).toEqual([
    "slower",
    "gone",
    "not significant",
    "too uncertain",
  ]);
  expect(lines.map((line) => line.dataset.significant)).toEqual(["true", "false", "false", "false"]);
  expect(all("part-change").map((line) => line.lastElementChild?.textContent)).toEqual(["more", "unknown"]);
  expect(find("setting-change").textContent).toBe("DataLoader workers24");
});

it("names the times as the comparison does: they may be without starts of epochs", async () => {
  const time = { ...SLOWER.time, title: "time per sample within an epoch" };
  const comparison = Comparison.fromJSON({ ...SLOWER, unit: "sample", time });
  answerWith({ kind: "ready", value: comparison });
  await drawAndWait();
  expect(find("number-before").parentElement?.textContent).toContain("run, within an epoch");
});

it("compares with nothing by itself where no other capture is known to be of the same program", async () => {
  suggested = { kind: "ready", value: { before: [], after: [] } };
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(asked).toEqual([]);
  expect(find("unavailable-state").textContent).toContain("No other capture");
  expect((find("side-before") as HTMLSelectElement).value).toBe("");
});

it("says that it looks for one while captures are read", async () => {
  suggested = { kind: "pending", state: "loading" };
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(find("loading-state").textContent).toContain("same program");
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

it("compares a chosen side with the capture on screen, and leads back to the suggestion", async () => {
  suggested = { kind: "ready", value: { before: ["new/b"], after: ["old/a"] } };
  const other = entry({ id: "odd/c", run: "odd", name: "c" });
  runs.value = runsOf({ captures: [...(runs.value?.captures ?? []), other] });
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(asked).toEqual([["new/b"], ["old/a"]]);
  expect(all("suggested-sides")).toEqual([]);
  choose(find("side-before"), "capture:odd/c");
  expect((find("side-after") as HTMLSelectElement).value).toBe("capture:new/b");
  click(find("suggested-sides"));
  expect((find("side-after") as HTMLSelectElement).value).toBe("capture:old/a");
});

it("opens with all captures of both runs where these suggest themselves", async () => {
  const captures = ["new/b", "new/c", "old/a", "old/d"].map((id) =>
    entry({ id, run: id.slice(0, 3), name: id.slice(4) }),
  );
  runs.value = runsOf({ captures });
  suggested = { kind: "ready", value: { before: ["old/d", "old/a"], after: ["new/b", "new/c"] } };
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(asked.flat()).toEqual(["old/a", "old/d", "new/b", "new/c"]);
});

it("forgets a side that is not comparable with the next capture", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, outcome: "not_comparable" }) });
  await drawAndWait();
  choose(find("side-before"), "capture:old/a");
  act(() => selectCapture("old/a"));
  expect(sideBefore.value).toBeNull();
});

it("compares no capture with itself once the chosen one is on screen", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  choose(find("side-before"), "capture:old/a");
  act(() => selectCapture("old/a"));
  expect(sideBefore.value).toBeNull();
});

it("offers all captures of both runs in place of single ones, unless they are of different programs", async () => {
  const more = ["new/b2", "old/a2"].map((id) => entry({ id, run: id.slice(0, 3), name: id.slice(4) }));
  runs.value = runsOf({ captures: [...(runs.value?.captures ?? []), ...more] });
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, outcome: "not_comparable" }) });
  await drawAndWait();
  expect(all("both-runs")).toEqual([]);
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  choose(find("side-after"), "capture:new/b2");
  await drawAndWait();
  expect(find("both-runs").textContent).toBe("Compare old: all 2 captures with new: all 2 captures");
  await act(async () => {
    find("both-runs").click();
    await Promise.resolve();
  });
  expect(asked.slice(-2).flat()).toEqual(["old/a", "old/a2", "new/b", "new/b2"]);
  expect(all("both-runs")).toEqual([]);
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
  expect(find("no-settings").textContent).toBe("No setting changed that was recorded on both sides.");
});

it("says so when there is nothing to compare with", async () => {
  runs.value = runsOf({ captures: [entry({ id: "new/b", run: "new", name: "b" })] });
  await drawAndWait();
  expect(find("unavailable-state").textContent).toContain("nothing to compare with");
});

it("prints the intervals that the report has words for, and draws none without its ends", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(find("number-change").nextElementSibling?.textContent).toBe("95% interval: +8.0% to +16%");
  expect(all("interval").map((cell) => cell.textContent)).toEqual([
    "at least +4,000%",
    "+30% to +50%",
    "none after",
    "−10% to +12%",
    "–",
    "needs repeated runs",
  ]);
  const drawn = all("stage-change").map((line) => line.querySelectorAll(".interval-line").length);
  expect(drawn).toEqual([1, 0, 1, 0]);
});

it("prints no interval and no limit where the captures are too short", async () => {
  const time = {
    before_us: 1,
    after_us: 2,
    change: 1,
    interval_text: "too uncertain to compare",
    outcome: "too_short",
  };
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, outcome: "too_short", time }) });
  await drawAndWait();
  expect(find("number-change").textContent).toBe("–");
  expect(find("number-change").nextElementSibling?.textContent).toBe("too uncertain to compare");
  expect(find("number-detectable").dataset.value).toBeUndefined();
  expect(find("number-detectable").nextElementSibling?.textContent).toBe("too uncertain to compare");
});

it("says beside the change what likely rests on, and not beside the limit", async () => {
  const interval_text = "too uncertain to compare; “likely” rests on: decode::PIL is gone";
  const time = { before_us: 2, after_us: 1, change: -0.5, interval_text, outcome: "too_short" };
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, outcome: "too_short", time }) });
  await drawAndWait();
  expect(find("number-change").nextElementSibling?.textContent).toBe(interval_text);
  expect(find("number-detectable").nextElementSibling?.textContent).toBe("too uncertain to compare");
});

it("says how large a change must be that is not worth a limit, and no other number's interval", async () => {
  const { detectable: _, ...time } = { ...SLOWER.time, outcome: "not_significant" };
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, time }) });
  await drawAndWait();
  expect(find("number-detectable").nextElementSibling?.textContent).toBe("more than +100%");
});

it("says once what all parts of the data wait have in common", async () => {
  const part = { ...SLOWER.parts[1], name: "data_wait:read::open", title: "data wait: read::open" };
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, parts: [SLOWER.parts[1], part] }) });
  await drawAndWait();
  expect(find("common-words").textContent).toBe("Whether any of them changed: unknown, needs repeated runs.");
  expect(all("part-change").map((row) => row.querySelector("th")?.textContent)).toEqual([
    "decode::PIL.Image",
    "read::open",
  ]);
  expect(find("part-changes").textContent).not.toContain("Outcome");
  expect(find("part-changes").textContent).not.toContain("Change");
});

it("says at the flame graph what it alone has", async () => {
  const note = "Only this graph has starts of epochs, 2.11 s of the windows before, 1.40 s after.";
  const flame = { scope: "pipeline", before_us: 10, after_us: 5, before_samples: 10, after_samples: 5, note };
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, flames: [flame] }) });
  await drawAndWait();
  expect(find("flame-difference-note").textContent).toContain(note);
});

it("leads from a rank that nothing is compared with to Ranks", async () => {
  suggested = { kind: "ready", value: { before: [], after: [] } };
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  runs.value = runsOf({ captures: [entry({ id: "new/b", rank: 1 }), entry({ id: "new/c", rank: 0 })] });
  await drawAndWait();
  expect(find("unavailable-state").textContent).toMatch(/No other run of training here is known .* in Ranks/);
});

it("shows numbers of sides that are not comparable only to those who ask, and a link keeps that", async () => {
  const sentence = "Not comparable: one side is a replay.";
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, outcome: "not_comparable", sentence }) });
  await drawAndWait();
  expect(find("compare-sentence").textContent).toBe(sentence);
  expect([...all("stage-changes"), ...all("number-change"), ...all("compare-evidence")]).toEqual([]);
  click(find("compare-anyway"));
  expect(find("stage-changes")).toBeTruthy();
  expect(fieldsOfPlace(currentPlace()).anyway).toBe("on");
  choose(find("side-before"), "run:new");
  expect(fieldsOfPlace(currentPlace()).anyway).toBeUndefined();
});

it("marks a stage that is compared per sample of its batch", async () => {
  const collate = { kind: "stage", name: "collate::a", before_us: 1, after_us: 1, outcome: "not_significant" };
  const own = { ...SLOWER.stages[1], name: "user::io::parse" };
  const stages = [{ ...collate, calls: { measure: "cpu", per_sample: true } }, own, ...SLOWER.stages.slice(2)];
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, stages }) });
  await drawAndWait();
  expect(all("stage-change")[1]?.firstElementChild?.textContent).toBe("user::io::parse");
  expect(all("measure").map((cell) => cell.textContent)).toEqual(["CPU per sample", "–", "wall", "–"]);
  expect(find("stage-changes").closest("section")?.textContent).toContain("Per sample where a stage runs once per");
});

it("says that captures are identical", async () => {
  const time = { before_us: 1, after_us: 1, change: 0, interval_text: "identical", outcome: "identical" };
  const value = { outcome: "identical", sentence: "Identical: every compared number is equal.", unit: "step", time };
  answerWith({ kind: "ready", value: Comparison.fromJSON(value) });
  await drawAndWait();
  expect(find("compare-sentence").dataset.value).toBe("identical");
  expect(find("number-change").nextElementSibling?.textContent).toBe("identical");
});

it("puts a newer capture of the same program after the selected one where none is older", async () => {
  together(() => {
    captureId.value = "old/a";
    reports.value = new Map([["old/a", { kind: "ready", capture: capture({}), version: "10:1" }]]);
  });
  suggested = { kind: "ready", value: { before: ["old/a"], after: ["new/b"] } };
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(asked).toEqual([["old/a"], ["new/b"]]);
});

it("explains a row whose own interval leaves out 0 and that is not significant all the same", async () => {
  const rest = { kind: "part", name: "rest", change: 0.31, low: 0.025, high: 0.66, outcome: "not_significant" };
  answerWith({ kind: "ready", value: Comparison.fromJSON({ ...SLOWER, parts: [rest] }) });
  await drawAndWait();
  expect(find("part-change").querySelector<HTMLElement>(".outcome button")?.title).toContain("all rows");
  const calm = all("stage-change").find((row) => row.dataset.stage === "transform::Calm");
  expect(calm?.querySelector(".outcome button")).toBeNull();
});

it("names no capture above the two that it compares", async () => {
  answerWith({ kind: "ready", value: Comparison.fromJSON(SLOWER) });
  await drawAndWait();
  expect(all("capture-head")).toEqual([]);
});
