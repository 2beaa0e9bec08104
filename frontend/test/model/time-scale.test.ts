import { describe, expect, it } from "vitest";
import {
  aroundSpan,
  clampRange,
  covers,
  lengthUs,
  MIN_RANGE_US,
  niceStep,
  panBy,
  pxToUs,
  rulerStep,
  ticks,
  usToPx,
  zoomAround,
} from "../../src/model/time-scale";

const bounds = { startUs: 1000, endUs: 101_000 };

describe("time scale", () => {
  const scale = { range: { startUs: 1000, endUs: 3000 }, leftPx: 100, rightPx: 1100 };
  it("maps ends to ends", () => {
    expect(usToPx(scale, 1000)).toBe(100);
    expect(usToPx(scale, 3000)).toBe(1100);
  });
  it("goes there and back", () => {
    for (const px of [100, 333.3, 1100]) expect(usToPx(scale, pxToUs(scale, px))).toBeCloseTo(px, 9);
  });
});

describe("zoom", () => {
  it("keeps the time under the cursor where it is", () => {
    const range = { startUs: 20_000, endUs: 60_000 };
    const zoomed = zoomAround(range, 0.5, 30_000, bounds);
    expect(lengthUs(zoomed)).toBeCloseTo(20_000);
    expect((30_000 - zoomed.startUs) / lengthUs(zoomed)).toBeCloseTo(0.25);
  });
  it("never leaves the window nor gets longer than it", () => {
    expect(zoomAround({ startUs: 1000, endUs: 50_000 }, 100, 2000, bounds)).toEqual(bounds);
  });
  it("stops at the shortest range", () => {
    expect(lengthUs(zoomAround({ startUs: 2000, endUs: 2001 }, 1e-9, 2000, bounds))).toBeCloseTo(MIN_RANGE_US);
  });
});

describe("pan", () => {
  it("keeps the length", () =>
    expect(panBy({ startUs: 2000, endUs: 3000 }, 500, bounds)).toEqual({ startUs: 2500, endUs: 3500 }));
  it("stops at both ends", () => {
    expect(panBy({ startUs: 2000, endUs: 3000 }, -5000, bounds)).toEqual({ startUs: 1000, endUs: 2000 });
    expect(panBy({ startUs: 2000, endUs: 3000 }, 1e9, bounds)).toEqual({ startUs: 100_000, endUs: 101_000 });
  });
});

it("shows a gap with half its length on both sides", () => {
  expect(aroundSpan(50_000, 1000, bounds)).toEqual({ startUs: 49_500, endUs: 51_500 });
});

it("clamps a range longer than the window to the window", () => {
  expect(clampRange({ startUs: -5, endUs: 1e9 }, bounds)).toEqual(bounds);
});

it("knows whether a slice covers a range", () => {
  expect(covers(bounds, { startUs: 1000, endUs: 2000 })).toBe(true);
  expect(covers(bounds, { startUs: 900, endUs: 2000 })).toBe(false);
});

describe("grid", () => {
  it.each([
    [100, 10, 10],
    [101, 10, 20],
    [0.7, 10, 0.1],
    [45, 10, 5],
    [1, 1, 1],
  ])("divides %d into at most %d steps of %d", (length, count, step) =>
    expect(niceStep(length, count)).toBeCloseTo(step, 9),
  );
  it("gives a narrow ruler two ticks, so that it has a scale", () => {
    expect(rulerStep({ startUs: 1.2, endUs: 5.88 }, 2)).toBe(2);
    expect(rulerStep({ startUs: 0, endUs: 10 }, 2)).toBe(5);
    expect(rulerStep({ startUs: 5, endUs: 5 }, 2)).toBe(0);
  });
  it("ends for a window without length", () => expect(ticks(5, 5, niceStep(0, 10))).toEqual([]));
  it("puts ticks on multiples of the step, without negative zero", () => {
    expect(ticks(-0.2, 10, 5)).toEqual([0, 5, 10]);
    expect(Object.is(ticks(-0.2, 1, 5)[0], 0)).toBe(true);
  });
});
