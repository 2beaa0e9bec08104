import { describe, expect, it } from "vitest";
import { listedLoaders, loaderPart } from "../../src/model/workers";
import { capture } from "../build";

describe("several loaders", () => {
  const two = capture({
    worker_summaries: [{ loader: 0 }, { loader: 2 }],
    workers: [{ loader: 2, pid: 7 }, { loader: 0 }],
    batches: [
      { loader: 2, wait_us: 5 },
      { loader: 0, wait_us: 30 },
    ],
    queues: [{ time_us: [2], ready: [0], in_flight: [1], loader: 2 }],
    slow_samples: [0, 2, 0].map((loader, index) => ({ index, loader })),
  });
  it("have each their own workers, batches, samples and queue, by number", () => {
    expect(loaderPart(two, 2)).toMatchObject({
      summary: { loader: 2 },
      workers: [{ pid: 7 }],
      batches: [{ wait_us: 5 }],
      queue: { time_us: [2] },
      slowSamples: [{ index: 1 }],
    });
    expect(loaderPart(two, 0)).toMatchObject({ queue: undefined, slowSamples: [{ index: 0 }, { index: 2 }] });
  });
  it("fall back to the first when the chosen one is not in this capture", () =>
    expect(loaderPart(two, 1)?.summary.loader).toBe(0));
});

it("passes over loaders that did nothing in the window", () => {
  const some = capture({ worker_summaries: [{ loader: 0, quiet: true }, { loader: 1 }] });
  expect(listedLoaders(some).map(({ loader }) => loader)).toEqual([1]);
  expect(loaderPart(some, 0)?.summary.loader).toBe(1);
});

it("is nothing where nothing is known of DataLoader workers", () => expect(loaderPart(capture({}), 0)).toBeNull());
