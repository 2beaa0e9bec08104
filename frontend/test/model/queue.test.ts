import { describe, expect, it } from "vitest";
import { deepest, rowAtTime, stepCorners } from "../../src/model/queue";

const scale = { range: { startUs: 0, endUs: 100 }, leftPx: 0, rightPx: 100 };

it("finds the row that holds at a time", () => {
  expect([-1, 0, 5, 10, 99].map((us) => rowAtTime([0, 10], us))).toEqual([-1, 0, 0, 1, 1]);
});

it("finds the deepest of both queues", () =>
  expect(deepest({ time_us: [1, 2], ready: [1, 4], in_flight: [6, 2], loader: 0 })).toBe(6));

describe("the step line", () => {
  it("has a corner before and after each change, and reaches both ends", () => {
    expect(stepCorners([10, 20], [2, 5], scale)).toEqual([
      { xPx: 10, value: 2 },
      { xPx: 20, value: 2 },
      { xPx: 20, value: 5 },
      { xPx: 100, value: 5 },
    ]);
  });
  it("starts with what held before the range", () => {
    const [first] = stepCorners([10, 90], [2, 5], { ...scale, range: { startUs: 50, endUs: 80 } });
    expect(first).toEqual({ xPx: 0, value: 2 });
  });
  it("draws nothing outside of what is known", () => {
    expect(stepCorners([], [], scale)).toEqual([]);
    expect(stepCorners([200], [1], scale)).toEqual([]);
  });
  it("keeps the emptiest and the fullest moment of a pixel", () => {
    const times = Array.from({ length: 50 }, (_, i) => 10 + i / 100);
    const values = times.map((_, i) => (i === 20 ? 0 : i === 30 ? 9 : 4));
    const seen = stepCorners(times, values, scale);
    expect(seen.length).toBeLessThan(8);
    expect(seen.map((corner) => corner.value)).toEqual(expect.arrayContaining([0, 9]));
    expect(seen.at(-1)?.value).toBe(4);
  });
});
