// The answer of the `runs` route (http_api.md).

import { asObject, number, objects, optBoolean, text, texts, type JsonObject } from "./json";

export type CaptureState = "queued" | "loading" | "ready" | "error";
export type CaptureMode = "train" | "replay" | "foreign";

export type CaptureEntry = {
  readonly id: string;
  readonly run: string;
  readonly name: string;
  readonly state: CaptureState;
  readonly error: string | null;
  readonly bytes: number;
  readonly modified: number;
  readonly mode: CaptureMode | null;
};

export type Runs = {
  readonly logdir: string;
  readonly scanning: boolean;
  readonly perfetto: boolean;
  readonly captures: readonly CaptureEntry[];
  readonly problems: readonly string[];
};

const STATES: readonly string[] = ["queued", "loading", "ready", "error"];
const MODES: readonly string[] = ["train", "replay", "foreign"];

function entry(o: JsonObject): CaptureEntry {
  const state = text(o, "state");
  const mode = text(o, "mode");
  return {
    id: text(o, "id"),
    run: text(o, "run") || ".",
    name: text(o, "name"),
    state: STATES.includes(state) ? (state as CaptureState) : "queued",
    error: text(o, "error") || null,
    bytes: number(o, "bytes"),
    modified: number(o, "modified"),
    mode: MODES.includes(mode) ? (mode as CaptureMode) : null,
  };
}

export function decodeRuns(value: unknown): Runs {
  const o = asObject(value);
  return {
    logdir: text(o, "logdir"),
    scanning: optBoolean(o, "scanning") ?? false,
    perfetto: optBoolean(o, "perfetto") ?? false,
    captures: objects(o, "captures", entry),
    problems: texts(o, "problems"),
  };
}
