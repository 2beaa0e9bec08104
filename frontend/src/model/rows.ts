// The table of all captures: which rows are shown, and the trend over those of one run.

import type { CaptureRow } from "../contract/report";
import { shortName, whenOf } from "./captures";

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

/** `sentence` of the server, with the captures in it named as their rows are: by the time in words, not by that in the name. */
export function withRowNames(sentence: string, rows: readonly CaptureRow[]): string {
  return rows.reduce((text, row) => {
    const { start, end, isStamped } = shortName(row.name);
    const when = isStamped ? whenOf({ taken: row.taken, takenBy: row.taken_by }) : null;
    return when === null ? text : text.replaceAll(row.name, `${start}${end} (${when.words})`);
  }, sentence);
}

export function containsAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** The one number by which all rows are in order as they come, the largest on top; null where there is no such number. */
export function orderOf(rows: readonly CaptureRow[]): "idle" | "wait" | null {
  const { withDevice, without, replays } = kindsOf(rows);
  if (replays > 0 || (withDevice > 0 && without > 0)) return null;
  if (withDevice > 1) return "idle";
  return without > 1 ? "wait" : null;
}

/** The order in which rows come, in words: "Worst first: by device idle; then replays."; "" of a single one. */
export function orderWords(rows: readonly CaptureRow[]): string {
  const { withDevice, without, replays, unknown, others } = kindsOf(rows);
  const number =
    withDevice === 0 ? "data wait" : `device idle${without === 0 ? "" : ", where there is no device by data wait"}`;
  const rest = [
    replays > 0 ? "replays" : "",
    unknown > 0 ? "what has neither number" : "",
    others > 0 ? "what is not analysed" : "",
  ].filter(Boolean);
  const last = rest.pop();
  const then = last === undefined ? "" : `; then ${rest.length === 0 ? last : `${rest.join(", ")} and ${last}`}`;
  return withDevice + without === 0 || rows.length < 2 ? "" : `Worst first: by ${number}${then}.`;
}

type Kinds = Readonly<Record<"withDevice" | "without" | "replays" | "unknown" | "others", number>>;

/** How many rows there are of each kind that the report's order keeps apart. */
function kindsOf(rows: readonly CaptureRow[]): Kinds {
  const ready = rows.filter(({ state }) => state === "ready");
  const known = ready.filter(({ lost_share }) => lost_share !== undefined);
  const training = known.filter(({ mode }) => mode !== "replay");
  const withDevice = training.filter(({ idle_share }) => idle_share !== undefined).length;
  return {
    withDevice,
    without: training.length - withDevice,
    replays: known.length - training.length,
    unknown: ready.length - known.length,
    others: rows.length - ready.length,
  };
}

export function runsOfRows(rows: readonly CaptureRow[]): string[] {
  return [...new Set(rows.map((row) => row.run))].sort();
}

/** Files that were changed nearer to each other are of one moment: they were copied together. */
const ONE_MOMENT_S = 1;

/**
 * Captures of one program, oldest first. `left`: captures of the run that are of other programs. `byFile`: of how many only
 * the file says when they were taken.
 */
export type Course = { readonly rows: readonly CaptureRow[]; readonly left: number; readonly byFile: number };

/**
 * How `run` went: its captures of training, as far as they are analysed and it is known when they were taken; of the
 * program of `subjectOf`, and of a run with ranks those of the rank that lost most. null where they are fewer than two,
 * or all of one moment: that is no course.
 */
export function courseOf(rows: readonly CaptureRow[], run: string, inView: string | null): Course | null {
  return courseIn(dated(rows, run), subjectOf(rows, run, inView)?.program);
}

/** Whose program the course of `run` is of: the capture `inView`, where it is of that run, else the latest one. */
export function subjectOf(rows: readonly CaptureRow[], run: string, inView: string | null): CaptureRow | undefined {
  const all = dated(rows, run);
  return all.find(({ id }) => id === inView) ?? all.at(-1);
}

/** The latest capture of each program of `run` that has a course, the newest first. */
export function programsWithCourse(rows: readonly CaptureRow[], run: string): CaptureRow[] {
  const all = dated(rows, run);
  const latest = new Map(all.map((row) => [row.program, row]));
  return [...latest.values()]
    .filter(({ program }) => courseIn(all, program) !== null)
    .toSorted((a, b) => b.taken - a.taken);
}

/** What a course of `run` may be of, oldest first. */
function dated(rows: readonly CaptureRow[], run: string): CaptureRow[] {
  return rows
    .filter((row) => row.run === run && row.state === "ready" && row.mode !== "replay" && row.taken > 0)
    .toSorted((a, b) => a.taken - b.taken);
}

function courseIn(all: readonly CaptureRow[], program: number | undefined): Course | null {
  const own = all.filter((row) => row.program === program);
  const worst = own.toSorted((a, b) => (b.lost_share ?? 0) - (a.lost_share ?? 0))[0];
  const found = own.filter(({ rank }) => rank === worst?.rank);
  const [first, last] = [found[0], found.at(-1)];
  if (first === undefined || last === undefined) return null;
  const least = isByFile(first) || isByFile(last) ? ONE_MOMENT_S : Number.MIN_VALUE;
  if (last.taken - first.taken < least) return null;
  return { rows: found, left: all.length - own.length, byFile: found.filter(isByFile).length };
}

/** Runs that have a course, by name. */
export function runsWithCourse(rows: readonly CaptureRow[]): string[] {
  return runsOfRows(rows).filter((run) => courseOf(rows, run, null) !== null);
}

function isByFile({ taken_by: by }: CaptureRow): boolean {
  return by === "file";
}
