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

/** Ranks write their captures of one window within moments, in any order; where a rank comes again, another window begins. */
function byRank(items: readonly CaptureEntry[]): CaptureEntry[] {
  const windows: CaptureEntry[][] = [];
  for (const item of items) {
    const last = windows.at(-1);
    const isOfLast = item.rank !== null && last?.every(({ rank }) => rank !== null && rank !== item.rank);
    if (last !== undefined && isOfLast) last.push(item);
    else windows.push([item]);
  }
  return windows.flatMap((window) => window.toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0)));
}

/** The run is part of the name: captures of several runs may be called alike. */
export function fullName({ run, name }: Pick<CaptureEntry, "run" | "name">): string {
  return run === "." ? name : `${run} / ${name}`;
}

export type ShortName = {
  /** What fits a narrow column. The end stays where the start is cut. */
  readonly start: string;
  readonly end: string;
  /** When its window was written, by its name; else when the file was changed. */
  readonly unixMs: number | null;
  /** Whether the name says when: only then seconds tell captures apart. */
  readonly isStamped: boolean;
};

/** `<host>_<process>.<time>`: nanoseconds, as annotate and torch name captures; milliseconds, as older versions of torch do. */
const STAMPED = /^(.+)\.(?:(1\d{18})|(1\d{12}))$/;
const END_LETTERS = 12;

export function shortName({ name, modified }: Pick<CaptureEntry, "name" | "modified">): ShortName {
  const stamp = stampOf(name);
  const stem = stamp?.stem ?? name;
  const cut = Math.max(0, stem.length - END_LETTERS);
  const unixMs = stamp?.unixMs ?? (modified > 0 ? modified * 1000 : null);
  return { start: stem.slice(0, cut), end: stem.slice(cut), unixMs, isStamped: stamp !== null };
}

/** When a capture was written, by its name, and what stands before that; null where the name does not say. */
export function stampOf(name: string): { readonly stem: string; readonly unixMs: number } | null {
  const [, stem, ns, ms] = STAMPED.exec(name) ?? [];
  return stem === undefined ? null : { stem, unixMs: ms === undefined ? Number(ns) / 1e6 : Number(ms) };
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
const MINUTES = new Intl.DateTimeFormat(undefined, TO_MINUTES);
const SECONDS = new Intl.DateTimeFormat(undefined, { ...TO_MINUTES, second: "2-digit" });

/** In the reader's own time zone; "PM" does not stand in a line of its own. */
export function whenWords(unixMs: number, seconds: boolean): string {
  return (seconds ? SECONDS : MINUTES).format(unixMs).replace(/\s(?=\D+$)/u, "\u00a0");
}

/** For other programs: it sorts, and has its year and zone. */
export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
