import { describe, expect, it } from "vitest";
import {
  chooseTimeUnit,
  exactUs,
  firstClause,
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  formatTick,
  inUnit,
  onAxis,
  plural,
  positionDecimals,
  positionIn,
  sig3,
} from "../../src/model/format";

describe("sig3", () => {
  it.each([
    [0, "0"],
    [1, "1.00"],
    [41.26, "41.3"],
    [838.49, "838"],
    [7739, "7,740"],
    [9.996, "10.0"],
    [999.7, "1,000"],
    [0.04126, "0.0413"],
    [0.00001, "<0.0001"],
    [-Math.PI, "-3.14"],
  ])("writes %d as %s", (value, text) => expect(sig3(value)).toBe(text));
});

describe("units", () => {
  it("takes one unit for a table from its largest value", () => {
    expect(chooseTimeUnit([3, 999])).toBe("µs");
    expect(chooseTimeUnit([3, 1000])).toBe("ms");
    expect(chooseTimeUnit([3, 9_999_999])).toBe("ms");
    expect(chooseTimeUnit([3, 10_000_000])).toBe("s");
    expect(chooseTimeUnit([601e6])).toBe("min");
  });
  it("skips what is unknown and needs no values at all", () => {
    expect(chooseTimeUnit([undefined, 2000])).toBe("ms");
    expect(chooseTimeUnit([])).toBe("µs");
  });
  it("keeps the table's unit for small values", () => expect(inUnit(12.5, "ms")).toBe("0.0125"));
  it("suits the unit to a duration that stands alone", () => {
    expect(formatDuration(838_490)).toBe("838\u00a0ms");
    expect(formatDuration(12.25)).toBe("12.3\u00a0µs");
    expect(formatDuration(43.4e6)).toBe("43.4\u00a0s");
  });
  it("does not round on hover", () => expect(exactUs(1234567.891)).toBe("1,234,567.891\u00a0µs"));
});

describe("positions", () => {
  it("have as many decimals as tell each from the next", () => {
    expect(positionDecimals([1_190_123, 1_190_124], "ms")).toBe(3);
    expect(positionDecimals([43_302_683, 43_362_000, 12_000_000], "s")).toBe(2);
    expect(positionDecimals([43_302_683, 43_302_900], "s")).toBe(4);
  });
  it("never have more than the microsecond needs, nor fewer than a column reads well with", () => {
    expect(positionDecimals([1.25, 1.26], "ms")).toBe(3);
    expect(positionDecimals([5_000_000], "ms")).toBe(1);
    expect(positionDecimals([], "s")).toBe(2);
    expect(positionDecimals([7, 7], "s")).toBe(2);
  });
  it("are written alike", () => expect(positionIn(1_190_123, "ms", 2)).toBe("1,190.12"));
});

it("labels an axis with as many decimals as its step needs", () => {
  expect(onAxis(50_000, 50_000, "ms")).toBe("50");
  expect(onAxis(500, 500, "ms")).toBe("0.5");
  expect(formatTick(150_000, 50_000)).toBe("150\u00a0ms");
  expect(formatTick(12, 2)).toBe("12\u00a0µs");
  expect(formatTick(1_500_000, 500_000)).toBe("1.5\u00a0s");
});

it("writes counts, shares, sizes and plurals", () => {
  expect(formatCount(7739)).toBe("7,739");
  expect(formatPercent(0.27611)).toBe("27.6\u00a0%");
  expect(formatPercent(1)).toBe("100\u00a0%");
  expect(formatBytes(1_095_617)).toBe("1.10\u00a0MB");
  expect(formatBytes(12)).toBe("12\u00a0B");
  expect(plural(1, "gap")).toBe("1\u00a0gap");
  expect(plural(7739, "gap")).toBe("7,739\u00a0gaps");
});

it("shortens a reason to its first clause", () => {
  expect(firstClause("the trace has no device activity, so idle time is unknown")).toBe(
    "The trace has no device activity",
  );
});
