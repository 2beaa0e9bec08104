// From an idle gap back to its origin: launch, wait, batch, DataLoader worker, sample, stage; where the loader is not the
// cause, the operator that the host was in. Each link is a place in the timeline.

import type { Batch, Capture, Gap, Link } from "../contract/report";
import type { Cause } from "./causes";
import { formatCount, formatDuration, positionIn } from "./format";
import type { BoxInfo } from "./hover";
import { hit, type LaneRows, type TimelineModel } from "./lanes";
import { shareWords } from "./shares";
import type { TimeRange } from "./time-scale";
import { noStageMeaning, stageLabel } from "./words";

export const CHAIN_KEYS = ["gap", "launch", "operator", "call", "wait", "batch", "worker", "sample", "stage"] as const;
export type ChainKey = (typeof CHAIN_KEYS)[number];

/** A span of one lane. `name` is "" where the whole lane is meant. */
export type Place = TimeRange & { readonly laneId: string; readonly name: string };

export type ChainRow = {
  readonly key: ChainKey;
  readonly label: string;
  /** What it says; "" where there is nothing to say. It may be known without a link. */
  readonly name: string;
  readonly startUs: number | undefined;
  readonly durationUs: number | undefined;
  /** Of what the host was in: how much of the gap that is. */
  readonly insideUs?: number;
  /** Where the timeline goes to and what it frames there; null where the link is absent. */
  readonly place: Place | null;
  /** What is shown around it. */
  readonly range: TimeRange | null;
  /** Why there is no link. */
  readonly reason: string;
};

const LABELS: Readonly<Record<ChainKey, string>> = {
  gap: "Gap",
  launch: "Launch call",
  operator: "Host was in",
  call: "Runtime call",
  wait: "Data wait",
  batch: "Batch",
  worker: "DataLoader worker",
  sample: "Sample",
  stage: "Stage",
};

/** All links of a gap in their order, also those that are absent; none of the loader where it is not the cause. */
export function chainRows(gap: Gap, gapLaneId: string): ChainRow[] {
  const { chain } = gap;
  const gapPlace = { laneId: gapLaneId, name: "", startUs: gap.start_us, endUs: endOf(gap) };
  const sample = chain?.sample_index === undefined ? (chain?.sample?.name ?? "") : `index ${chain.sample_index}`;
  const begin = [
    row("gap", gap, stepWords(gap), gapPlace, ""),
    linked("launch", chain?.launch, chain?.launch?.name ?? "", launchReason(gap), endOf(gap)),
  ];
  if (chain?.wait === undefined)
    return [
      ...begin,
      {
        ...linked("operator", chain?.operator, chain?.operator?.name ?? "", operatorReason(gap), endOf(gap)),
        ...inside(gap, chain?.operator),
      },
      ...longestCall(gap),
    ];
  return [
    ...begin,
    ...longestCall(gap),
    linked("wait", chain.wait, "training thread", ""),
    linked("batch", chain.batch, batchWords(gap), batchReason(gap)),
    workerRow(gap),
    linked("sample", chain.sample, sample, sampleReason(gap)),
    linked("stage", chain.stage, chain.stage?.name ?? stageLabel(gap.stage), stageReason(gap)),
  ];
}

/** The runtime call that most of the gap passed in, where there is one. */
function longestCall(gap: Gap): ChainRow[] {
  const call = gap.chain?.call;
  return call === undefined ? [] : [{ ...linked("call", call, call.name, "", endOf(gap)), ...inside(gap, call) }];
}

/** It may have begun before the gap, and go on after it. */
function inside(gap: Gap, link: Link | undefined): Pick<ChainRow, "insideUs"> {
  if (link === undefined) return {};
  return { insideUs: Math.min(endOf(link), endOf(gap)) - Math.max(link.start_us, gap.start_us) };
}

/** A gap in most of which its end was launched already is none of the host's doing. */
function operatorReason({ chain, start_us: startUs, duration_us: durationUs, queued_us: queuedUs }: Gap): string {
  if (chain?.launch === undefined || 2 * queuedUs < durationUs)
    return "No operator of the host lasted for half of the gap.";
  const launched = chain.launch.start_us <= startUs ? "before it began" : "in less than half of it";
  return `The host was not late: what ended the gap was launched ${launched}, and the device had not started it yet.`;
}

