import { describe, expect, it } from "vitest";
import { batchExtent, batchLines, batchOfBox, linkOf, sortBatches } from "../../src/model/batches";
import { boxAt } from "../../src/model/hover";
import { placeLanes, ROW_PX } from "../../src/model/lane-layout";
import { buildTimeline, foldedLanes, keepLanes, type LaneRows, tokensIn, turnedFor } from "../../src/model/lanes";
import { batch, lane, timeline } from "../build";

const NAMES = ["wait::DataLoader", "wait", "batch 0", "batch", "read::open", "read"];
const training = {
  ...lane([
    [10, 12],
    [40, 5],
  ]),
  id: "thread:1",
  kind: "stages",
  title: "Training thread",
  training_thread: true,
};
const builder = {
  ...lane([
    [0, 20],
    [25, 10],
    [1, 5, 1],
  ]),
  id: "worker:77",
  kind: "worker",
  title: "DataLoader worker 3",
  worker: 3,
  loader: 1,
  name: [2, 2, 4],
  color: [3, 3, 5],
};
const model = buildTimeline({ ...timeline([training, builder]), names: NAMES });
const first = batch({ worker: 3, loader: 1, started_us: 0, finished_us: 20, consumed_us: 21, wait_us: 12 });
const second = batch({ number: 1, worker: 3, loader: 1, started_us: 25, finished_us: 35 });
const batches = [first, second];

function box(laneId: string, row: number, index: number) {
  const found = boxAt(model, { laneId, row, index });
  if (found === null) throw new Error("no box");
  return found;
}

const window = { startUs: 0, endUs: 100 };

describe("which batch a box is", () => {
  it("finds it by worker and time, also from a stage inside it", () => {
    expect(batchOfBox(batches, box("worker:77", 0, 1))).toBe(second);
    expect(batchOfBox(batches, box("worker:77", 1, 0))).toBe(first);
  });
  it("finds the batch that a wait received", () => expect(batchOfBox(batches, box("thread:1", 0, 0))).toBe(first));
  it("finds none for a wait that received none, and none of another loader", () => {
    expect(batchOfBox(batches, box("thread:1", 0, 1))).toBeNull();
    expect(batchOfBox([{ ...first, loader: 0 }], box("worker:77", 0, 0))).toBeNull();
  });
});

describe("the arrow", () => {
  it("goes from the finish in the worker's lane to the wait that received it", () => {
    expect(linkOf(first, model.lanes)).toEqual({
      from: { laneId: "worker:77", startUs: 0, endUs: 20, atUs: 20 },
      to: { laneId: "thread:1", startUs: 10, endUs: 22, atUs: 21 },
    });
  });
  it("takes the report's wait where the boxes are too coarse", () => {
    const coarse = buildTimeline({ ...timeline([{ ...training, merged: [9, 9] }, builder]), names: NAMES });
    expect(linkOf(first, coarse.lanes)?.to).toEqual({ laneId: "thread:1", startUs: 9, endUs: 21, atUs: 21 });
  });
  it("is not drawn for a batch that was never received", () => expect(linkOf(second, model.lanes)).toBeNull());
  it("picks among processes that had the same number the one that was at work then", () => {
    const other = { ...builder, id: "worker:78", start_us: [60, 70, 61], duration_us: [5, 5, 1] };
    const both = buildTimeline({ ...timeline([training, other, builder]), names: NAMES });
    const link = linkOf(first, both.lanes);
    expect(link?.from.laneId).toBe("worker:77");
  });
  it("spans everything from its start to the receipt", () => {
    expect(batchExtent(first, window)).toEqual({ startUs: 0, endUs: 21 });
    expect(batchExtent(batch({}), window)).toBeNull();
    // Not finished when the window ended: it is drawn to there.
    expect(batchExtent(batch({ started_us: 30 }), window)).toEqual({ startUs: 30, endUs: 100 });
  });
});

it("tells on hover how long a batch was waited for, stood in the queue and was held back", () => {
  const said = (one: typeof first): string => batchLines(one).join("; ").replaceAll("\u00a0", " ");
  expect(said(first)).toBe("the training thread waited 12.0 µs for it");
  expect(said(batch({ consumed_us: 9, wait_us: 0, in_queue_us: 4, head_of_line_us: 3 }))).toBe(
    "the training thread did not wait for it; time in queue 4.00 µs; of which head-of-line wait 3.00 µs",
  );
  expect(said(second)).toBe("not received before the window closed");
});

it("sorts batches with the unknown last in both directions", () => {
  const all = [batch({ number: 0, wait_us: 5 }), batch({ number: 1 }), batch({ number: 2, wait_us: 9 })];
  const numbers = (descending: boolean): number[] =>
    sortBatches(all, { column: "wait_us", descending }).map((item) => item.number);
  expect(numbers(true)).toEqual([2, 0, 1]);
  expect(numbers(false)).toEqual([0, 2, 1]);
});

describe("lanes", () => {
  const rows = (count: number): LaneRows[] => {
    const [one] = buildTimeline({ ...timeline([builder]), names: NAMES }).lanes;
    if (one === undefined) throw new Error("no lane");
    return Array.from({ length: count }, (_, n) => ({ ...one, id: `worker:${n}` }));
  };
  it("fold to batches when there are more workers than fit on a screen, unless turned over", () => {
    expect(foldedLanes(rows(8), new Set())).toEqual(new Set());
    expect(foldedLanes(rows(9), new Set()).size).toBe(9);
    expect(foldedLanes(rows(9), new Set(["worker:2"])).has("worker:2")).toBe(false);
    expect(foldedLanes(rows(2), new Set(["worker:1"]))).toEqual(new Set(["worker:1"]));
  });
  it("take one row when folded, and say so", () => {
    const layout = placeLanes({ ...model, lanes: rows(2) }, [], new Set(["worker:1"]));
    expect(layout.lanes.map(({ heightPx, folded }) => [heightPx / ROW_PX, folded])).toEqual([
      [2, false],
      [1, true],
    ]);
  });
  it("of DataLoader workers are all folded or opened together", () => {
    for (const [count, folded] of [
      [2, true],
      [9, true],
      [2, false],
      [9, false],
    ] as const) {
      expect(foldedLanes(rows(count), turnedFor(rows(count), folded)).size).toBe(folded ? count : 0);
    }
  });
  it("of other devices and their gaps can be left out", () => {
    const lanes = [{ id: "a", device: 0 }, { id: "b", device: 1 }, { id: "c" }];
    const all = buildTimeline(timeline(lanes.map((head) => ({ ...lane([[0, 1]]), ...head }))));
    const kept = keepLanes(all, { device: 1 });
    expect(kept.lanes.map((item) => item.id)).toEqual(["b", "c"]);
    expect(keepLanes(all, {})).toBe(all);
  });
  it("name in the legend only what is drawn", () => {
    expect(tokensIn(model, new Set())).toEqual(new Set(["wait", "batch", "read"]));
    expect(tokensIn(model, new Set(["worker:77"]))).toEqual(new Set(["wait", "batch"]));
  });
});
