// Causes, chains and findings on the page.

import { batch as together } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Capture, Chain } from "../../src/contract/report";
import { buildTimeline } from "../../src/model/lanes";
import {
  captureId,
  causeFilter,
  chainLink,
  deviceIndex,
  EMPTY_TIMELINE,
  goneId,
  range,
  reports,
  runs,
  runsError,
  selectedBatch,
  selectedGapUs,
  shownStage,
  timeline,
  type View,
  view,
} from "../../src/state/atoms";
import { App } from "../../src/views/app";
import {
  batch,
  capture,
  device,
  entry,
  finding,
  gap,
  lane,
  runsOf,
  stage,
  step,
  timeline as timelineOf,
} from "../build";

let root: HTMLElement;

beforeEach(() => {
  together(() => {
    runsError.value = null;
    goneId.value = null;
    timeline.value = { ...EMPTY_TIMELINE, error: "not in this test" };
    range.value = null;
    deviceIndex.value = 0;
    selectedGapUs.value = null;
    chainLink.value = null;
    causeFilter.value = null;
    selectedBatch.value = null;
    shownStage.value = null;
  });
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  root.remove();
});

const all = (testId: string): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(`[data-testid="${testId}"]`)];

function find(testId: string): HTMLElement {
  const [found] = all(testId);
  if (found === undefined) throw new Error(`no ${testId} in: ${root.textContent}`);
  return found;
}

function open(over: Partial<Capture>, name: View): void {
  together(() => {
    runs.value = runsOf({ captures: [entry({})] });
    captureId.value = "exp1/c";
    reports.value = new Map([["exp1/c", { kind: "ready", capture: capture(over), version: "10:1" }]]);
    view.value = name;
  });
  act(() => render(<App />, root));
}

const click = (element: HTMLElement | undefined): void => void act(() => element?.click());
const steps = { count: 4, mean_us: 25, p50_us: 25, p95_us: 25, items: [step({})] };
const link = (name: string, start_us: number, duration_us: number, laneId: string) => ({
  name,
  start_us,
  duration_us,
  lane: laneId,
});
const chain: Chain = {
  launch: link("cudaLaunchKernel", 38, 1, "thread:1"),
  wait: link("wait", 12, 25, "thread:1"),
  batch: link("batch 4", 2, 33, "worker:7"),
  batch_number: 4,
  epoch: 0,
  loader: 0,
  worker: 3,
  sample: link("sample::D", 5, 20, "worker:7"),
  sample_index: 19,
  stage: link("decode::PIL", 8, 15, "worker:7"),
};
const gaps = [
  gap({
    start_us: 10,
    duration_us: 30,
    cause: "data_wait",
    stage: "decode::PIL",
    step: 2,
    data_wait_us: 25,
    idle_by_cause_us: { data_wait: 25, launch: 5 },
    chain,
  }),
  gap({ start_us: 60, duration_us: 10, cause: "launch", idle_by_cause_us: { launch: 10 } }),
];
const idle = device({ gaps, idle_by_cause_us: { data_wait: 25, launch: 15 } });

it("shows the window as one bar: busy and every cause, with exact numbers", () => {
  open({ devices: [idle] }, "overview");
  const pieces = [...find("cause-bar").querySelectorAll<HTMLElement>(".share-bar > span")];
  expect(pieces.map((piece) => [piece.dataset.token, piece.dataset.valueUs])).toEqual([
    ["kernel", "60"],
    ["idle:data_wait", "25"],
    ["idle:launch", "15"],
  ]);
  const numbers = [...find("idle-by-cause").querySelectorAll<HTMLElement>("[data-value]")];
  expect(numbers.map((number) => [number.textContent, number.dataset.value])).toEqual([
    ["60.0\u00a0%", "60"],
    ["25.0\u00a0%", "25"],
    ["15.0\u00a0%", "15"],
  ]);
});

it("shows three findings on the Overview and the way to all of them", () => {
  open(
    { steps, findings: ["a", "b", "c", "d"].map((rule) => finding({ rule })), abstained: [{ rule: "x", reason: "y" }] },
    "overview",
  );
  expect(all("finding").map((item) => item.dataset.rule)).toEqual(["a", "b", "c"]);
  expect(find("all-findings").textContent).toBe("All 4 findings, and what this capture cannot tell (1)");
  click(find("all-findings"));
  expect(view.value).toBe("findings");
});

it("says of each finding what was seen, what to change, what it may gain and how sure it is", () => {
  const one = finding({
    title: "Slow decode",
    advice: "Decode less.",
    evidence: ["12 calls"],
    code: "x = 1",
    gain_us_per_step: 5,
    confidence: "likely",
    confidence_reason: "no replay",
  });
  open({ steps, findings: [one] }, "findings");
  const text = find("finding").textContent?.replaceAll("\u00a0", " ") ?? "";
  for (const part of [
    "Slow decode",
    "12 calls",
    "Decode less.",
    "x = 1",
    "20.0 % of it",
    "Likely: the figures point to it. No replay.",
  ])
    expect(text).toContain(part);
  expect(find("finding-gain").dataset.value).toBe("5");
  expect(find("finding-code").querySelector("button")?.textContent).toBe("Copy");
});

