import { expect, it } from "vitest";
import { Report } from "../../src/contract/report";
import { decodeRuns } from "../../src/data/runs";
import { decodeTimeline } from "../../src/data/timeline";

it("fills in what proto3 JSON leaves out, and keeps absence absent", () => {
  const [capture] = Report.fromJSON({ captures: [{ name: "c", devices: [{ idle_us: 3 }], loader: {} }] }).captures;
  expect(capture?.devices[0]).toMatchObject({ id: 0, idle_us: 3, gaps: [], name: "" });
  expect(capture?.loader?.wait_us).toBe(0);
  expect(capture?.loader?.exposed_wait_us).toBeUndefined();
  expect(capture?.steps).toBeUndefined();
  expect(capture?.window_us).toBeUndefined();
});

it("survives answers of another shape", () => {
  expect(Report.fromJSON({}).captures).toEqual([]);
  expect(decodeTimeline("x").lanes).toEqual([]);
  expect(decodeRuns([1]).captures).toEqual([]);
});

it("reads capture entries with states and modes it knows", () => {
  const [item] = decodeRuns({ captures: [{ id: "a", name: "a", run: "", state: "odd", mode: "odd" }] }).captures;
  expect(item).toMatchObject({ run: ".", state: "queued", mode: null, error: null });
});

it("keeps absent what did not happen to a batch, and what a worker does not tell", () => {
  const [capture] = Report.fromJSON({
    captures: [
      {
        workers: [{ worker: 1, loader: 1, skew: 1.5 }],
        batches: [{ number: 3, finished_us: 0, wait_us: null }],
        batch_count: 7,
        queues: [{ time_us: [1, 2], ready: [0, 1], in_flight: [2, 1], loader: 1 }],
        slow_samples: [{ index: -1, stage: "read::open" }],
        stages: [{ kind: "read", replay_ratio: 1.7 }],
      },
    ],
  }).captures;
  expect(capture?.workers[0]).toMatchObject({
    worker: 1,
    loader: 1,
    skew: 1.5,
    starved_us: undefined,
    dropped_spans: undefined,
  });
  expect(capture?.batches[0]).toMatchObject({
    number: 3,
    epoch: 0,
    finished_us: 0,
    wait_us: undefined,
    consumed_us: undefined,
  });
  expect(capture?.batch_count).toBe(7);
  expect(capture?.queues[0]).toEqual({ time_us: [1, 2], ready: [0, 1], in_flight: [2, 1], loader: 1 });
  expect(capture?.slow_samples[0]).toMatchObject({ index: -1, batch: 0, stage: "read::open", loader: 0 });
  expect(capture?.stages[0]).toMatchObject({ replay_ratio: 1.7, replay_mean_us: undefined });
});
