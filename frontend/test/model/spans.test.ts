import { describe, expect, it } from "vitest";
import { buildTimeline } from "../../src/model/lanes";
import { areInFolded, hasNamed, isOfKind, nextSpan, spansOf } from "../../src/model/spans";
import { lane, timeline } from "../build";

const waits = {
  ...lane([
    [10, 5],
    [40, 10],
  ]),
  id: "t",
  kind: "thread",
  training_thread: true,
  name: [0, 0],
  color: [1, 1],
};
const gaps = {
  ...lane([
    [0, 10],
    [60, 20],
  ]),
  id: "g",
  kind: "gaps",
  name: [-1, -1],
};
const model = buildTimeline({ ...timeline([waits, gaps]), names: ["wait::DataLoader", "wait"] });

it("finds data waits and gaps", () => {
  expect(spansOf(model, isOfKind.wait)).toEqual([
    { laneId: "t", name: "wait::DataLoader", startUs: 10, endUs: 15 },
    { laneId: "t", name: "wait::DataLoader", startUs: 40, endUs: 50 },
  ]);
  expect(spansOf(model, isOfKind.gap).map(({ startUs }) => startUs)).toEqual([0, 60]);
});

it("goes on from the middle of the screen, and stops at either end", () => {
  const spans = spansOf(model, isOfKind.gap);
  expect(nextSpan(spans, { startUs: 0, endUs: 100 }, 1)?.startUs).toBe(60);
  expect(nextSpan(spans, { startUs: 60, endUs: 80 }, 1)).toBeNull();
  expect(nextSpan(spans, { startUs: 60, endUs: 80 }, -1)?.startUs).toBe(0);
});

describe("spans in folded rows", () => {
  const folding = buildTimeline({
    ...timeline([
      {
        ...lane([
          [0, 20],
          [30, 20],
          [35, 5, 1],
        ]),
        name: [0, 0, 1],
      },
    ]),
    names: ["batch", "read::open"],
  });
  const below = folding.lanes[0]?.rows.slice(1) ?? [];
  it.each([
    [0, 20, false],
    [30, 50, true],
    [37, 38, true],
    [20, 35, false],
    [40, 50, false],
  ])("are in a range from %s to %s: %s", (startUs, endUs, isThere) => {
    expect(hasNamed(below, new Set([1]), { startUs, endUs })).toBe(isThere);
  });
  it("are those below the first row, in folded lanes only", () => {
    expect(areInFolded(folding, ["read"], new Set(["l"]))).toBe(true);
    expect(areInFolded(folding, ["read"], new Set())).toBe(false);
    expect(areInFolded(folding, ["batch"], new Set(["l"])), "a folded lane shows these").toBe(false);
    expect(areInFolded(folding, [], new Set(["l"]))).toBe(false);
  });
});
