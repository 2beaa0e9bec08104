import { describe, expect, it } from "vitest";
import { batchExtent, batchLines, batchOfBox, linkOf, sortBatches } from "../../src/model/batches";
import { boxAt } from "../../src/model/hover";
import { placeLanes, ROW_PX } from "../../src/model/lane-layout";
import {
  buildTimeline,
  deviceOfLane,
  foldedLanes,
  keepLanes,
  type LaneRows,
  ownerOf,
  tokensIn,
} from "../../src/model/lanes";
import { batch, lane, timeline, worker } from "../build";

const NAMES = ["wait::DataLoader", "wait", "batch 0", "batch", "read::open", "read"];
const training = {
  ...lane([
    [10, 12],
    [40, 5],
  ]),
  id: "thread:1",
  kind: "stages",
  title: "Training thread",
};
const maker = {
  ...lane([
    [0, 20],
    [25, 10],
    [1, 5, 1],
  ]),
  id: "worker:77",
  kind: "worker",
  title: "DataLoader worker 3",
  name: [2, 2, 4],
  color: [3, 3, 5],
};
const model = buildTimeline({ ...timeline([training, maker]), names: NAMES });
const workers = [worker({ worker: 3, pid: 77, loader: 1 })];
const first = batch({ worker: 3, loader: 1, started_us: 0, finished_us: 20, consumed_us: 21, wait_us: 12 });
const second = batch({ number: 1, worker: 3, loader: 1, started_us: 25, finished_us: 35 });
const records = { batches: [first, second], workers };

function box(laneId: string, row: number, index: number) {
  const found = boxAt(model, { laneId, row, index });
  if (found === null) throw new Error("no box");
  return found;
}

describe("which batch a box is", () => {
  it("finds it by worker and time, also from a stage inside it", () => {
    expect(batchOfBox(records, box("worker:77", 0, 1))).toBe(second);
    expect(batchOfBox(records, box("worker:77", 1, 0))).toBe(first);
  });
  it("finds the batch that a wait received", () => expect(batchOfBox(records, box("thread:1", 0, 0))).toBe(first));
  it("finds none for a wait that received none, and none of another loader", () => {
    expect(batchOfBox(records, box("thread:1", 0, 1))).toBeNull();
    expect(batchOfBox({ batches: [{ ...first, loader: 0 }], workers }, box("worker:77", 0, 0))).toBeNull();
  });
});

describe("the arrow", () => {
  it("goes from the finish in the worker's lane to the wait that received it", () => {
    expect(linkOf(first, workers, model.lanes)).toEqual({
      from: { laneId: "worker:77", startUs: 0, endUs: 20, atUs: 20 },
      to: { laneId: "thread:1", startUs: 10, endUs: 22, atUs: 21 },
    });
  });
  it("takes the report's wait where the boxes are too coarse", () => {
    const coarse = buildTimeline({ ...timeline([{ ...training, merged: [9, 9] }, maker]), names: NAMES });
    expect(linkOf(first, workers, coarse.lanes)?.to).toEqual({ laneId: "thread:1", startUs: 9, endUs: 21, atUs: 21 });
  });
  it("is not drawn for a batch that was never received", () => expect(linkOf(second, workers, model.lanes)).toBeNull());
  it("picks among processes that had the same number the one that was at work then", () => {
    const other = { ...maker, id: "worker:78", start_us: [60, 70, 61], duration_us: [5, 5, 1] };
    const both = buildTimeline({ ...timeline([training, other, maker]), names: NAMES });
    const link = linkOf(first, [...workers, worker({ worker: 3, pid: 78, loader: 1 })], both.lanes);
    expect(link?.from.laneId).toBe("worker:77");
  });
  it("spans everything from the making to the receipt", () => {
    expect(batchExtent(first)).toEqual({ startUs: 0, endUs: 21 });
    expect(batchExtent(batch({}))).toBeNull();
  });
});

it("tells on hover how long a batch was waited for, lay ready and was held back", () => {
  expect(batchLines(first).join(" ").replaceAll("\u00a0", " ")).toBe("the training thread waited 12.0 µs for it");
  expect(
    batchLines(batch({ consumed_us: 9, wait_us: 0, delay_us: 4, blocked_us: 3 }))
      .join("; ")
      .replaceAll("\u00a0", " "),
  ).toBe(
    "the training thread did not wait for it; lay ready for 4.00 µs; of that 3.00 µs while an earlier batch was waited for",
  );
  expect(batchLines(second)).toEqual(["the training thread did not get it before the window closed"]);
});

it("sorts batches with the unknown last in both directions", () => {
  const all = [batch({ number: 0, wait_us: 5 }), batch({ number: 1 }), batch({ number: 2, wait_us: 9 })];
  const numbers = (descending: boolean): number[] =>
    sortBatches(all, { column: "wait", descending }).map((item) => item.number);
  expect(numbers(true)).toEqual([2, 0, 1]);
  expect(numbers(false)).toEqual([0, 2, 1]);
});

describe("lanes", () => {
  const rows = (count: number): LaneRows[] => {
    const [one] = buildTimeline({ ...timeline([maker]), names: NAMES }).lanes;
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
  it("belong to the process in their id, else to the number in their title", () => {
    const [, own] = model.lanes;
    if (own === undefined) throw new Error("no lane");
    expect(ownerOf(own, workers)).toMatchObject({ worker: 3, loader: 1 });
    expect(ownerOf(own, [])).toEqual({ worker: 3, loader: null });
  });
  it("of other devices and their gaps can be left out", () => {
    const kinds = [
      ["device:0", "device"],
      ["gaps:0", "gaps"],
      ["device:1:7", "device"],
      ["steps", "steps"],
    ] as const;
    const all = buildTimeline(timeline(kinds.map(([id, kind]) => ({ ...lane([[0, 1]]), id, kind }))));
    const kept = keepLanes(all, (item) => (deviceOfLane(item) ?? 1) === 1);
    expect(kept.lanes.map((item) => item.id)).toEqual(["device:1:7", "steps"]);
    expect(keepLanes(all, () => true)).toBe(all);
  });
  it("name in the legend only what is drawn", () => {
    expect(tokensIn(model, new Set())).toEqual(new Set(["wait", "batch", "read"]));
    expect(tokensIn(model, new Set(["worker:77"]))).toEqual(new Set(["wait", "batch"]));
  });
});
