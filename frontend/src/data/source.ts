// Where the page's data come from: routes of TensorBoard, or data that the page carries with it.

import type { Capture, CaptureRows, Comparison, RanksList, WholeRuns } from "../contract/report";
import {
  type Answer,
  fetchCaptures,
  fetchComparison,
  fetchRanks,
  fetchReport,
  fetchRuns,
  fetchSpans,
  fetchSuggestion,
  fetchTimeline,
  fetchTrace,
  fetchWhatIf,
  fetchWholeRuns,
  type Suggestion,
  type TimelineQuery,
} from "./api";
import type { Runs } from "./runs";
import type { FoundSpans, SpanQuery } from "./spans";
import type { TimelineSlice } from "./timeline";
import type { WhatIf } from "./what-if";

/** Ids of the captures of both sides. */
export type Compared = { readonly before: readonly string[]; readonly after: readonly string[] };

/** Whichever order a side lists its captures in. */
export function areAlike(ids: readonly string[], others: readonly string[]): boolean {
  return ids.length === others.length && ids.every((id) => others.includes(id));
}

export interface DataSource {
  /** Whether there is a server to ask again, and to ask for traces. */
  readonly live: boolean;
  /** The only comparisons that can be had; null where any two sides can be compared. */
  readonly compared: readonly Compared[] | null;
  runs(): Promise<Answer<Runs>>;
  /** One line per capture, the worst first. */
  captures(): Promise<Answer<CaptureRows>>;
  /** What annotate.watch recorded. */
  wholeRuns(): Promise<Answer<WholeRuns>>;
  /** Runs with captures of several ranks. */
  ranks(): Promise<Answer<RanksList>>;
  /** Of all steps, or of some of them ("3..7"). */
  report(id: string, steps: string | null): Promise<Answer<Capture>>;
  /** Rejects with an AbortError when `signal` says so. */
  timeline(query: TimelineQuery, signal?: AbortSignal): Promise<Answer<TimelineSlice>>;
  /** Spans by their name. Rejects as `timeline` does. */
  spans(query: SpanQuery, signal?: AbortSignal): Promise<Answer<FoundSpans>>;
  comparison(before: readonly string[], after: readonly string[]): Promise<Answer<Comparison>>;
  /** What to compare a capture with, of the same program. */
  suggestion(id: string): Promise<Answer<Suggestion>>;
  /** Predictions of a change, as `writtenChange` has it; a page without a server has its own set, whatever is asked for. */
  whatIf(id: string, change: string): Promise<Answer<WhatIf>>;
  trace(id: string): Promise<Answer<ArrayBuffer>>;
}

export const httpSource: DataSource = {
  live: true,
  compared: null,
  runs: fetchRuns,
  captures: fetchCaptures,
  wholeRuns: fetchWholeRuns,
  ranks: fetchRanks,
  report: fetchReport,
  timeline: fetchTimeline,
  spans: fetchSpans,
  comparison: fetchComparison,
  suggestion: fetchSuggestion,
  whatIf: fetchWhatIf,
  trace: fetchTrace,
};

let chosen: DataSource = httpSource;

export function source(): DataSource {
  return chosen;
}

/** Called once, before the page is drawn; and by tests. */
export function useSource(next: DataSource): void {
  chosen = next;
}
