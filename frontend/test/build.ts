// Builders of report parts: defaults first, what a test is about on top.

import * as contract from "../src/contract/report";
import type { CaptureEntry, Runs } from "../src/data/runs";
import type { LaneColumns, TimelineSlice } from "../src/data/timeline";

/** As much of a message as a test is about; the rest is proto3's defaults. */
export type Part<T> = T extends readonly (infer Item)[]
  ? readonly Part<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Part<T[Key]> }
    : T;

export function stage(path: string[], over: Part<contract.Stage>): contract.Stage {
  const [kind = "", label = ""] = (path.at(-1) ?? "").split("::");
  const times = { total_us: 1, self_us: 1, p50_us: 1, p95_us: 1, max_us: 1 };
  return contract.Stage.fromJSON({ kind, label, parent: path.at(-2), count: 1, path, ...times, ...over });
}

export function step(over: Part<contract.Step>): contract.Step {
  return contract.Step.fromJSON({ number: 1, duration_us: 100, data_wait_us: 10, ...over });
}

export function gap(over: Part<contract.Gap>): contract.Gap {
  return contract.Gap.fromJSON({ duration_us: 1, cause: "unknown", exposed_wait_us: 0, ...over });
}

export function device(over: Part<contract.Device>): contract.Device {
  const times = { busy_us: 60, kernel_busy_us: 50, idle_us: 40, gap_count: 2, longest_gap_us: 30 };
  return contract.Device.fromJSON({ ...times, idle_by_cause_us: { data_wait: 30, unknown: 10 }, ...over });
}

export function finding(over: Part<contract.Finding>): contract.Finding {
  const texts = { rule: "r", severity: "high", title: "t", advice: "a", confidence: "measured" };
  return contract.Finding.fromJSON({ ...texts, gain_text: "gain unknown", ...over });
}

export function worker(over: Part<contract.Worker>): contract.Worker {
  return contract.Worker.fromJSON({ pid: 1, batches: 1, busy_us: 60, idle_us: 40, ...over });
}

export function batch(over: Part<contract.Batch>): contract.Batch {
  return contract.Batch.fromJSON(over);
}

export function costs(over: Part<contract.WorkerCosts>): contract.WorkerCosts {
  return contract.WorkerCosts.fromJSON({ batches: 4, wall_us: 1000, build_us: 250, ...over });
}

export function capture(over: Part<contract.Capture>): contract.Capture {
  return contract.Capture.fromJSON({ name: "c", mode: "train", window_us: 100, ...over });
}

export function lane(boxes: ReadonlyArray<readonly [start: number, duration: number, depth?: number]>): LaneColumns {
  return {
    id: "l",
    kind: "device",
    title: "Device 0",
    start_us: boxes.map((b) => b[0]),
    duration_us: boxes.map((b) => b[1]),
    name: boxes.map(() => 0),
    depth: boxes.map((b) => b[2] ?? 0),
    merged: boxes.map(() => 1),
    color: boxes.map(() => 1),
    index: [],
    covered: [],
    lines: [],
    unit: "",
    top: 1,
    training_thread: false,
    loader_title: "",
  };
}

export function timeline(lanes: LaneColumns[]): TimelineSlice {
  return { start_us: 0, end_us: 100, window_start_us: 0, window_end_us: 100, lanes, names: ["volta", "kernel"] };
}

export function entry(over: Partial<CaptureEntry>): CaptureEntry {
  return {
    id: "exp1/c",
    run: "exp1",
    name: "c",
    state: "ready",
    error: null,
    bytes: 10,
    modified: 1,
    taken: 1,
    takenBy: "file",
    mode: "train",
    rank: null,
    rankRun: null,
    isCutOff: false,
    ...over,
  };
}

export function runsOf(over: Partial<Runs>): Runs {
  const none = { captures: [], repeatedRuns: [], mixedRuns: [], wholeRuns: 0, rankRuns: 0, problems: [] };
  return { logdir: "/data/runs", scanning: false, perfetto: false, ...none, ...over };
}
