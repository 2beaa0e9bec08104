import { batch } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Capture } from "../../src/contract/report";
import type { ReportState, View } from "../../src/state/atoms";
import {
  captureId,
  deviceIndex,
  EMPTY_TIMELINE,
  goneId,
  reports,
  runs,
  runsError,
  stagesFlat,
  stagesFolded,
  timeline,
  view,
} from "../../src/state/atoms";
import { App } from "../../src/views/app";
import { capture, device, entry, gap, runsOf, stage, step } from "../build";

let root: HTMLElement;

beforeEach(() => {
  batch(() => {
    runs.value = null;
    runsError.value = null;
    reports.value = new Map();
    captureId.value = null;
    goneId.value = null;
    view.value = "overview";
    timeline.value = { ...EMPTY_TIMELINE, error: "not in this test" };
    deviceIndex.value = 0;
    stagesFlat.value = false;
    stagesFolded.value = new Set();
  });
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  root.remove();
});

function draw(): void {
  act(() => render(<App />, root));
}

function find(testId: string): HTMLElement {
  const found = root.querySelector<HTMLElement>(`[data-testid="${testId}"]`);
  if (found === null) throw new Error(`no ${testId} in: ${root.textContent}`);
  return found;
}

function open(state: ReportState, name: View = "overview", item = entry({})): void {
  batch(() => {
    runs.value = runsOf({ captures: [item] });
    captureId.value = item.id;
    reports.value = new Map([[item.id, state]]);
    view.value = name;
  });
  draw();
}

const ready = (over: Partial<Capture>): ReportState => ({ kind: "ready", capture: capture(over), version: "10:1" });

it("says that it looks for captures before the first answer", () => {
  draw();
  expect(find("loading-state").textContent).toContain("Looking for captures");
});

it("shows the one line of an error, and no blank page", () => {
  runsError.value = "TensorBoard does not answer. Is it still running?";
  draw();
  expect(find("error-state").textContent).toContain("does not answer");
});

it("shows the three lines to type when there is no capture", () => {
  runs.value = runsOf({ problems: ["/data/runs/x: permission denied"] });
  draw();
  expect(find("empty-code").textContent).toContain('with annotate.profile("/data/runs/exp1") as prof:');
  expect(find("problems").textContent).toContain("permission denied");
});

it("does not call the log directory empty while it is still being scanned", () => {
  runs.value = runsOf({ scanning: true });
  draw();
  expect(root.querySelector('[data-testid="empty-state"]')).toBeNull();
});

it("says that a capture is queued or being read", () => {
  open({ kind: "pending", state: "queued" });
  expect(find("loading-state").textContent).toContain("queued");
});

it("shows why a capture cannot be read", () => {
  open(
    { kind: "failed", message: "c: the gzip stream ends early", version: "" },
    "overview",
    entry({ state: "error" }),
  );
  expect(find("error-state").textContent).toContain("exp1 / c cannot be shown.");
  expect(find("error-state").textContent).toContain("ends early");
});

it("carries the report's exact numbers beside the rounded ones", () => {
  open(ready({ devices: [device({ idle_us: 40.125 })], loader: { ...emptyLoader, wait_us: 12.5 } }));
  expect(find("number-idle").dataset.value).toBe("40.125");
  expect(find("number-idle").textContent).toBe("40.1\u00a0%");
  expect(find("number-data-wait").dataset.value).toBe("12.5");
});

it("writes an en dash with its reason for what is unknown", () => {
  open(
    ready({
      diagnostics: [
        {
          topic: "device",
          code: "no_device_activity",
          count: 1,
          message: "the trace has no device activity, so nothing",
        },
      ],
    }),
  );
  expect(find("number-idle").textContent).toBe("–");
  expect(find("number-idle").title).toContain("no device activity");
  expect(find("number-idle").dataset.value).toBeUndefined();
});

it("draws one bar per step", () => {
  const items = [step({ number: 5, duration_us: 181_565 }), step({ number: 6 })];
  open(ready({ steps: { count: 2, mean_us: 1, p50_us: 1, p95_us: 1, items } }));
  const bars = [...root.querySelectorAll<SVGElement>('[data-testid="step-bar"]')];
  expect(bars.map((bar) => bar.dataset.valueUs)).toEqual(["181565", "100"]);
});

it("nests stages by path and folds a branch", () => {
  open(
    ready({ stages: [stage(["sample::D"], { total_us: 9 }), stage(["sample::D", "read::open"], { total_us: 4.5 })] }),
    "stages",
  );
  const rows = (): string[] =>
    [...root.querySelectorAll<HTMLElement>('[data-testid="stage-row"]')].map((row) => row.dataset.path ?? "");
  expect(rows()).toEqual(["sample::D", "sample::D > read::open"]);
  act(() => root.querySelector<HTMLButtonElement>("button.fold")?.click());
  expect(rows()).toEqual(["sample::D"]);
});

