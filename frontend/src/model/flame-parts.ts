// Which flame graphs a capture has: of the whole pipeline, of each stage, of the training thread.

import type { Capture, Line, LineTree, PartLines, Stage } from "../contract/report";
import { CAUSES } from "../contract/words";
import { causeToken } from "./causes";
import { type Flame, type Frame, type FrameFacts, growFlame, type Order } from "./flame";
import { stageToken } from "./parts";
import { stageName } from "./stage-tree";
import { labelOf } from "./words";

/** "all" of the time, what the training thread waited for ("wait"), what passed while a device was idle ("idle"). */
export const MEASURES = ["all", "wait", "idle"] as const;
export type Measure = (typeof MEASURES)[number];

export const MEASURE_WORDS: Readonly<Record<Measure, string>> = {
  all: "all time",
  wait: "data wait it caused",
  idle: "while a device idles",
};

/** After a share: what it is of. */
export const OF_MEASURE: Readonly<Record<Measure, string>> = {
  all: "of all time",
  wait: "of data wait",
  idle: "of idle time",
};

export type FlamePart = {
  /** In an address: "pipeline", "training", "training:host", a stage's name. */
  readonly key: string;
  readonly label: string;
  /** Theme token of what lies in no stage. */
  readonly token: string;
  readonly lines: PartLines;
  readonly measures: readonly Measure[];
  /** What the table of stages has of each stage, by its name: spans, where a flame graph has samples. */
  readonly spans: ReadonlyMap<string, SpanTime>;
};

export type SpanTime = { readonly totalUs: number; readonly selfUs: number };

export const PIPELINE = "pipeline";
export const TRAINING = "training";

/** The whole pipeline, the training thread, the causes of idle time in it, then stages by time. */
export function flameParts(capture: Capture): FlamePart[] {
  const { lines } = capture;
  if (lines === undefined) return [];
  const hasDevice = capture.devices.length > 0;
  const spans = spanTimes(capture.stages);
  const part = (key: string, label: string, token: string, of: PartLines): FlamePart => ({
    key,
    label,
    token,
    lines: of,
    measures: measuresOf(of, hasDevice),
    spans,
  });
  const { pipeline, training_thread: training } = lines;
  return [
    ...(pipeline === undefined ? [] : [part(PIPELINE, "Whole pipeline", "sample", pipeline)]),
    ...(training === undefined ? [] : [part(TRAINING, "Training thread", "operator", training)]),
    ...(hasDevice ? lines.training : lines.training.filter(({ name }) => name !== "host")).map((of) => ({
      ...part(`${TRAINING}:${of.name}`, `Training thread, ${causeWords(of.name)}`, causeColor(of.name), of),
      measures: MEASURES.slice(0, 1),
    })),
    ...lines.stages.map((of) => part(of.name, of.name, stageToken(of.name), of)),
  ];
}

/** A stage that is called in several places has the sum. */
function spanTimes(stages: readonly Stage[]): Map<string, SpanTime> {
  const spans = new Map<string, SpanTime>();
  for (const stage of stages) {
    const { totalUs, selfUs } = spans.get(stageName(stage)) ?? { totalUs: 0, selfUs: 0 };
    spans.set(stageName(stage), { totalUs: totalUs + stage.total_us, selfUs: selfUs + stage.self_us });
  }
  return spans;
}

/** Self time of the part's stages in their table; 0: it is of no stage. */
export function spansSelfUs({ key, spans }: FlamePart): number {
  if (key !== PIPELINE) return spans.get(key)?.selfUs ?? 0;
  return [...spans].reduce((sum, [name, { selfUs }]) => sum + (name.startsWith("wait::") ? 0 : selfUs), 0);
}

/**
 * What the table of stages has in the place of a frame's time; undefined for what is no stage, and where the picture has
 * apart what is for another DataLoader, which the table has not.
 */
export function spanUsOf({ key, lines, spans }: FlamePart, { index, origin, name }: Frame): number | undefined {
  if (index === 0) return spans.get(key)?.selfUs;
  return origin === "stage" && !hasOthers(lines) ? spans.get(name)?.totalUs : undefined;
}

