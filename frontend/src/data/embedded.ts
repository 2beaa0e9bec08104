// Data that the page itself carries: `tb-dataplugin report --format html` (export/as_html.py) writes them.

import type { Capture, CaptureRows, Comparison, RanksList, WholeRuns } from "../contract/report";
import { type Answer, NO_SUGGESTION, type TimelineQuery } from "./api";
import { readCaptures, readComparison, readRanks, readRows, readWholeRuns } from "./report";
import { type CaptureEntry, fieldsOf, listIn, modeOf, type RepeatedRuns, repeatedIn, textIn } from "./runs";
import { areAlike, type Compared, type DataSource } from "./source";
import { spansInSlice } from "./spans";
import { decodeTimeline, type TimelineSlice } from "./timeline";
import { decodeWhatIf, type WhatIf } from "./what-if";

export const EMBEDDED_ID = "data-pipeline-embedded";

/** `command`: what makes the comparison where it found no room, else "". */
type Suggested = Compared & { readonly command?: string };

type Embedded = {
  readonly captures: readonly Capture[];
  readonly timelines: readonly (readonly TimelineSlice[])[];
  readonly rows?: CaptureRows;
  /** Predictions of each capture, null where there are none. */
  readonly whatIfs: readonly (WhatIf | null)[];
  /** What each capture suggests itself to be compared with, null where nothing does. */
  readonly suggestions: readonly (Suggested | null)[];
  readonly repeatedRuns?: readonly RepeatedRuns[];
  readonly comparisons: readonly (Compared & { readonly value: Comparison })[];
  readonly wholeRuns?: WholeRuns;
  readonly ranks?: RanksList;
  readonly title: string;
  /** Why other captures are not here. */
  readonly problems: readonly string[];
};

const ready = <T>(value: T): Promise<Answer<T>> => Promise.resolve({ kind: "ready", value });
const failed = (message: string): Promise<Answer<never>> =>
  Promise.resolve({ kind: "failed", message, unreachable: false });

/** null when the page carries no data: then there is a server. */
export function embeddedSource(document: Document): DataSource | null {
  const element = document.getElementById(EMBEDDED_ID);
  return element === null ? null : sourceOf(read(JSON.parse(element.textContent ?? "")));
}

/** What this page was not given cannot be made from it. */
const NO_RUN = "This page has no whole run: annotate.watch, or ANNOTATE_WATCH=FOLDER, records one for the next report.";
const NO_TIMELINE =
  "This page had no room for the timeline of this capture. A page of fewer captures has it, and the TensorBoard tab.";
const COMMAND = "tb-dataplugin compare BEFORE AFTER";
const NO_RANKS = "This page has no captures that are known to be of several ranks of one run.";

function read(value: unknown): Embedded {
  const report = fieldsOf(fieldsOf(value).report);
  const [runs, ranks] = [listIn(report, "whole_runs"), listIn(report, "ranks")];
  const without = listIn(report, "runs_without_steps");
  return {
    wholeRuns: readWholeRuns({
      runs,
      runs_without_steps: without,
      hint_text: runs.length + without.length === 0 ? NO_RUN : "",
    }),
    ranks: readRanks({ ranks, hint_text: ranks.length === 0 ? NO_RANKS : "" }),
    title: textIn(value, "title"),
    problems: listIn(value, "problems").map(String),
    captures: readCaptures(fieldsOf(value).report),
    rows: readRows(fieldsOf(value).rows ?? {}),
    whatIfs: listIn(value, "what_ifs").map((one) => (one === null ? null : decodeWhatIf(one))),
    suggestions: listIn(value, "suggestions").map((one) =>
      one === null ? null : { ...comparedIn(one), command: textIn(one, "command") },
    ),
    repeatedRuns: repeatedIn(value),
    comparisons: listIn(value, "comparisons").map((one) => ({
      ...comparedIn(one),
      value: readComparison(fieldsOf(one).comparison),
    })),
    timelines: listIn(value, "timelines").map((one) => listIn(one, "slices").map(decodeTimeline)),
  };
}

function comparedIn(value: unknown): Compared {
  return { before: listIn(value, "before").map(String), after: listIn(value, "after").map(String) };
}

