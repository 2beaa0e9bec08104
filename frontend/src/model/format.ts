// Numbers to words, by the same rules as tb_dataplugin/units.py: tests/number_cases.json is what both are tested against.

export type TimeUnit = "µs" | "ms" | "s" | "min";

const US_PER_UNIT: Readonly<Record<TimeUnit, number>> = { µs: 1, ms: 1e3, s: 1e6, min: 6e7 };
const NBSP = "\u00a0";
const DIGITS = 3;
const PERCENT_DECIMALS = 2;

export const UNKNOWN = "–";

function grouped(value: number, least: number, most = least): string {
  const text = value.toLocaleString("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
  return text.replace("-", "−");
}

function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS));
}

/** 3 significant digits, at most `mostDecimals` decimals. What is too small to show never looks like nothing. */
export function significant(value: number, mostDecimals = 4): string {
  if (value === 0) return "0";
  const shown = rounded(value);
  const smallest = 10 ** -mostDecimals;
  if (Math.abs(shown) < smallest / 2) return `${value < 0 ? ">−" : "<"}${smallest.toFixed(mostDecimals)}`;
  const magnitude = Math.floor(Math.log10(Math.abs(shown)));
  return grouped(shown, Math.min(mostDecimals, Math.max(0, DIGITS - 1 - magnitude)));
}

export function formatCount(value: number): string {
  return grouped(value, 0);
}

/** `share` of 1. The caller's text says what it is a share of. */
export function formatPercent(share: number): string {
  return `${significant(share * 100, PERCENT_DECIMALS)}%`;
}

/** How many times as much: "1.8x". */
export function formatRatio(ratio: number): string {
  return `${significant(ratio, ratio < 0.1 ? 2 : ratio < 10 ? 1 : 0)}x`;
}

/** "7,739 gaps", "2 batches". */
export function plural(count: number, noun: string): string {
  const ending = count === 1 ? "" : /(s|tch|x)$/.test(noun) ? "es" : "s";
  return `${formatCount(count)}${NBSP}${noun}${ending}`;
}

/** A relative change with its sign: "+10%", "−3.1%". More digits would pretend. */
export function formatChange(share: number): string {
  const size = Math.abs(share * 100);
  const text = size >= 1000 ? `${significant(size)}%` : `${grouped(size, size < 9.95 ? 1 : 0)}%`;
  return text === "0.0%" ? text : `${share > 0 ? "+" : "−"}${text}`;
}

/** The unit for a whole table or column group, from its largest value. Seconds only from 10 s, and where the smallest
 * row keeps its digits in them. */
export function chooseTimeUnit(valuesUs: Iterable<number | undefined>): TimeUnit {
  const values = [...valuesUs];
  const largest = largestOf(values);
  if (largest < 1e3) return "µs";
  if (largest < 1e7) return "ms";
  const smallest = smallestOf(values);
  if (smallest < KEEPS_DIGITS_US.s && largest < 6e8) return "ms";
  return largest < 6e8 || smallest < KEEPS_DIGITS_US.min ? "s" : "min";
}

/** From here on, four decimals of the unit show three digits. */
const KEEPS_DIGITS_US = { s: 1e4, min: 6e5 };

function smallestOf(values: Iterable<number | undefined>): number {
  let smallest = Number.POSITIVE_INFINITY;
  for (const value of values) if (value) smallest = Math.min(smallest, Math.abs(value));
  return smallest;
}

function largestOf(values: Iterable<number | undefined>): number {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value ?? 0));
  return largest;
}

export function inUnit(us: number, unit: TimeUnit): string {
  return significant(us / US_PER_UNIT[unit]);
}

/** Decimals that a column of positions never needs more of (to the microsecond), and never has fewer of. */
const POSITION_DECIMALS: Readonly<Record<TimeUnit, readonly [least: number, most: number]>> = {
  µs: [0, 1],
  ms: [1, 3],
  s: [2, 6],
  min: [3, 8],
};

/** A column of points in time, not amounts: as many decimals as keep neighbours apart, the same in every row. */
export function positionDecimals(valuesUs: readonly number[], unit: TimeUnit): number {
  const [least, most] = POSITION_DECIMALS[unit];
  const sorted = [...new Set(valuesUs)].sort((a, b) => a - b);
  const closest = Math.min(...sorted.slice(1).map((us, i) => us - (sorted[i] ?? us)));
  return Math.min(most, Math.max(least, Math.ceil(-Math.log10(closest / US_PER_UNIT[unit]) - 1e-9)));
}

export function positionIn(us: number, unit: TimeUnit, decimals: number): string {
  return grouped(us / US_PER_UNIT[unit], decimals);
}

/** Labels of an axis in one unit: as many decimals as its step needs. */
export function onAxis(us: number, stepUs: number, unit: TimeUnit): string {
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(stepUs / US_PER_UNIT[unit]) + 1e-9)));
  return grouped(us === 0 ? 0 : us / US_PER_UNIT[unit], decimals);
}

/** A duration on its own, outside tables, in the unit that suits it. */
export function formatDuration(us: number): string {
  const size = Math.abs(rounded(us));
  const unit: TimeUnit = size < 1e3 ? "µs" : size < 1e6 ? "ms" : size < 1.2e8 ? "s" : "min";
  return `${inUnit(us, unit)}${NBSP}${unit}`;
}

/** For hover: nothing rounded away that the report carries (nanoseconds). */
export function exactUs(us: number): string {
  return `${grouped(us, 0, 3)}${NBSP}µs`;
}

/** The same of a point in time, in the unit that axes mostly have. */
export function exactPosition(us: number): string {
  return `${grouped(us / US_PER_UNIT.ms, 0, 6)}${NBSP}ms`;
}

/** For hover over values other than times. */
export function exactNumber(value: number): string {
  return grouped(value, 0, Math.abs(value) < 1 ? 6 : 3);
}

/** Label of a grid line, with its unit. */
export function formatTick(us: number, stepUs: number): string {
  const unit: TimeUnit = stepUs < 100 && Math.abs(us) < 1e4 ? "µs" : stepUs < 1e5 && Math.abs(us) < 1e7 ? "ms" : "s";
  return `${onAxis(us, stepUs, unit)}${NBSP}${unit}`;
}

export type ByteUnit = { readonly name: string; readonly bytes: number };

const BYTE_UNITS: readonly ByteUnit[] = ["B", "kB", "MB", "GB", "TB"].map((name, n) => ({ name, bytes: 1000 ** n }));
const [BYTE] = BYTE_UNITS as [ByteUnit];

export function inByteUnit(bytes: number, unit: ByteUnit): string {
  return significant(bytes / unit.bytes, unit.bytes === 1 ? 0 : PERCENT_DECIMALS);
}

export function formatBytes(bytes: number): string {
  const size = Math.abs(rounded(bytes));
  const unit = BYTE_UNITS.findLast((one) => size >= one.bytes) ?? BYTE;
  return `${inByteUnit(bytes, unit)}${NBSP}${unit.name}`;
}

/** The unit for a whole column: the largest that its largest value has ten of, so that small rows keep digits. */
export function chooseByteUnit(values: Iterable<number | undefined>): ByteUnit {
  const largest = largestOf(values);
  return BYTE_UNITS.findLast((one) => largest >= 10 * one.bytes) ?? BYTE;
}
