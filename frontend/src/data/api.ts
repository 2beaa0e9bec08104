// The routes, relative to this script: TensorBoard may stand behind any path prefix.

import type { Capture, CaptureRows, Comparison, RanksList, WholeRuns } from "../contract/report";
import { readCaptures, readComparison, readRanks, readRows, readWholeRuns } from "./report";
import { decodeRuns, listIn, type Runs, textIn } from "./runs";
import { decodeSpans, type FoundSpans, type SpanQuery } from "./spans";
import { decodeTimeline, type TimelineSlice } from "./timeline";
import { decodeWhatIf, type WhatIf } from "./what-if";

export type Answer<T> =
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "pending"; readonly state: "queued" | "loading" }
  | { readonly kind: "failed"; readonly message: string; readonly unreachable: boolean };

const UNREACHABLE = {
  kind: "failed",
  message: "TensorBoard does not answer. Is it still running?",
  unreachable: true,
} as const;

type Query = Readonly<Record<string, string | number | readonly string[]>>;

export function routeUrl(route: string, query: Query = {}): string {
  const url = new URL(route, import.meta.url);
  for (const [key, value] of Object.entries(query)) {
    for (const one of typeof value === "object" ? value : [value]) url.searchParams.append(key, String(one));
  }
  return url.href;
}

/** The server's own line when it sent one; else what went wrong in plain words. */
async function failure(response: Response): Promise<string> {
  try {
    const message = textIn(await response.json(), "error");
    if (message !== "") return message;
  } catch {
    // not JSON: an answer from something between us and the plugin
  }
  return `TensorBoard answered ${response.status} ${response.statusText}`.trim();
}

/** An answer we cannot read is the server's fault, not the connection's. */
function decoded<T>(value: unknown, decode: (value: unknown) => T): Answer<T> {
  try {
    return { kind: "ready", value: decode(value) };
  } catch (error) {
    return { kind: "failed", message: `The answer cannot be read: ${String(error)}`, unreachable: false };
  }
}

async function get<T>(url: string, decode: (value: unknown) => T, signal?: AbortSignal): Promise<Answer<T>> {
  try {
    const response = await fetch(url, { signal: signal ?? null, cache: "no-store" });
    if (response.status === 202) {
      const state = textIn(await response.json(), "state");
      return { kind: "pending", state: state === "queued" ? "queued" : "loading" };
    }
    if (!response.ok) return { kind: "failed", message: await failure(response), unreachable: false };
    return decoded(await response.json(), decode);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    return UNREACHABLE;
  }
}

export function fetchRuns(): Promise<Answer<Runs>> {
  return get(routeUrl("runs"), decodeRuns);
}

export function fetchCaptures(): Promise<Answer<CaptureRows>> {
  return get(routeUrl("captures"), readRows);
}

export function fetchWholeRuns(): Promise<Answer<WholeRuns>> {
  return get(routeUrl("whole_runs"), readWholeRuns);
}

export function fetchRanks(): Promise<Answer<RanksList>> {
  return get(routeUrl("ranks"), readRanks);
}

function firstCapture(value: unknown): Capture {
  const capture = readCaptures(value)[0];
  if (capture === undefined) throw new Error("a report without a capture");
  return capture;
}

export function fetchReport(id: string, steps: string | null): Promise<Answer<Capture>> {
  return get(routeUrl("report", { id, ...(steps === null ? {} : { steps }) }), firstCapture);
}

export function fetchComparison(before: readonly string[], after: readonly string[]): Promise<Answer<Comparison>> {
  return get(routeUrl("compare", { before, after }), readComparison);
}

/** Ids of captures of the same program, those of each side; none where none are known. */
export type Suggestion = {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Runs that would come first, were they not doubtful. */
  readonly passedOver?: readonly string[];
};

export const NO_SUGGESTION: Suggestion = { before: [], after: [] };

function passedOver(value: unknown): Pick<Suggestion, "passedOver"> {
  const runs = listIn(value, "passed_over").map(String);
  return runs.length === 0 ? {} : { passedOver: runs };
}

/** What the capture `id` suggests itself to be compared with. */
export function fetchSuggestion(id: string): Promise<Answer<Suggestion>> {
  return get(routeUrl("suggestion", { id }), (value) => ({
    before: listIn(value, "before").map(String),
    after: listIn(value, "after").map(String),
    ...passedOver(value),
  }));
}

export type TimelineQuery = {
  readonly id: string;
  readonly steps?: string | null;
  readonly width: number;
  readonly startUs?: number;
  readonly endUs?: number;
};

export function fetchTimeline(query: TimelineQuery, signal?: AbortSignal): Promise<Answer<TimelineSlice>> {
  const params: Record<string, string | number> = {
    id: query.id,
    width: Math.min(8000, Math.max(100, Math.round(query.width))),
  };
  if (typeof query.steps === "string") params.steps = query.steps;
  if (query.startUs !== undefined) params.start_us = query.startUs;
  if (query.endUs !== undefined) params.end_us = query.endUs;
  return get(routeUrl("timeline", params), decodeTimeline, signal);
}

/** Rejects with an AbortError when `signal` says so. */
export function fetchSpans(query: SpanQuery, signal?: AbortSignal): Promise<Answer<FoundSpans>> {
  const { id, steps, words, scope, place } = query;
  const params: Record<string, string | number> = { id, words: words.join(" "), ...scope };
  if (steps !== null) params.steps = steps;
  if (place !== null && "number" in place) params.number = place.number;
  if (place !== null && "fromUs" in place) params.from_us = place.fromUs;
  if (place !== null && "beforeUs" in place) params.before_us = place.beforeUs;
  return get(routeUrl("spans", params), decodeSpans, signal);
}

/** `change` as `writtenChange` has it; "" for the usual ones. */
export function fetchWhatIf(id: string, change: string): Promise<Answer<WhatIf>> {
  const url = new URL(routeUrl("what_if", { id }));
  for (const [key, value] of new URLSearchParams(change)) url.searchParams.append(key, value);
  return get(url.href, decodeWhatIf);
}

export function traceUrl(id: string): string {
  return routeUrl("trace", { id });
}

/** The whole trace as bytes, for Perfetto. */
export async function fetchTrace(id: string): Promise<Answer<ArrayBuffer>> {
  try {
    const response = await fetch(traceUrl(id));
    if (!response.ok) return { kind: "failed", message: await failure(response), unreachable: false };
    return { kind: "ready", value: await response.arrayBuffer() };
  } catch {
    return UNREACHABLE;
  }
}
