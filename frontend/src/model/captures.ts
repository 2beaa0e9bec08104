// The list of captures as it is read: runs, newest first, each with its captures.

import { MODES } from "../contract/words";
import type { CaptureEntry } from "../data/runs";
import { labelOf, meaningOf } from "./words";

export type { CaptureEntry };

export type RunGroup = { readonly run: string; readonly captures: readonly CaptureEntry[] };

/** Keeps the order of the server (newest first): a run stands where its newest capture stands. Ranks of one window go by number. */
export function groupByRun(captures: readonly CaptureEntry[]): RunGroup[] {
  const groups = new Map<string, CaptureEntry[]>();
  for (const item of captures) {
    const group = groups.get(item.run);
    if (group === undefined) groups.set(item.run, [item]);
    else group.push(item);
  }
  return [...groups].map(([run, items]) => ({ run, captures: byRank(items) }));
}

/** As `CLOCKS_APART_US` in `rank_folders.py`: what clocks of two hosts may differ by, and the next run takes longer than. */
const CLOCKS_APART_S = 60;

/**
 * Ranks of one run write their captures of one window within moments, in any order; where a rank comes again, another
 * window begins. Whatever else has a rank keeps its place.
 */
function byRank(items: readonly CaptureEntry[]): CaptureEntry[] {
  const windows: CaptureEntry[][] = [];
  for (const item of items) {
    const last = windows.at(-1);
    if (last?.every((other) => mayBeOfOneWindow(item, other))) last.push(item);
    else windows.push([item]);
  }
  return windows.flatMap((window) => window.toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0)));
}

function mayBeOfOneWindow(one: CaptureEntry, other: CaptureEntry): boolean {
  const areOfOneRun = one.rankRun !== null && one.rankRun === other.rankRun;
  return areOfOneRun && one.rank !== other.rank && Math.abs(one.taken - other.taken) <= CLOCKS_APART_S;
}

/** The run is part of the name: captures of several runs may be called alike. */
export function fullName({ run, name }: Pick<CaptureEntry, "run" | "name">): string {
  return run === "." ? name : `${run} / ${name}`;
}

export type ShortName = {
  /** What fits a narrow column. The end stays where the start is cut. */
  readonly start: string;
  readonly end: string;
  /** Whether the name had a time, which is left out: then captures may be called the same without it. */
  readonly isStamped: boolean;
};

/** `<host>_<process>.<time>`: nanoseconds, as annotate and torch name captures; milliseconds, as older versions of torch do. */
const STAMPED = /^(.+)\.1(?:\d{18}|\d{12})$/;
const END_LETTERS = 12;

export function shortName(name: string): ShortName {
  const stamped = STAMPED.exec(name)?.[1];
  const stem = stamped ?? name;
  const cut = Math.max(0, stem.length - END_LETTERS);
  return { start: stem.slice(0, cut), end: stem.slice(cut), isStamped: stamped !== undefined };
}

/** When a capture was taken, and what says so. */
export type When = { readonly unixMs: number; readonly words: string; readonly title: string };

const TITLES: Readonly<Record<string, string>> = {
  trace: "When its window began, by the trace's clock.",
  name: "When it was written, by its name.",
  file: "When its file was changed: its trace does not say when it was taken, or is not read.",
};

/** The server decides it, see `CaptureRow.taken`; null where nobody knows. Times of files are said to be that: a copy has its own. */
export function whenOf({ taken, takenBy: by }: Pick<CaptureEntry, "taken" | "takenBy">): When | null {
  if (taken <= 0) return null;
  const unixMs = taken * 1000;
  const words = by === "file" ? `file of ${whenWords(unixMs, false)}` : whenWords(unixMs, true);
  return { unixMs, words, title: TITLES[by] ?? "" };
}

/** `captures` as they stood in `before` (ids), what is new at the end: nothing moves under the pointer. */
export function asBefore(captures: readonly CaptureEntry[], before: readonly string[]): CaptureEntry[] {
  const places = new Map(before.map((id, place) => [id, place]));
  const placeOf = ({ id }: CaptureEntry): number => places.get(id) ?? before.length;
  return captures.toSorted((a, b) => placeOf(a) - placeOf(b));
}

export function modeLabel(mode: string | null): string {
  return mode === null ? "" : labelOf(MODES, mode);
}

export function modeMeaning(mode: string | null): string {
  return mode === null ? "" : meaningOf(MODES, mode);
}

/** What stands beside a capture's name: its state until it is ready, then its mode, its rank, and whether its file is whole. */
export function entryWords(item: CaptureEntry): string {
  if (item.state === "queued") return "queued";
  if (item.state === "loading") return "loading";
  if (item.state === "error") return "cannot be read";
  const mode = modeLabel(item.mode) || "ready";
  return [mode, item.rank === null ? "" : `rank ${item.rank}`, item.isCutOff ? "cut off" : ""]
    .filter(Boolean)
    .join(", ");
}

const TO_MINUTES = { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" } as const;
// Made once: a list of captures writes hundreds of times, and making a format takes longer than using it.
const TO_SECONDS = { ...TO_MINUTES, second: "2-digit" } as const;
const formats = (to: Intl.DateTimeFormatOptions) => ({
  thisYear: new Intl.DateTimeFormat(undefined, to),
  other: new Intl.DateTimeFormat(undefined, { year: "numeric", ...to }),
});
const MINUTES = formats(TO_MINUTES);
const SECONDS = formats(TO_SECONDS);
const THIS_YEAR = new Date().getFullYear();

/** In the reader's own time zone, with the year where it is another one; "PM" does not stand in a line of its own. */
export function whenWords(unixMs: number, seconds: boolean): string {
  const year = new Date(unixMs).getFullYear() === THIS_YEAR ? "thisYear" : "other";
  return (seconds ? SECONDS : MINUTES)[year].format(unixMs).replace(/\s(?=\D+$)/u, "\u00a0");
}

/** For other programs: it sorts, and has its year and zone. */
export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
