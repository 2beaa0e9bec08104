// The answer of the `runs` route (http_api.md).

import { MODES } from "../contract/words";

export type CaptureState = "queued" | "loading" | "ready" | "error";
export type CaptureMode = (typeof MODES)[number]["id"];

export type CaptureEntry = {
  readonly id: string;
  readonly run: string;
  readonly name: string;
  readonly state: CaptureState;
  readonly error: string | null;
  readonly bytes: number;
  readonly modified: number;
  /** Unix seconds: when it was taken, and what says so, see `CaptureRow`. */
  readonly taken: number;
  readonly takenBy: string;
  readonly mode: CaptureMode | null;
  /** null where it is not of several, or not known yet. */
  readonly rank: number | null;
  /** `Ranks.run` of those that it is one of; null where it is not of several that are here, or not known yet. */
  readonly rankRun: string | null;
  /** Its file ends too early. */
  readonly isCutOff: boolean;
};

/** A folder of repeated runs of one program, each run in a folder of its own. */
export type RepeatedRuns = { readonly folder: string; readonly ids: readonly string[] };

export type Runs = {
  readonly logdir: string;
  readonly scanning: boolean;
  readonly perfetto: boolean;
  readonly captures: readonly CaptureEntry[];
  readonly repeatedRuns: readonly RepeatedRuns[];
  /** Runs whose captures are not of one program, by what is known of them. */
  readonly mixedRuns: readonly string[];
  /** How many whole runs there are (`annotate.watch`). */
  readonly wholeRuns: number;
  /** Runs with captures of several ranks. */
  readonly rankRuns: number;
  readonly problems: readonly string[];
};

const STATES: readonly CaptureState[] = ["queued", "loading", "ready", "error"];

/** An object from outside; {} for what is none. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** "" where there is no such text. */
export function textIn(value: unknown, key: string): string {
  const found = fieldsOf(value)[key];
  return typeof found === "string" ? found : "";
}

export function listIn(value: unknown, key: string): readonly unknown[] {
  const found = fieldsOf(value)[key];
  return Array.isArray(found) ? found : [];
}

/** A mode that this page does not know is none. */
export function modeOf(name: string): CaptureMode | null {
  return MODES.find(({ id }) => id === name)?.id ?? null;
}

/** What `Ranks.run` is for the ranks that it is one of: its folder, or the one that the folders of its ranks lie in. */
export function runOfRanks(item: CaptureEntry): string {
  return item.rankRun ?? item.run;
}

function entry(value: unknown): CaptureEntry {
  const { bytes, modified, taken, rank, cut_off: isCutOff } = fieldsOf(value);
  return {
    id: textIn(value, "id"),
    run: textIn(value, "run") || ".",
    name: textIn(value, "name"),
    state: STATES.find((state) => state === textIn(value, "state")) ?? "queued",
    error: textIn(value, "error") || null,
    bytes: Number(bytes ?? 0),
    modified: Number(modified ?? 0),
    taken: Number(taken ?? 0),
    takenBy: textIn(value, "taken_by"),
    mode: modeOf(textIn(value, "mode")),
    rank: typeof rank === "number" ? rank : null,
    rankRun: textIn(value, "rank_run") || null,
    isCutOff: isCutOff === true,
  };
}

export function repeatedIn(value: unknown): RepeatedRuns[] {
  return listIn(value, "repeated_runs").map((one) => ({
    folder: textIn(one, "folder"),
    ids: listIn(one, "ids").map(String),
  }));
}

export function decodeRuns(value: unknown): Runs {
  const { scanning, perfetto, whole_runs: wholeRuns, rank_runs: rankRuns } = fieldsOf(value);
  return {
    logdir: textIn(value, "logdir"),
    scanning: scanning === true,
    perfetto: perfetto === true,
    captures: listIn(value, "captures").map(entry),
    repeatedRuns: repeatedIn(value),
    mixedRuns: listIn(value, "mixed_runs").map(String),
    wholeRuns: Number(wholeRuns ?? 0),
    rankRuns: Number(rankRuns ?? 0),
    problems: listIn(value, "problems").map(String),
  };
}
