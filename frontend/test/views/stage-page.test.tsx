import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import type { Capture, StageDetail } from "../../src/contract/report";
import * as atoms from "../../src/state/atoms";
import { lane, type Part, stage } from "../build";
import { all, click, find, open, plain, withTimeline } from "../page";

const DETAIL: Part<StageDetail> = {
  name: "transform::Mask",
  count: 30,
  mean_us: 12,
  p50_us: 10,
  p95_us: 20,
  max_us: 40,
  sentence: "30 calls: half take less than 10.0 µs.",
  histogram: { edges_us: [5, 10, 20, 40], calls: [10, 18, 2], logarithmic: true },
  slowest: [
    {
      start_us: 50,
      duration_us: 35,
      span_us: 40,
      self_us: 30,
      loader: 0,
      worker: 1,
      epoch: 0,
      batch: 7,
      index: 41,
      samples: 9,
      line: "dilate at train.py:41",
      line_samples: 8,
      files: ["/data/41.jpg"],
    },
    { start_us: 10, duration_us: 20, self_us: 20, training_thread: true, samples: 1 },
  ],
  trend: { per: "batch", start_us: [10, 50], calls: [15, 15], mean_us: [10, 14], max_us: [20, 40], batch: [0, 7] },
};

const CAPTURE: Part<Capture> = {
  stages: [
    stage(["sample::D"], {}),
    stage(["sample::D", "transform::Mask"], { count: 30, self_us: 9, blame_us: 4, defined_at: "train.py:30" }),
  ],
  stage_details: [DETAIL],
  loader: { wait_us: 8 },
};

it("opens from a row of the stages, by its button too, and leads back", () => {
  open(CAPTURE, "stages");
  click(all("stage-link")[1]);
  expect(find("stage-page").dataset.stage).toBe("transform::Mask");
  expect(find("detail-sentence").textContent).toBe(DETAIL.sentence);
  click(find("all-stages"));
  click(all("stage-row")[1]);
  expect(atoms.shownStage.value).toBe("transform::Mask");
});

it("takes the focus to its heading when the row that led there is gone", () => {
  open(CAPTURE, "stages");
  const [, link] = all("stage-link");
  link?.focus();
  click(link);
  expect((document.activeElement as HTMLElement).dataset.testid).toBe("stage-page");
});

it("leads back by the tab of the stages", () => {
  atoms.shownStage.value = "transform::Mask";
  open(CAPTURE, "stages");
  click(find("tab-stages"));
  expect(all("stage-row")).toHaveLength(2);
});

it("prints the table of all stages", () => {
  atoms.shownStage.value = "transform::Mask";
  open(CAPTURE, "stages");
  act(() => {
    atoms.printing.value = true;
  });
  expect(find("printed-stages").querySelectorAll("[data-testid=stage-row]")).toHaveLength(2);
  act(() => {
    atoms.printing.value = false;
  });
});

it("folds a branch without opening its stage", () => {
  const root = open(CAPTURE, "stages");
  click(root.querySelector<HTMLElement>("button.fold"));
  expect(atoms.shownStage.value).toBeNull();
});

it("shows where it is, what it caused and how its calls spread", () => {
  atoms.shownStage.value = "transform::Mask";
  const root = open(CAPTURE, "stages");
  expect(root.textContent).toContain("in sample::D · defined at train.py:30");
  expect(find("number-stage-wait").dataset.value).toBe("4");
  expect(find("number-stage-p95").dataset.value).toBe("20");
  expect(all("bin").map((bin) => bin.dataset.value)).toEqual(["10", "18", "2"]);
  expect(plain(find("mark-p50").textContent)).toBe("p50 10.0 µs");
  expect(all("trend-point")).toHaveLength(2);
});