/** How much of the gap's data wait the stage is, where others have a considerable part of it. */
export function stageShareWords({ stage, stage_us: partUs, idle_by_cause_us: causes }: Gap): string {
  const waitUs = causes?.data_wait;
  if (partUs === 0 || waitUs === undefined || partUs >= NEARLY_ALL * waitUs) return "";
  return `${stageLabel(stage)} caused ${shareWords(partUs, waitUs)} of the data wait in this gap, the largest part; other stages caused the rest.`;
}
const NEARLY_ALL = 0.9;

function endOf({ start_us, duration_us }: { readonly start_us: number; readonly duration_us: number }): number {
  return start_us + duration_us;
}

function row(
  key: ChainKey,
  span: { readonly start_us: number; readonly duration_us: number },
  name: string,
  place: Place,
  reason: string,
  toUs = endOf(span),
): ChainRow {
  const range = { startUs: Math.min(span.start_us, toUs), endUs: Math.max(endOf(span), toUs) };
  return { key, label: LABELS[key], name, startUs: span.start_us, durationUs: span.duration_us, place, range, reason };
}

/** `toUs`: what is shown with the link, so that a short one is not shown alone. */
function linked(key: ChainKey, link: Link | undefined, name: string, reason: string, toUs?: number): ChainRow {
  if (link === undefined)
    return {
      key,
      label: LABELS[key],
      name,
      startUs: undefined,
      durationUs: undefined,
      place: null,
      range: null,
      reason,
    };
  const place = { laneId: link.lane, name: link.name, startUs: link.start_us, endUs: endOf(link) };
  return row(key, link, name, place, reason, toUs);
}

/** The lane of the DataLoader worker while it built the batch, and on to where the batch was waited for. */
function workerRow(gap: Gap): ChainRow {
  const { worker, batch, wait } = gap.chain ?? {};
  const reason =
    batch !== undefined && worker === undefined ? "The training thread built this batch itself." : batchReason(gap);
  if (worker === undefined || batch === undefined) return linked("worker", undefined, "", reason);
  const place = { laneId: batch.lane, name: "", startUs: batch.start_us, endUs: endOf(batch) };
  const made = row("worker", batch, `number ${worker}`, place, "", wait === undefined ? undefined : endOf(wait));
  return { ...made, startUs: undefined, durationUs: undefined };
}

function stepWords({ step }: Gap): string {
  return step === undefined ? "outside any step" : `in step ${step}`;
}

function batchWords({ chain }: Gap): string {
  if (chain?.batch_number !== undefined) return `batch ${chain.batch_number}${epochWords(chain.epoch)}`;
  return chain?.batch === undefined ? "" : "number not known";
}

/** Since when a batch had been finished that the training thread waited for: then nothing that builds it is the cause. */
export function queueWords({ chain }: Gap): string {
  const { in_queue_us: queuedUs, wait, batch_number: number } = chain ?? {};
  if (!isQueued(queuedUs) || wait === undefined) return "";
  const which = number === undefined ? "The batch" : `Batch ${number}`;
  const at = `${positionIn(wait.start_us - queuedUs, "ms", 1)}\u00a0ms`;
  return `${which} was ready in the queue at ${at}, ${formatDuration(queuedUs)} before this data wait began.`;
}

function isQueued(queuedUs: number | undefined): queuedUs is number {
  return queuedUs !== undefined && queuedUs > 0;
}

function sampleReason({ chain }: Gap): string {
  const { in_queue_us: queuedUs, stage, wait, batch_number: number } = chain ?? {};
  if (number === undefined) return "Which batch this data wait received is not known, so neither is a sample.";
  if (isQueued(queuedUs))
    return "The batch was finished before this data wait began, so no sample of it was being loaded.";
  return stage !== undefined && wait !== undefined && endOf(stage) <= wait.start_us
    ? "This stage of the batch was over before this data wait began, and so was its sample."
    : "No sample of this batch was recorded in this part of the data wait.";
}

function epochWords(epoch: number | undefined): string {
  return epoch === undefined || epoch === 0 ? "" : ` of epoch ${epoch}`;
}

function launchReason({ cause }: Gap): string {
  return cause === "unknown"
    ? "The trace does not show what launched the work that ended this gap."
    : "The launch of the activity that ended this gap is not in the trace.";
}

/** Where no link leads to the loader, why; "" where one does, or where it is not known. */
export function noWaitWords({ chain, exposed_wait_us: waited }: Gap): string {
  if (chain?.wait !== undefined || waited === undefined) return "";
  return waited > 0
    ? "The training thread waited in this gap, but that is not what kept the device idle."
    : "The training thread did not wait for data in this gap.";
}

