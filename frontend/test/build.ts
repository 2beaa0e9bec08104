// Builders of report parts: defaults first, what a test is about on top.

import { Batch, Capture, Device, Finding, Gap, Stage, Step, Worker } from "../src/contract/report";
import type { CaptureEntry, Runs } from "../src/data/runs";
import type { LaneColumns, TimelineSlice } from "../src/data/timeline";

export function stage(path: string[], over: Partial<Stage>): Stage {
  const [kind = "", label = ""] = (path.at(-1) ?? "").split("::");
  const times = { total_us: 1, self_us: 1, p50_us: 1, p95_us: 1, max_us: 1 };
  return { ...Stage.fromJSON({ kind, label, parent: path.at(-2), count: 1, path, ...times }), ...over };
}

export function step(over: Partial<Step>): Step {
  return { ...Step.fromJSON({ number: 1, duration_us: 100, data_wait_us: 10 }), ...over };
}

export function gap(over: Partial<Gap>): Gap {
  return { ...Gap.fromJSON({ duration_us: 1, cause: "unknown", data_wait_us: 0 }), ...over };
}

export function device(over: Partial<Device>): Device {
  const times = { busy_us: 60, kernel_busy_us: 50, idle_us: 40, gap_count: 2, longest_gap_us: 30 };
  return { ...Device.fromJSON({ ...times, idle_by_cause_us: { data_wait: 30, unknown: 10 } }), ...over };
}

export function finding(over: Partial<Finding>): Finding {
  const texts = { rule: "r", severity: "high", title: "t", advice: "a", confidence: "measured" };
  return { ...Finding.fromJSON(texts), ...over };
}

export function worker(over: Partial<Worker>): Worker {
  return { ...Worker.fromJSON({ pid: 1, batches: 1, busy_us: 60, idle_us: 40 }), ...over };
}

export function batch(over: Partial<Batch>): Batch {
  return { ...Batch.fromJSON({}), ...over };
}

export function capture(over: Partial<Capture>): Capture {
  return { ...Capture.fromJSON({ name: "c", mode: "train", window_us: 100 }), ...over };
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
    mode: "train",
    ...over,
  };
}

export function runsOf(over: Partial<Runs>): Runs {
  return { logdir: "/data/runs", scanning: false, perfetto: false, captures: [], problems: [], ...over };
}