/** What is for another DataLoader stands apart. Nothing else of the tree is of origin "stage" and no stage. */
export function hasOthers({ tree }: PartLines): boolean {
  return tree?.origin.some((origin, row) => origin === "stage" && !text(tree, tree.label[row]).includes("::")) === true;
}

/** Without a device, "host" is all of the training thread, which stands there by that name. */
function causeWords(name: string): string {
  return name === "gil" ? "waiting for the GIL" : `idle: ${labelOf(CAUSES, name)}`;
}

function causeColor(name: string): string {
  const cause = CAUSES.find(({ id }) => id === name);
  return cause === undefined ? "operator" : causeToken(cause.id);
}

function measuresOf({ tree }: PartLines, hasDevice: boolean): Measure[] {
  const waits = tree?.waited_us.some((us) => us > 0) === true;
  return MEASURES.filter((name) => name === "all" || (name === "wait" ? waits : hasDevice));
}

/** The part that a key names; else the first that has enough samples to be drawn. */
export function chosenPart(parts: readonly FlamePart[], key: string | null): FlamePart | undefined {
  return parts.find((part) => part.key === key) ?? parts.find((part) => part.lines.tree !== undefined) ?? parts[0];
}

export function chosenMeasure(part: FlamePart, wanted: string | null): Measure {
  return part.measures.find((name) => name === wanted) ?? "all";
}

/** "time" where it is asked for and there. */
export function chosenOrder({ lines }: FlamePart, wanted: string | null): Order {
  return wanted === "time" && lines.in_order !== undefined ? "time" : "heavy";
}

export function treeOf(lines: PartLines, order: Order): LineTree | undefined {
  return order === "time" ? lines.in_order : lines.tree;
}

function column(tree: LineTree, measure: Measure): readonly number[] {
  return { all: tree.total_us, wait: tree.waited_us, idle: tree.idle_us }[measure];
}

/** null with too few samples. The whole of a measure but "all" is what its outermost frames have of it. */
export function flameOf({ lines, label, token }: FlamePart, measure: Measure, order: Order = "heavy"): Flame | null {
  const tree = treeOf(lines, order);
  if (tree === undefined) return null;
  const values = column(tree, measure);
  const outermost = values.reduce((sum, us, row) => (tree.depth[row] === 0 ? sum + us : sum), 0);
  const rows = values.map(
    (value, row): FrameFacts => ({
      depth: tree.depth[row] ?? 0,
      name: text(tree, tree.label[row]),
      place: text(tree, tree.place[row]),
      file: text(tree, tree.file[row]),
      source: text(tree, tree.source[row]),
      origin: tree.origin[row] ?? "",
      value,
    }),
  );
  return growFlame(wholeName(label, measure), measure === "all" ? lines.time_us : outermost, token, rows, order);
}

/** What all shares in the graph are of. */
function wholeName(label: string, measure: Measure): string {
  return measure === "all" ? label : `${label}, ${MEASURE_WORDS[measure]}`;
}

function text(tree: LineTree, index: number | undefined): string {
  return tree.names[index ?? -1] ?? "";
}

/** Samples in a frame, whatever the measure. */
export function samplesOf({ lines }: FlamePart, frame: number, order: Order = "heavy"): number {
  return frame === 0 ? lines.samples : (treeOf(lines, order)?.samples[frame - 1] ?? 0);
}

/** Of what the picture shows, the part of a line; undefined where that was not sampled. */
export function shareOf({ share, waited_share, idle_share }: Line, measure: Measure): number | undefined {
  return { all: share, wait: waited_share, idle: idle_share }[measure];
}

/** Most of the measure first; in the report's order of all time. */
export function linesBy({ lines }: PartLines, measure: Measure): readonly Line[] {
  if (measure === "all") return lines;
  return lines
    .filter((line) => (shareOf(line, measure) ?? 0) > 0)
    .toSorted((a, b) => (shareOf(b, measure) ?? 0) - (shareOf(a, measure) ?? 0));
}
