import { describe, expect, it } from "vitest";
import { buildHover } from "../../src/model/hover";
import { placeLanes, ROW_PX, rowAt } from "../../src/model/lane-layout";
import { buildTimeline, foldedLanes, hit, keepLanes, type Row, turnedToSee, visible } from "../../src/model/lanes";
import { lane, timeline } from "../build";

function firstRow(boxes: Parameters<typeof lane>[0], depth = 0): Row {
  const row = buildTimeline(timeline([lane(boxes)])).lanes[0]?.rows[depth];
  if (row === undefined) throw new Error("no row");
  return row;
}

describe("culling", () => {
  it("finds exactly the boxes that touch the range, as a slow search does", () => {
    let seed = 3;
    const random = (): number => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const boxes = Array.from({ length: 200 }, () => [random() * 100, random() * 3] as const);
    const row = firstRow(boxes);
    for (let n = 0; n < 50; n += 1) {
      const startUs = random() * 100;
      const endUs = startUs + random() * 10;
      const [first, end] = visible(row, { startUs, endUs });
      for (let i = 0; i < row.startUs.length; i += 1) {
        const start = row.startUs[i] ?? 0;
        const touches = start <= endUs && start + (row.durationUs[i] ?? 0) > startUs;
        if (touches) expect(i >= first && i < end).toBe(true);
      }
    }
  });
  it("is tight where boxes do not overlap", () => {
    const row = firstRow([
      [0, 5],
      [10, 5],
      [20, 5],
      [30, 5],
    ]);
    expect(visible(row, { startUs: 11, endUs: 22 })).toEqual([1, 3]);
    expect(visible(row, { startUs: 16, endUs: 19 })).toEqual([2, 2]);
  });
  it("sorts boxes that come in any order", () =>
    expect([
      ...firstRow([
        [20, 1],
        [0, 1],
        [10, 1],
      ]).startUs,
    ]).toEqual([0, 10, 20]));
});

describe("hit test", () => {
  const row = firstRow([
    [0, 5],
    [10, 5],
    [15, 0.001],
  ]);
  it("finds the box under the pointer", () => expect(hit(row, 12, 0)).toBe(1));
  it("finds nothing between boxes", () => expect(hit(row, 7, 1)).toBe(-1));
  it("reaches a little beside a box that is too thin to meet", () => expect(hit(row, 15.4, 0.5)).toBe(2));
});

describe("layout", () => {
  const model = buildTimeline(
    timeline([
      lane([
        [0, 1, 0],
        [0, 1, 2],
      ]),
      { ...lane([[0, 1]]), id: "g", kind: "gaps" },
    ]),
  );
  const layout = placeLanes(model, []);
  it("gives each depth a row, empty ones too", () => expect(layout.lanes[0]?.heightPx).toBe(3 * ROW_PX));
  it("puts gaps right under their device", () => {
    const [first, second] = layout.lanes;
    expect(second?.topPx).toBe((first?.topPx ?? 0) + (first?.heightPx ?? 0));
  });
  it("finds lane and row under a point, and nothing above the lanes", () => {
    const top = layout.lanes[0]?.topPx ?? 0;
    expect(rowAt(layout, top + 2 * ROW_PX + 1)?.row).toBe(2);
    expect(rowAt(layout, top - 1)).toBeNull();
  });
});

it("says how many spans a merged box stands for", () => {
  const merged = { ...lane([[1, 2]]), merged: [12] };
  const info = buildHover(buildTimeline(timeline([merged])), { laneId: "l", row: 0, index: 0 });
  expect(info?.title).toBe("volta and more");
  expect(info?.lines.join(" ")).toContain("12\u00a0spans");
});

it("shows the dataset index of a sample, but not of several drawn as one", () => {
  const said = (merged: number[], index: number[]): string => {
    const info = buildHover(buildTimeline(timeline([{ ...lane([[1, 2]]), merged, index }])), {
      laneId: "l",
      row: 0,
      index: 0,
    });
    return info?.lines.join(" ") ?? "";
  };
  expect(said([1], [48_211])).toContain("dataset index 48211");
  expect(said([3], [48_211])).not.toContain("dataset index");
  expect(said([1], [-1])).not.toContain("dataset index");
  expect(said([1], [])).not.toContain("dataset index");
});

it("names the loader of a DataLoader worker only beside those of another", () => {
  const whose = [
    [0, 0],
    [1, 0],
    [0, 1],
  ] as const;
  const lanes = whose.map(([worker, loader], n) => ({
    ...lane([[0, 1]]),
    id: `lane ${n}`,
    kind: "worker",
    title: `DataLoader worker ${worker}`,
    worker,
    loader,
    loader_title: `loader ${loader}`,
  }));
  const model = buildTimeline(timeline(lanes));
  const ofOne = keepLanes(model, { loader: 0 }).lanes;
  expect(ofOne.map(({ title }) => title)).toEqual(["DataLoader worker 0", "DataLoader worker 1"]);
  expect(model.lanes.map(({ title }) => title)).toEqual([
    "DataLoader worker 0, loader 0",
    "DataLoader worker 1, loader 0",
    "DataLoader worker 0, loader 1",
  ]);
  expect(model.lanes.map(({ tail }) => tail)).toEqual([" 0, loader 0", " 1, loader 0", " 0, loader 1"]);
});

it("leaves out counters that were 0 throughout", () => {
  const counter = {
    ...lane([]),
    id: "disk",
    kind: "counter",
    lines: [{ name: "read", time_us: [0], mean: [0], low: [], high: [] }],
  };
  const lanes = [lane([[0, 1]]), { ...counter, top: 0 }, { ...counter, id: "network", top: 3 }];
  expect(buildTimeline(timeline(lanes)).lanes.map(({ id }) => id)).toEqual(["l", "network"]);
});

it("opens a folded lane for a span below its first row, and no other", () => {
  const workers = (count: number) =>
    buildTimeline(timeline(Array.from({ length: count }, (_, at) => ({ ...lane([]), id: `w${at}`, worker: at }))))
      .lanes;
  const [few, many] = [workers(2), workers(16)];
  const none = new Set<string>();
  const opened = turnedToSee(many, none, { laneId: "w3", depth: 2 });
  expect([...opened]).toEqual(["w3"]);
  expect(foldedLanes(many, opened).size).toBe(15);
  expect(turnedToSee(many, opened, { laneId: "w3", depth: 2 }), "it is open").toBe(opened);
  expect(turnedToSee(many, none, { laneId: "w3", depth: 0 }), "a batch is seen as it is").toBe(none);
  expect(turnedToSee(few, none, { laneId: "w1", depth: 2 })).toBe(none);
  expect([...turnedToSee(few, new Set(["w1"]), { laneId: "w1", depth: 2 })], "folded by hand").toEqual([]);
  expect(turnedToSee(many, none, { laneId: "elsewhere", depth: 2 })).toBe(none);
});
