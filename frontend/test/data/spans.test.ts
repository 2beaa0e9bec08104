import { expect, it } from "vitest";
import { isInScope, spansInSlice } from "../../src/data/spans";
import { lane, timeline } from "../build";

const main = {
  ...lane([
    [60, 30, 2],
    [-5, 10],
    [10, 20],
  ]),
  id: "main",
};
const second = { ...lane([[40, 5]]), id: "second", device: 1 };
const asked = { id: "0", steps: null, words: ["VOL"], scope: {}, place: null };

it("counts boxes that begin in the window and have all words, in any case of letters", () => {
  expect(spansInSlice(timeline([main, second]), asked)).toEqual({
    count: 3,
    undrawn: 0,
    isDrawnOnly: false,
    span: null,
  });
  expect(spansInSlice(timeline([main]), { ...asked, words: ["vol", "x"] }).count).toBe(0);
  expect(spansInSlice(timeline([main, second]), { ...asked, scope: { device: 0 } }).count).toBe(2);
});

it("says where boxes may hide spans", () => {
  expect(spansInSlice(timeline([{ ...main, merged: [1, 1, 7] }]), asked).isDrawnOnly).toBe(true);
});

it("goes to a place among them and on from either end", () => {
  const at = (place: Parameters<typeof spansInSlice>[1]["place"]) =>
    spansInSlice(timeline([main, second]), { ...asked, place }).span;
  expect(at({ number: 1 })).toEqual({ number: 1, laneId: "second", depth: 0, name: "volta", startUs: 40, endUs: 45 });
  expect(at({ number: 2 })?.depth, "its row").toBe(2);
  expect([at({ number: 3 }), at({ number: -1 })].map((span) => span?.startUs)).toEqual([10, 60]);
  expect([10, 11, 61].map((fromUs) => at({ fromUs })?.startUs)).toEqual([10, 40, 10]);
  expect([10, 11, 99].map((beforeUs) => at({ beforeUs })?.startUs)).toEqual([60, 10, 60]);
});

it("lets lanes of neither a loader nor a device through", () => {
  expect(isInScope({ loader: 1 }, null, null)).toBe(true);
  expect(isInScope({ loader: 1 }, 0)).toBe(false);
  expect(isInScope({ device: 0 }, null, 0)).toBe(true);
});