export function sourceOf({
  captures,
  rows,
  wholeRuns,
  ranks,
  timelines,
  whatIfs,
  suggestions,
  repeatedRuns = [],
  comparisons,
  title,
  problems,
}: Embedded): DataSource {
  const indexOf = (id: string): number => Number(id);
  return {
    live: false,
    compared: comparisons,
    runs: () =>
      ready({
        logdir: title,
        scanning: false,
        perfetto: false,
        captures: worstFirst(inRankRuns(captures.map(entry), ranks), rows),
        repeatedRuns,
        mixedRuns: [], // its sides are those of the comparisons that it carries
        wholeRuns: (wholeRuns?.runs.length ?? 0) + (wholeRuns?.runs_without_steps.length ?? 0),
        rankRuns: ranks?.ranks.length ?? 0,
        problems,
      }),
    wholeRuns: () => ready(wholeRuns ?? readWholeRuns({})),
    ranks: () => ready(ranks ?? readRanks({})),
    captures: () => ready(rows ?? readRows({})),
    report: (id) => {
      const capture = captures[indexOf(id)];
      return capture === undefined ? failed("This page has no such capture.") : ready(capture);
    },
    timeline: (query) => {
      const slice = finest(timelines[indexOf(query.id)] ?? [], query);
      return slice === null ? failed(NO_TIMELINE) : ready(slice);
    },
    spans: (query) => {
      const [whole] = timelines[indexOf(query.id)] ?? [];
      return whole === undefined ? failed(NO_TIMELINE) : ready(spansInSlice(whole, query));
    },
    comparison: (before, after) => {
      const found = comparisons.find((one) => areAlike(one.before, before) && areAlike(one.after, after));
      if (found !== undefined) return ready(found.value);
      const leftOut = suggestions.find(
        (one) => areAlike(one?.before ?? [], before) && areAlike(one?.after ?? [], after),
      );
      return failed(`The TensorBoard tab has it, and the terminal: \`${leftOut?.command || COMMAND}\``);
    },
    suggestion: (id) => {
      const { before, after } = suggestions[indexOf(id)] ?? NO_SUGGESTION;
      return ready({ before, after });
    },
    whatIf: (id) => {
      const found = whatIfs[indexOf(id)] ?? null;
      return found === null ? failed("This page carries no predictions.") : ready(found);
    },
    trace: () => failed("This page does not include the trace itself."),
  };
}

/** As All captures has them, with when each was taken: the first is shown when the page opens. */
function worstFirst(entries: readonly CaptureEntry[], rows: CaptureRows | undefined): CaptureEntry[] {
  const places = new Map((rows?.rows ?? []).map((row, place) => [row.id, { place, row }]));
  return entries
    .map((item) => {
      const row = places.get(item.id)?.row;
      return { ...item, taken: row?.taken ?? 0, takenBy: row?.taken_by ?? "" };
    })
    .toSorted((a, b) => (places.get(a.id)?.place ?? 0) - (places.get(b.id)?.place ?? 0));
}

/** The shortest slice that reaches as far as the query; the whole window where none does. */
function finest(slices: readonly TimelineSlice[], { startUs, endUs }: TimelineQuery): TimelineSlice | null {
  const reaching = slices.filter(
    (slice) => slice.start_us <= (startUs ?? slice.window_start_us) && slice.end_us >= (endUs ?? slice.window_end_us),
  );
  const [first] = reaching.toSorted((a, b) => a.end_us - a.start_us - (b.end_us - b.start_us));
  return first ?? slices[0] ?? null;
}

function inRankRuns(captures: readonly CaptureEntry[], ranks?: RanksList): CaptureEntry[] {
  const runs = new Map(ranks?.ranks.flatMap(({ run, folders }) => folders.map((folder) => [folder, run] as const)));
  return captures.map((item) =>
    item.rank === null || item.mode === "replay" ? item : { ...item, rankRun: runs.get(item.run) ?? null },
  );
}

function entry(capture: Capture, index: number): CaptureEntry {
  const cut = capture.name.lastIndexOf("/");
  return {
    id: String(index),
    run: cut < 0 ? "." : capture.name.slice(0, cut),
    name: capture.name.slice(cut + 1),
    state: "ready",
    error: null,
    bytes: 0,
    modified: 0,
    taken: 0,
    takenBy: "",
    mode: modeOf(capture.mode),
    rank: capture.rank ?? null,
    rankRun: null,
    isCutOff: capture.doubts.some(({ code }) => code === "cut_off"),
  };
}
