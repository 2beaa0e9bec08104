// Numbers to words: 3 significant digits, one unit per table, exact values for hover.

export type TimeUnit = "µs" | "ms" | "s" | "min";

const US_PER_UNIT: Readonly<Record<TimeUnit, number>> = { µs: 1, ms: 1e3, s: 1e6, min: 6e7 };
const NBSP = "\u00a0";
export const UNKNOWN = "–";

/** 3 significant digits, at most `maxDecimals` decimals so that a right-aligned column stays readable. */
export function sig3(value: number, maxDecimals = 4): string {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(3));
  const smallest = 10 ** -maxDecimals;
  if (Math.abs(rounded) < smallest / 2) return `${value < 0 ? ">-" : "<"}${smallest.toFixed(maxDecimals)}`;
  const magnitude = Math.floor(Math.log10(Math.abs(rounded)));
  const decimals = Math.min(maxDecimals, Math.max(0, 2 - magnitude));
  return rounded.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

export function formatCount(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** `share` of 1. The caller's text says what it is a share of. */
export function formatPercent(share: number): string {
  return `${sig3(share * 100, 2)}${NBSP}%`;
}

/** How many times as much: "1.8x". */
export function ratioWords(ratio: number): string {
  return `${sig3(ratio, ratio < 0.1 ? 2 : ratio < 10 ? 1 : 0)}x`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)}${NBSP}${count === 1 ? one : many}`;
}

/** The unit for a whole table or column group, from its largest value. Seconds only from 10 s, so that the small
 * rows of a table keep digits. */
export function chooseTimeUnit(valuesUs: Iterable<number | undefined>): TimeUnit {
  let largest = 0;
  for (const value of valuesUs) if (value !== undefined) largest = Math.max(largest, Math.abs(value));
  if (largest < 1e3) return "µs";
  if (largest < 1e7) return "ms";
  return largest < 6e8 ? "s" : "min";
}

export function inUnit(us: number, unit: TimeUnit): string {
  return sig3(us / US_PER_UNIT[unit]);
}

/** Decimals that a column of positions never needs more of (to the microsecond), and never has fewer of. */
const POSITION_DECIMALS: Readonly<Record<TimeUnit, readonly [least: number, most: number]>> = {
  µs: [0, 1],
  ms: [1, 3],
  s: [2, 6],
  min: [3, 8],
};

/** A column of points in time, not amounts: as many decimals as tell each from the next, the same in every row. */
export function positionDecimals(valuesUs: readonly number[], unit: TimeUnit): number {
  const [least, most] = POSITION_DECIMALS[unit];
  const sorted = valuesUs.toSorted((a, b) => a - b);
  const closest = sorted.reduce(
    (best, us, i) => (i > 0 && us > (sorted[i - 1] ?? us) ? Math.min(best, us - (sorted[i - 1] ?? us)) : best),
    Infinity,
  );
  return Math.min(most, Math.max(least, Math.ceil(-Math.log10(closest / US_PER_UNIT[unit]) - 1e-9)));
}

export function positionIn(us: number, unit: TimeUnit, decimals: number): string {
  return (us / US_PER_UNIT[unit]).toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}

/** Labels of an axis in one unit: as many decimals as its step needs. */
export function onAxis(us: number, stepUs: number, unit: TimeUnit): string {
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(stepUs / US_PER_UNIT[unit]) + 1e-9)));
  const value = us === 0 ? 0 : us / US_PER_UNIT[unit];
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A duration on its own, outside tables, in the unit that suits it. */
export function formatDuration(us: number): string {
  const size = Math.abs(us);
  const unit: TimeUnit = size < 1e3 ? "µs" : size < 1e6 ? "ms" : size < 1.2e8 ? "s" : "min";
  return `${inUnit(us, unit)}${NBSP}${unit}`;
}

/** The part of a reason that fits under a number; the rest is on hover and under "What this capture cannot tell". */
export function firstClause(reason: string): string {
  const clause = reason.split(/[,:;.](?:\s|$)/)[0] ?? reason;
  return clause.charAt(0).toUpperCase() + clause.slice(1);
}

/** For hover: nothing rounded away that the report carries (nanoseconds). */
export function exactUs(us: number): string {
  return `${us.toLocaleString("en-US", { maximumFractionDigits: 3 })}${NBSP}µs`;
}

export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"] as const;
  let scaled = bytes;
  let index = 0;
  while (scaled >= 1000 && index < units.length - 1) {
    scaled /= 1000;
    index += 1;
  }
  return `${sig3(scaled, index === 0 ? 0 : 2)}${NBSP}${units[index] ?? "TB"}`;
}

/** Label of a grid line, with its unit. */
export function formatTick(us: number, stepUs: number): string {
  const unit: TimeUnit = stepUs < 100 && Math.abs(us) < 1e4 ? "µs" : stepUs < 1e5 && Math.abs(us) < 1e7 ? "ms" : "s";
  return `${onAxis(us, stepUs, unit)}${NBSP}${unit}`;
}
