import { expect, it } from "vitest";
import { buildTimeline } from "../../src/model/lanes";
import { isOfKind, nextSpan, spansOf } from "../../src/model/spans";
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
