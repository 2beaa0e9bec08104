// The table of all captures: which rows are shown, and the trend over those of one run.

import type { CaptureRow } from "../contract/report";

/** Rows of `run` (null: of all runs) whose names or words contain every word of `search`. */
export function rowsShown(rows: readonly CaptureRow[], run: string | null, search: string): CaptureRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => (run === null || row.run === run) && containsAll(textOf(row), words));
}

function textOf(row: CaptureRow): string {
  return [row.run, row.name, row.mode, row.bound, row.verdict, row.finding, row.error, row.state]
    .join(" ")
    .toLowerCase();
}

export function containsAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** The number by which the report's order is: the rows that train stand first, the largest on top. null: it is mixed. */
export function orderOf(rows: readonly CaptureRow[]): "idle" | "wait" | null {
  const training = rows.filter(({ state, mode }) => state === "ready" && mode !== "replay");
  const isFalling = (of: (row: CaptureRow) => number | undefined): boolean => {
    const shares = training.map(of);
    return shares.every((share, at) => share !== undefined && share <= (shares[at - 1] ?? share));
  };
  if (training.length < 2) return null;
  if (isFalling(({ idle_share }) => idle_share)) return "idle";
  return isFalling(({ data_wait_share }) => data_wait_share) ? "wait" : null;
}

export function runsOfRows(rows: readonly CaptureRow[]): string[] {
  return [...new Set(rows.map((row) => row.run))].sort();
}

/** Captures that are nearer to each other are of one moment: files that were copied together. */
const ONE_MOMENT_S = 1;

/**
 * Captures of training in `run`, oldest first, as far as they are analysed and it is known when they were taken. Of a
 * run with ranks those of the rank that lost most. [] where all are of one moment: that is no course.
 */
export function trendOf(rows: readonly CaptureRow[], run: string): CaptureRow[] {
  const own = rows.filter(
    (row) => row.run === run && row.state === "ready" && row.mode !== "replay" && timeOf(row) > 0,
  );
  const worst = own.toSorted((a, b) => (b.lost_share ?? 0) - (a.lost_share ?? 0))[0];
  const found = own.filter(({ rank }) => rank === worst?.rank).toSorted((a, b) => timeOf(a) - timeOf(b));
  const [first, last] = [found[0], found.at(-1)];
  const isCourse = first !== undefined && last !== undefined && timeOf(last) - timeOf(first) >= ONE_MOMENT_S;
  return isCourse ? found : [];
}

/** Whose trend is shown where none was chosen: the run in view, unless it has none; then that with most captures. */
export function runOfTrend(rows: readonly CaptureRow[], inView: string | null): string {
  if (inView !== null && trendOf(rows, inView).length > 1) return inView;
  const counts = runsOfRows(rows).map((run) => ({ run, count: trendOf(rows, run).length }));
  return counts.reduce((best, one) => (one.count > best.count ? one : best), { run: ".", count: 0 }).run;
}

/** By the nanoseconds in the name that annotate gives, else when the file was changed. */
function timeOf({ name, modified }: CaptureRow): number {
  const stamp = /\.(1\d{18})$/.exec(name)?.[1];
  return stamp === undefined ? modified : Number(stamp) / 1e9;
}
