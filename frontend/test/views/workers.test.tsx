import { batch as together } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Capture } from "../../src/contract/report";
import { buildTimeline } from "../../src/model/lanes";
import {
  batchRows,
  batchSort,
  captureId,
  EMPTY_TIMELINE,
  loaderNumber,
  range,
  reports,
  runs,
  runsError,
  selectedBatch,
  timeline,
  type View,
  view,
} from "../../src/state/atoms";
import { App } from "../../src/views/app";
import { batch, capture, entry, lane, runsOf, stage, timeline as timelineOf, worker } from "../build";

let root: HTMLElement;

beforeEach(() => {
  together(() => {
    runsError.value = null;
    timeline.value = { ...EMPTY_TIMELINE, error: "not in this test" };
    range.value = null;
    loaderNumber.value = 0;
    selectedBatch.value = null;
    batchRows.value = 50;
    batchSort.value = { column: "wait", descending: true };
  });
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  root.remove();
});

function open(over: Partial<Capture>, name: View = "workers"): void {
  together(() => {
    runs.value = runsOf({ captures: [entry({})] });
    captureId.value = entry({}).id;
    reports.value = new Map([[entry({}).id, { kind: "ready", capture: capture(over), version: "10:1" }]]);
    view.value = name;
  });
  act(() => render(<App />, root));
}

function all(testId: string): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(`[data-testid="${testId}"]`)];
}

function find(testId: string): HTMLElement {
  const [found] = all(testId);
  if (found === undefined) throw new Error(`no ${testId} in: ${root.textContent}`);
  return found;
}

const loader = { wait_us: 38, wait_count: 1, wait_by_stage_us: {}, start_method: "fork", dataset: "D" };
const workers = [
  worker({ busy_us: 96.25, starved_us: 1.5, startup_us: 2 }),
  worker({ worker: 1, pid: 2, busy_us: 95.75, starved_us: 0.5, startup_us: 1, skew: 1 }),
];

it("has a tab between Stages and Idle gaps", () => {
  open({});
  const names = [...root.querySelectorAll<HTMLElement>('[role="tab"]')].map((tab) => tab.dataset.testid);
  expect(names).toEqual([
    "tab-overview",
    "tab-findings",
    "tab-stages",
    "tab-workers",
    "tab-gaps",
    "tab-compare",
    "tab-trace",
  ]);
});

it("says plainly that a loader has no workers, and leads to the stages", () => {
  open({ loader: { ...loader, num_workers: 0 } });
  const state = find("unavailable-state");
  expect(state.textContent).toContain(
    "This loader has no workers: the training thread makes the batches itself, see Stages",
  );
  act(() => state.querySelector("button")?.click());
  expect(view.value).toBe("stages");
});

it("does not speak of a loader's workers in a replay, which uses none", () => {
  open({ mode: "replay", loader: { ...loader, num_workers: 4 } });
  expect(find("unavailable-state").textContent).toContain("A replay runs without DataLoader workers");
});

it.each(["workers", "blame"])("says why there are no records, by the diagnostic about %s", (topic) => {
  open({
    loader: { ...loader, num_workers: 4 },
    diagnostics: [{ topic, code: "c", count: 1, message: "none of them recorded anything" }],
  });
  expect(find("unavailable-state").textContent).toContain("What the 4 DataLoader workers did cannot be told");
  expect(find("unavailable-state").textContent).toContain("none of them recorded anything");
});

it("carries the report's exact numbers beside the rounded ones", () => {
  open({ workers, loader, batches: [batch({ blocked_us: 4.5 })], batch_count: 1 });
  expect(find("workers-sentence").textContent).toContain("they cannot keep up");
  expect(find("number-workers-busy").dataset.value).toBe("96");
  expect(find("number-workers-starved").dataset.value).toBe("1");
  expect(find("number-head-of-line").dataset.value).toBe("4.5");
  expect(find("number-startup").dataset.value).toBe("2");
  const cells = all("worker-row").map((row) => [
    row.dataset.worker,
    row.querySelector<HTMLElement>('[data-column="busy_us"]')?.dataset.valueUs,
  ]);
  expect(cells).toEqual([
    ["0", "96.25"],
    ["1", "95.75"],
  ]);
});