it("says why there are no stages", () => {
  open(
    ready({ diagnostics: [{ topic: "stages", code: "no_stage_markers", count: 1, message: "no stage markers" }] }),
    "stages",
  );
  expect(find("unavailable-state").textContent).toContain("no stage markers");
  expect(find("stages-code").textContent).toContain("annotate.profile");
});

it("lists the largest gaps with exact values", () => {
  open(
    ready({
      devices: [device({ gaps: [gap({ start_us: 5.25, duration_us: 30 }), gap({ start_us: 50, duration_us: 10 })] })],
    }),
    "gaps",
  );
  const rows = [...root.querySelectorAll<HTMLElement>('[data-testid="gap-row"]')];
  expect(rows.map((row) => [row.dataset.startUs, row.dataset.durationUs])).toEqual([
    ["5.25", "30"],
    ["50", "10"],
  ]);
});

it("says why idle gaps are unknown without a device", () => {
  open(ready({}), "gaps");
  expect(find("unavailable-state").textContent).toContain("No device activity");
});

it("lets several devices be told apart", () => {
  open(ready({ devices: [device({ id: 0, idle_us: 40 }), device({ id: 1, idle_us: 70 })] }), "gaps");
  const select = find("device-select") as HTMLSelectElement;
  expect([...select.options].map((option) => option.textContent)).toEqual(["Device 0", "Device 1"]);
  act(() => {
    select.value = "1";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  expect(find("number-gaps-idle").dataset.value).toBe("70");
});

it("sorts stages by a click on a column head, and turns round at the next", () => {
  open(ready({ stages: [stage(["read::a"], { self_us: 1 }), stage(["read::b"], { self_us: 9 })] }), "stages");
  const rows = (): string[] =>
    [...root.querySelectorAll<HTMLElement>('[data-testid="stage-row"]')].map((row) => row.dataset.path ?? "");
  const head = [...root.querySelectorAll<HTMLButtonElement>("button.sort")].find((button) =>
    button.textContent?.startsWith("Self"),
  );
  act(() => head?.click());
  expect(rows()).toEqual(["read::b", "read::a"]);
  act(() => head?.click());
  expect(rows()).toEqual(["read::a", "read::b"]);
});

it("offers ui.perfetto.dev and a download when Perfetto is not installed", () => {
  open(ready({}), "trace");
  expect(find("open-perfetto").textContent).toContain("ui.perfetto.dev");
  expect(find("download-trace").getAttribute("href")).toContain("trace?id=exp1%2Fc");
  expect(root.querySelector("iframe")).toBeNull();
});

it("shows markup in names as text", () => {
  open(ready({ stages: [stage(["user::<img src=x>"], {})] }), "stages");
  expect(root.querySelector("img")).toBeNull();
  expect(root.textContent).toContain("<img src=x>");
});

it("does not praise a capture that could not be looked into", () => {
  const verdict = { bound: "unknown", sentence: "The device is idle.", evidence: [] };
  open(
    ready({
      verdict,
      diagnostics: [{ topic: "loader", code: "x", count: 1, message: "No thread carries loader spans" }],
    }),
  );
  expect(find("no-findings").textContent).toContain(
    "cannot tell whether there is anything to change. No thread carries loader spans.",
  );
  open(ready({ verdict, loader: emptyLoader }));
  expect(find("no-findings").textContent).toContain("No rule found anything");
});

it("counts in whole numbers, one of a kind in the singular", () => {
  open(
    ready({
      throughput: { samples_per_s: 2, samples: 24, limited_by: "" },
      steps: { count: 1, mean_us: 1, p50_us: 1, p95_us: 1, items: [] },
    }),
  );
  const text = root.textContent?.replaceAll("\u00a0", " ") ?? "";
  expect(text).toContain("24 samples in the window");
  expect(text).toContain("1 step; p50");
});

it("drops the wait from a stage's path in the flat table", () => {
  stagesFlat.value = true;
  open(
    ready({
      stages: [
        stage(["wait::DataLoader", "sample::D", "transform::A", "read::open"], {}),
        stage(["wait::DataLoader", "collate::c"], {}),
      ],
    }),
    "stages",
  );
  expect([...root.querySelectorAll(".in-path")].map((path) => path.textContent)).toEqual(["in D › A"]);
});

const emptyLoader = { wait_us: 0, wait_count: 0, wait_by_stage_us: {}, start_method: "", dataset: "" };