it("lists the slowest calls with what is known of each, and frames one in the timeline", () => {
  withTimeline([{ ...lane([[0, 100]]), id: "w1", kind: "worker", worker: 1, loader: 0 } as ReturnType<typeof lane>]);
  atoms.shownStage.value = "transform::Mask";
  open(CAPTURE, "stages");
  const [first, second] = all("slow-call");
  expect(plain(first?.textContent)).toBe(
    "35.030.00741DataLoader worker 140.0 µs in the timeline: not counting 5.00 µs of waiting for a CPU in annotate's own codedilate at train.py:41 8 of 9 samples/data/41.jpg ",
  );
  expect(second?.querySelectorAll("abbr")).toHaveLength(5);
  expect(second?.textContent).toContain("training thread");
  click(first);
  expect(atoms.selectedCall.value).toBe("50:35:0:1");
  expect(atoms.range.value?.startUs).toBeLessThanOrEqual(50);
});

it("has no column of lines where too few stacks were sampled in every call", () => {
  atoms.shownStage.value = "transform::Mask";
  const [, unseen] = DETAIL.slowest ?? [];
  open({ ...CAPTURE, stage_details: [{ ...DETAIL, slowest: unseen === undefined ? [] : [unseen] }] }, "stages");
  expect(find("slow-calls").querySelector('[data-head="line"]')).toBeNull();
});

it("sorts the slowest calls by any column", () => {
  atoms.shownStage.value = "transform::Mask";
  open(CAPTURE, "stages");
  const starts = (): Array<string | undefined> => all("slow-call").map((row) => row.dataset.startUs);
  click(find("slow-calls").querySelector<HTMLElement>('[data-head="run_by"] button'));
  expect(starts()).toEqual(["50", "10"]);
  click(find("slow-calls").querySelector<HTMLElement>('[data-head="run_by"] button'));
  expect(starts()).toEqual(["10", "50"]);
  click(find("slow-calls").querySelector<HTMLElement>('[data-head="batch"] button'));
  expect(starts()).toEqual(["50", "10"]);
});

it("says why it has no lines, and that a capture has no such stage", () => {
  atoms.shownStage.value = "transform::Mask";
  open(CAPTURE, "stages");
  expect(find("stage-lines").textContent).toContain("No stacks were sampled");
  atoms.shownStage.value = "decode::Gone";
  open(CAPTURE, "stages");
  expect(find("stage-unknown").textContent).toContain("This capture has no stage decode::Gone.");
  expect(all("stage-row")).toHaveLength(2);
});

it("says what limits the stage and what to change in it, and leaves findings of others out", () => {
  atoms.shownStage.value = "transform::Mask";
  const limited = { self_us: 9, cpu_self_us: 8, limited_by: "cpu", limited_by_text: "90.0% of its self time running." };
  const recorded = { profiler_text: "Half of it is torch's profiler." };
  const findings = [
    { rule: "heavy", title: "Mask is slow", stage: "transform::Mask" },
    { rule: "other", title: "Reading is slow", stage: "read::open" },
  ];
  const stages = [stage(["sample::D"], {}), stage(["sample::D", "transform::Mask"], { ...limited, ...recorded })];
  open({ ...CAPTURE, stages, findings }, "stages");
  expect(find("stage-limits").textContent).toBe("Limited byCPU-bound. 90.0% of its self time running.");
  expect(find("stage-profiler").textContent).toBe("Half of it is torch's profiler.");
  expect(all("finding").map((one) => one.dataset.rule)).toEqual(["heavy"]);
});

it("labels the axes of both charts", () => {
  atoms.shownStage.value = "transform::Mask";
  open(CAPTURE, "stages");
  const labels = (id: string): string[] =>
    [...find(id).querySelectorAll(".axis text")].map((one) => plain(one.textContent));
  expect(labels("histogram").slice(0, 2)).toEqual(["0", "10"]);
  expect(labels("histogram")).toContain("5.00 µs");
  expect(labels("trend")).toEqual(expect.arrayContaining(["0 µs", "20 µs", "40 µs", "100 µs"]));
});

it("marks the slowest call in the timeline until another is chosen", () => {
  withTimeline([{ ...lane([[0, 100]]), id: "w1", kind: "worker", worker: 1, loader: 0 } as ReturnType<typeof lane>]);
  atoms.shownStage.value = "transform::Mask";
  open(CAPTURE, "stages");
  expect(find("timeline-canvas").dataset.marked).toBe("w1");
  click(all("slow-call")[1]);
  expect(find("timeline-canvas").dataset.marked).toBeUndefined();
});