it("writes an en dash with its reason for what no worker tells", () => {
  open({ workers: [worker({})] });
  expect(find("number-workers-starved").textContent).toBe("–");
  expect(find("number-workers-starved").title).toContain("no index to work on");
  expect(find("worker-row").querySelector('[data-column="skew"] abbr')?.getAttribute("title")).toContain(
    "no other DataLoader worker",
  );
});

it("lists batches by wait, fifty at first", () => {
  open({
    workers,
    batches: Array.from({ length: 60 }, (_, number) => batch({ number, wait_us: number, started_us: number })),
    batch_count: 60,
  });
  expect(all("batch-row").length).toBe(50);
  expect(find("batch-row").dataset).toMatchObject({ number: "59", epoch: "0" });
  act(() => find("more-batches").click());
  expect(all("batch-row").length).toBe(60);
});

it("draws the arrow of the chosen batch, goes there, and lets go at Escape", () => {
  const lanes = [
    { ...lane([[20, 10]]), id: "thread:1", kind: "stages", title: "Training thread" },
    { ...lane([[0, 25]]), id: "worker:1", kind: "worker", title: "DataLoader worker 0" },
  ];
  timeline.value = { whole: buildTimeline(timelineOf(lanes)), detail: null, error: null };
  open({
    workers,
    batches: [batch({ started_us: 0, finished_us: 25, consumed_us: 29, wait_us: 10 })],
    batch_count: 1,
    queues: [{ time_us: [0, 25], ready: [0, 1], in_flight: [1, 0], loader: 0 }],
  });
  expect(find("timeline-canvas").dataset.link).toBeUndefined();
  act(() => find("batch-row").click());
  expect(find("timeline-canvas").dataset.link).toBe("worker:1 thread:1");
  expect(find("batch-row").getAttribute("aria-current")).toBe("true");
  expect(range.value).not.toBeNull();
  expect(find("queue-chart").dataset.endUs).toBe(String(range.value?.endUs));
  act(() => void document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" })));
  expect(find("timeline-canvas").dataset.link).toBeUndefined();
});

it("lists slow samples with their dataset index, and an en dash for what has none", () => {
  const sample = {
    index: 5,
    duration_us: 9.5,
    worker: 0,
    batch: 0,
    epoch: 0,
    stage: "decode::PIL",
    stage_us: 7,
    loader: 0,
  };
  open({ workers, slow_samples: [sample, { ...sample, index: -1 }] });
  expect(all("slow-sample-row").map((row) => row.dataset.index)).toEqual(["5", "-1"]);
  expect(all("slow-sample-row")[1]?.querySelector("abbr")?.title).toContain("iterable");
  expect(find("slow-sample-row").querySelector<HTMLElement>('[data-column="stage_us"]')?.dataset.valueUs).toBe("7");
});

it("lets several loaders be told apart", () => {
  open({ workers: [...workers, worker({ worker: 5, pid: 9, loader: 1 })] });
  const select = find("loader-select") as HTMLSelectElement;
  expect([...select.options].map((option) => option.textContent)).toEqual(["DataLoader 0", "DataLoader 1"]);
  act(() => {
    select.value = "1";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  expect(all("worker-row").map((row) => row.dataset.worker)).toEqual(["5"]);
});

it("shows in Stages what contention costs only where a replay stands beside the run", () => {
  const live = stage(["sample::D"], { replay_mean_us: 2.5, replay_ratio: 1.68 });
  open({ stages: [live, stage(["read::open"], {})] }, "stages");
  const cell = root.querySelector<HTMLElement>('[data-column="replay_ratio"]');
  expect([cell?.textContent, cell?.dataset.value]).toEqual(["1.7x", "1.68"]);
  expect(root.querySelectorAll('[data-column="replay_ratio"] abbr').length).toBe(1);
  open({ stages: [stage(["sample::D"], {})] }, "stages");
  expect(root.querySelector('[data-column="replay_ratio"]')).toBeNull();
});