function batchReason(gap: Gap): string {
  if (gap.stage === "startup") return "It waited in iter(loader), where DataLoader workers start: no batch came yet.";
  return gap.chain?.sample === undefined && gap.chain?.stage === undefined
    ? "The trace has no record of the batch that this data wait received."
    : "The training thread built the batch itself, within its data wait.";
}

function stageReason({ stage, chain }: Gap): string {
  if (stage === "") return "The capture has no stage data for this data wait.";
  if (noStageMeaning(stage) !== "") return `The data wait went to ${stageLabel(stage)}, which has no span.`;
  const owner = chain?.batch_number === undefined ? "this data wait" : "this batch";
  return `The data wait went to ${stageLabel(stage)}: no span of it belongs to ${owner}.`;
}

/** The gap selected by a click in the gap lane: the longest in the report that the box merges. */
export function gapOfBox(gaps: readonly Gap[], box: BoxInfo): Gap | null {
  const endUs = box.startUs + box.durationUs;
  const inside = gaps.filter((gap) => gap.start_us < endUs && endOf(gap) > box.startUs);
  return inside.reduce<Gap | null>(
    (best, gap) => (best === null || gap.duration_us > best.duration_us ? gap : best),
    null,
  );
}

/** The gap after (before) the chosen one in time; without a chosen one in sight, the first (last) in what is shown. */
export function gapBeside(
  gaps: readonly Gap[],
  chosen: Gap | null,
  { startUs, endUs }: TimeRange,
  turn: 1 | -1,
): Gap | null {
  const inTime = gaps.toSorted((a, b) => turn * (a.start_us - b.start_us));
  const isInSight = chosen !== null && chosen.start_us < endUs && endOf(chosen) > startUs;
  if (chosen !== null && isInSight) return inTime.find((gap) => turn * (gap.start_us - chosen.start_us) > 0) ?? null;
  return inTime.find((gap) => (turn > 0 ? gap.start_us >= startUs : endOf(gap) <= endUs)) ?? null;
}

/** Why a click on `box` chooses none of `shown`; `gaps` are all that the report lists, the longest of `count`. */
export function whyNotChosen(gaps: readonly Gap[], count: number, box: BoxInfo): string {
  if (gapOfBox(gaps, box) !== null) return "That gap has a different main cause. Show all causes to select it.";
  const what =
    box.merged > 1
      ? `Those ${formatCount(box.merged)} gaps are`
      : `That gap of ${formatDuration(box.durationUs)} (${box.name}) is`;
  return `${what} not among the ${formatCount(gaps.length)} longest of ${formatCount(count)}, and the report keeps the chain for those only.`;
}

export function gapsOfCause(gaps: readonly Gap[], cause: Cause | null): readonly Gap[] {
  return cause === null ? gaps : gaps.filter((gap) => (gap.cause || "unknown") === cause);
}

/** The batch of a chain among the report's batches; null where it is not listed. */
export function batchOfChain({ batches }: Pick<Capture, "batches">, { chain }: Gap): Batch | null {
  const { batch_number: number, loader, epoch, worker } = chain ?? {};
  if (number === undefined) return null;
  return (
    batches.find(
      (one) =>
        one.number === number && one.loader === loader && one.epoch === epoch && one.worker === (worker ?? one.worker),
    ) ?? null
  );
}

/** Which row of a lane shows a span: the one with a box there of its length; null where it is too short to have one. */
export function rowOfPlace(lane: LaneRows, place: Place, names: TimelineModel["names"]): number | null {
  const middleUs = (place.startUs + place.endUs) / 2;
  const slackUs = Math.max(1, (place.endUs - place.startUs) * 0.01);
  for (const [number, boxes] of lane.rows.entries()) {
    const index = hit(boxes, middleUs, 0);
    if (index < 0 || (boxes.merged[index] ?? 1) > 1) continue;
    const startUs = boxes.startUs[index] ?? 0;
    const isThere =
      Math.abs(startUs - place.startUs) <= slackUs &&
      Math.abs(startUs + (boxes.durationUs[index] ?? 0) - place.endUs) <= slackUs;
    const name = names[boxes.name[index] ?? -1] ?? "";
    if (isThere && (name === place.name || place.name === "" || !name.includes("::"))) return number;
  }
  return null;
}
