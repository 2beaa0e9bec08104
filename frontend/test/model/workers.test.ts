import { describe, expect, it } from "vitest";
import type { Capture } from "../../src/contract/report";
import { loaderNumbers, loaderPart, workersSentence, workerTotals } from "../../src/model/workers";
import { batch, capture, worker } from "../build";

const loader = { wait_us: 0, wait_count: 1, wait_by_stage_us: {}, start_method: "", dataset: "" };

function said(over: Partial<Capture>): string {
  const made = capture(over);
  return workersSentence(made, loaderPart(made, 0)).replaceAll("\u00a0", " ");
}

const busy = (...shares: number[]): Capture["workers"] =>
  shares.map((busy_us, n) => worker({ worker: n, pid: 10 + n, batches: 9, busy_us, idle_us: 100 - busy_us }));

describe("the sentence", () => {
  it("says that busy workers cannot keep up when the training thread still waits", () => {
    expect(said({ workers: busy(96, 96), loader: { ...loader, wait_us: 38 } })).toBe(
      "2 DataLoader workers are busy 96.0 % of the window and the training thread still waits 38.0 % of it: they cannot keep up.",
    );
  });
  it("says that more would not help where they have little to do and nobody waits", () => {
    expect(said({ workers: busy(12, 12), loader: { ...loader, wait_us: 1 } })).toContain(
      "more of them would not help.",
    );
  });
  it("does not blame their number where they are idle and the training thread waits all the same", () => {
    const text = said({ workers: busy(12, 12), loader: { ...loader, wait_us: 40 } });
    expect(text).toContain(
      "yet the training thread waits 40.0 % of it: the wait is not for want of DataLoader workers.",
    );
  });
  it("does not say that they cannot keep up where the batches lay ready", () => {
    const over = { workers: busy(96), loader: { ...loader, wait_us: 38 }, batch_count: 2 };
    const waits = (delay_us: number): Capture["batches"] => [
      batch({ wait_us: 30, delay_us }),
      batch({ number: 1, wait_us: 8, delay_us: 0 }),
    ];
    expect(said({ ...over, batches: waits(5) })).toContain(
      "waits 38.0 % of it, but mostly for batches that lay ready: making them is not what it waits for.",
    );
    expect(said({ ...over, batches: waits(0) })).toContain("it cannot keep up");
    expect(said({ ...over, batches: waits(5), batch_count: 99 }), "batches are left out of the report").toContain(
      "it cannot keep up",
    );
  });
  it("says nothing of a wait that is not known", () => {
    expect(said({ workers: busy(96) })).toBe("1 DataLoader worker is busy 96.0 % of the window.");
  });
  it("takes no share of a window that is not known", () => {
    expect(said({ workers: busy(50), window_us: undefined })).toContain("busy for 50.0 µs on average");
  });
  it("names the DataLoader worker with far more work than the mean, by the report's own skew", () => {
    const workers = busy(80, 20).map((item, n) => ({ ...item, skew: n === 0 ? 1.82 : 0.4 }));
    expect(said({ workers })).toContain(" DataLoader worker 0 has 1.8x the mean work.");
    expect(said({ workers: busy(50, 50).map((item) => ({ ...item, skew: 1.2 })) })).not.toContain("mean work");
    expect(
      said({ workers: workers.map((item) => ({ ...item, batches: 1 })) }),
      "too few batches to compare",
    ).not.toContain("mean work");
  });
});

describe("totals", () => {
  it("counts a worker number once that had a process per epoch", () => {
    const made = capture({
      workers: [worker({ worker: 0, pid: 1, busy_us: 30 }), worker({ worker: 0, pid: 2, busy_us: 20 })],
    });
    expect(workerTotals(made, loaderPart(made, 0))).toMatchObject({ count: 1, busyUs: 50 });
  });
  it("keeps absent what no process and no batch tells", () => {
    const made = capture({ workers: [worker({})] });
    expect(workerTotals(made, loaderPart(made, 0))).toMatchObject({
      starvedUs: undefined,
      startupUs: undefined,
      blockedUs: undefined,
      waitUs: undefined,
    });
  });
  it("sums head of line and takes the largest start-up", () => {
    const made = capture({
      workers: [worker({ startup_us: 3 }), worker({ worker: 1, pid: 2, startup_us: 9 })],
      batches: [batch({ blocked_us: 4 }), batch({ number: 1, blocked_us: 5 }), batch({ number: 2 })],
      batch_count: 3,
    });
    expect(workerTotals(made, loaderPart(made, 0))).toMatchObject({ startupUs: 9, blockedUs: 9 });
  });
});

describe("several loaders", () => {
  const two = capture({
    workers: [worker({ loader: 2, pid: 7 }), worker({ loader: 0 })],
    batches: [batch({ loader: 2, wait_us: 5 }), batch({ loader: 0, wait_us: 30 })],
    batch_count: 2,
    queues: [{ time_us: [2], ready: [0], in_flight: [1], loader: 2 }],
    slow_samples: [0, 2, 0].map((loader, index) => ({
      index,
      duration_us: 1,
      worker: 0,
      batch: 0,
      epoch: 0,
      stage: "",
      stage_us: 0,
      loader,
    })),
    loader: { ...loader, wait_us: 35 },
  });
  it("lists them in order, and gives each its own workers, batches, samples and queue, by number", () => {
    expect(loaderNumbers(two)).toEqual([0, 2]);
    expect(loaderPart(two, 2)).toMatchObject({
      loader: 2,
      workers: [{ pid: 7 }],
      batches: [{ wait_us: 5 }],
      queue: { time_us: [2] },
      slowSamples: [{ index: 1 }],
    });
    expect(loaderPart(two, 0)).toMatchObject({ queue: undefined, slowSamples: [{ index: 0 }, { index: 2 }] });
  });
  it("falls back to the first when the chosen one is not in this capture", () =>
    expect(loaderPart(two, 1).loader).toBe(0));
  it("gives each the wait of its own batches, and none when batches are left out of the report", () => {
    expect(workerTotals(two, loaderPart(two, 2)).waitUs).toBe(5);
    expect(workerTotals({ ...two, batch_count: 99 }, loaderPart(two, 2)).waitUs).toBeUndefined();
  });
});
