import { describe, expect, it } from "vitest";
import cases from "../../../tests/number_cases.json";
import {
  chooseByteUnit,
  chooseTimeUnit,
  exactNumber,
  exactPosition,
  exactUs,
  formatBytes,
  formatChange,
  formatCount,
  formatDuration,
  formatPercent,
  formatRatio,
  formatTick,
  inByteUnit,
  inUnit,
  onAxis,
  plural,
  positionDecimals,
  positionIn,
  significant,
} from "../../src/model/format";

type Case = readonly [value: number, text: string];
const plain = (text: string): string => text.replaceAll("\u00a0", " ");

describe("the cases that Python is tested against too", () => {
  const formatters: Readonly<Record<string, (value: number) => string>> = {
    significant,
    count: formatCount,
    percent: formatPercent,
    duration_us: formatDuration,
    table_unit_us: (us) => chooseTimeUnit([0, us]),
    bytes: formatBytes,
    ratio: formatRatio,
    change: formatChange,
  };
  for (const [name, format] of Object.entries(formatters)) {
    const table = cases[name as keyof typeof cases] as unknown as readonly Case[];
    it.each(table)(`${name}: %d is %s`, (value, text) => expect(plain(format(value))).toBe(text));
  }
  it.each(cases.plural as [number, string, string][])("plural: %d %s is %s", (count, noun, text) =>
    expect(plain(plural(count, noun))).toBe(text),
  );
  it.each(cases.table_unit_of_us as [number, number, string][])(
    "a column from %d to %d us is in %s",
    (from, to, unit) => expect(chooseTimeUnit([to, from])).toBe(unit),
  );
  it("are all used, but for intervals, which the report has as words", () => {
    const known = [...Object.keys(formatters), "interval", "plural", "about", "table_unit_of_us"];
    expect(Object.keys(cases).sort()).toEqual(known.sort());
  });
});

describe("a table", () => {
  it("skips what is unknown and needs no values at all", () => {
    expect(chooseTimeUnit([undefined, 2000])).toBe("ms");
    expect(chooseTimeUnit([])).toBe("µs");
    expect(chooseByteUnit([undefined, 12_000, 9]).name).toBe("kB");
    expect(chooseByteUnit([]).name).toBe("B");
  });
  it("keeps its unit for small values", () => {
    expect(inUnit(12.5, "ms")).toBe("0.0125");
    expect(inByteUnit(1_234_567, chooseByteUnit([5e7]))).toBe("1.23");
  });
});

it("does not round on hover", () => {
  expect(exactUs(1234567.891)).toBe("1,234,567.891\u00a0µs");
  expect(exactPosition(1234567.891)).toBe("1,234.567891\u00a0ms");
  expect(exactNumber(-138.08957822262724)).toBe("−138.09");
  expect(exactNumber(0.08957822262724)).toBe("0.089578");
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