it("groups findings by severity and lists the rules that cannot tell", () => {
  open(
    {
      findings: [finding({ severity: "low" }), finding({ severity: "high" })],
      abstained: [{ rule: "too_few_workers", reason: "no records" }],
    },
    "findings",
  );
  expect(all("finding-group").map((group) => group.dataset.severity)).toEqual(["high", "low"]);
  expect(find("abstention").textContent).toBe("too few workersNo records.");
});

it("has a form for nothing to change", () => {
  open(
    {
      loader: { wait_us: 0, wait_count: 1, wait_by_stage_us: {}, start_method: "", dataset: "" },
      verdict: { bound: "device", sentence: "The device is busy.", evidence: [] },
    },
    "findings",
  );
  expect(find("no-findings").textContent).toBe("Nothing to change: the device is busy.");
});

it("leads from a finding to its stage", () => {
  open(
    {
      steps,
      findings: [finding({ stage: "decode::PIL" })],
      stages: [stage(["decode::PIL"], {}), stage(["read::open"], {})],
    },
    "findings",
  );
  click(find("finding-stage"));
  expect(all("stage-row").map((row) => row.getAttribute("aria-current"))).toEqual(["true", null]);
});

it("tells of the longest gap before one is chosen, and of the next at a click", () => {
  open({ devices: [idle] }, "gaps");
  expect(find("gap-detail").dataset.startUs).toBe("10");
  expect(all("gap-cause").map((cause) => [cause.dataset.cause, cause.dataset.valueUs])).toEqual([
    ["data_wait", "25"],
    ["launch", "5"],
  ]);
  click(all("gap-row")[1]);
  expect(find("gap-detail").dataset.startUs).toBe("60");
  expect(all("chain-row").length).toBe(7);
  click(find("longer-gap"));
  expect(find("gap-detail").dataset.startUs).toBe("10");
});

it("zooms to every link of the chain", () => {
  timeline.value = {
    whole: buildTimeline(timelineOf([{ ...lane([[8, 15]]), id: "worker:7", kind: "worker" }])),
    detail: null,
    error: null,
  };
  open({ devices: [idle] }, "gaps");
  const ranges: string[] = [];
  for (const button of all("chain-link")) {
    click(button);
    ranges.push(`${range.value?.startUs} ${range.value?.endUs}`);
  }
  expect(new Set(ranges).size).toBe(7);
  expect(find("timeline-canvas").dataset.marked).toBe("worker:7");
  expect(range.value).toEqual({ startUs: 0.5, endUs: 30.5 });
  expect(all("chain-row").map((row) => row.getAttribute("aria-current"))).toEqual([
    null,
    null,
    null,
    null,
    null,
    null,
    "true",
  ]);
});

it("opens the chain's batch in Workers", () => {
  open({ devices: [idle], batches: [batch({ number: 4, worker: 3 })], batch_count: 1 }, "gaps");
  click(find("chain-batch"));
  expect([view.value, selectedBatch.value]).toEqual(["workers", "0:0:3:4:"]);
});

it("filters gaps by cause, and shows all again at a second click", () => {
  open({ devices: [idle] }, "gaps");
  const launch = () => all("cause-filter").find((button) => button.dataset.cause === "launch");
  click(launch());
  expect(all("gap-row").map((row) => row.dataset.cause)).toEqual(["launch"]);
  expect(find("gap-detail").dataset.startUs).toBe("60");
  expect(find("gap-cover").textContent).toContain("1 whose main cause is launch");
  click(launch());
  expect(all("gap-row").length).toBe(2);
});

it("shows evidence of stages only where there is any", () => {
  open(
    {
      stages: [
        stage(["decode::PIL"], {
          self_us: 10,
          cpu_self_us: 9,
          starved_us: 0,
          limited_by: "cpu",
          bytes: 4000,
          count: 2,
        }),
        stage(["read::open"], {}),
      ],
    },
    "stages",
  );
  const cells = [...root.querySelectorAll<HTMLElement>('[data-column="limited_by"]')];
  expect(cells.map((cell) => cell.dataset.value)).toEqual(["cpu", undefined]);
  expect(cells[1]?.querySelector("abbr")?.title).toContain("not recorded");
  expect(root.querySelector<HTMLElement>('[data-column="bytes_per_call"]')?.dataset.value).toBe("4000");
  open({ stages: [stage(["decode::PIL"], {})] }, "stages");
  expect(root.querySelector('[data-head="limited_by"], [data-head="bytes_per_call"]')).toBeNull();
});

it("shows the load of the host also where there are no DataLoader workers", () => {
  const load = [{ counter: "host::memory", series: "used_bytes", samples: 3, mean: 1e9, low: 1e9, high: 2e9 }];
  open({ host_load: load }, "workers");
  expect(find("load-row").textContent?.replaceAll("\u00a0", " ")).toBe("Memory1.00 GB1.00 GB2.00 GB");
});
