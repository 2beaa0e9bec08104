import { expect, it } from "vitest";
import { lineLabels, meanIn } from "../../src/model/counters";

const line = (name: string, mean: readonly number[]) => ({
  name,
  time_us: [0, 10, 20],
  mean: [...mean],
  low: [],
  high: [],
});
const window = { startUs: 0, endUs: 20 };

it("says a counter's mean on screen, and not the end of its axis", () => {
  const chart = { lines: [line("busy", [1, 2, 0.9])], unit: "%", top: 100 };
  expect(lineLabels(chart, { startUs: 0, endUs: 30 })).toEqual(["mean 1.30%"]);
  expect(meanIn({ ...line("busy", []), time_us: [] }, window)).toBeUndefined();
});

it("weighs each value by the time on screen in which it holds: until the next one", () => {
  const busy = line("busy", [1, 2, 4]);
  expect(meanIn(busy, { startUs: 5, endUs: 15 })).toBe(1.5);
  expect(meanIn(busy, { startUs: 8, endUs: 24 })).toBe((2 * 1 + 10 * 2 + 4 * 4) / 16);
  expect(meanIn(busy, { startUs: 17, endUs: 19 })).toBe(2);
  expect(meanIn(busy, { startUs: 25, endUs: 90 }), "the last one for as long as the one before it").toBe(4);
  expect(meanIn(busy, { startUs: 40, endUs: 50 })).toBe(4);
});

it("names the lines where there are several", () => {
  const chart = { lines: [line("read", [2e6, 2e6, 2e6]), line("written", [0, 0, 0])], unit: "bytes/s", top: 3e6 };
  expect(lineLabels(chart, window).map((words) => words.replaceAll("\u00a0", " "))).toEqual([
    "read: mean 2.00 MB/s",
    "written: mean 0 B/s",
  ]);
});
