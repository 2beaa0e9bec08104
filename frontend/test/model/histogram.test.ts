import { expect, it } from "vitest";
import { Histogram } from "../../src/contract/report";
import { countTicks, durationTicks } from "../../src/model/histogram";

it("counts in whole numbers, from none", () => {
  expect(countTicks(30)).toEqual([0, 10, 20, 30]);
  expect(countTicks(1)).toEqual([0, 1]);
});

it("puts round durations where their labels have room", () => {
  const linear = Histogram.fromJSON({ edges_us: [0, 50, 100], calls: [1, 1] });
  expect(durationTicks(linear, 300).map(({ us }) => us)).toEqual([0, 50, 100]);
  const wide = Histogram.fromJSON({ edges_us: [1, 100, 10_000], calls: [1, 1], logarithmic: true });
  expect(durationTicks(wide, 300).map(({ us }) => us)).toEqual([1, 10, 100, 1000, 10_000]);
  const places = durationTicks(wide, 300).map(({ px }) => Math.round(px));
  expect(places).toEqual([0, 75, 150, 225, 300]);
  expect(durationTicks(Histogram.fromJSON({ edges_us: [5, 5], calls: [3] }), 300)).toEqual([]);
});
