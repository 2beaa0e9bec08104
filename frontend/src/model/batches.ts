// The batches of DataLoader workers: which one a box of the timeline is, where its arrow goes, how the list is ordered.

import type { Batch, Capture } from "../contract/report";
import { formatDuration } from "./format";
import type { BoxInfo } from "./hover";
import { hit, type LaneOwner, type LaneRows } from "./lanes";
import type { TimeRange } from "./time-scale";

export type BatchColumn = "number" | "epoch" | "worker" | "build_us" | "wait_us" | "in_queue_us" | "head_of_line_us";
export type BatchSort = { readonly column: BatchColumn; readonly descending: boolean };

/** A batch number may be unknown (-1) more than once; no two batches of a DataLoader worker begin together. */
export function batchKey(batch: Batch): string {
  return [batch.loader, batch.epoch, batch.worker, batch.number, batch.started_us ?? ""].join(":");
}

/** Unknown values stand last in both directions: they are neither large nor small. */
export function sortBatches(batches: readonly Batch[], { column, descending }: BatchSort): Batch[] {
  const direction = descending ? -1 : 1;
  return batches.toSorted((a, b) => {
    if (column === "number") return direction * (a.epoch - b.epoch || a.number - b.number);
    const [left, right] = [a[column], b[column]];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return direction * (left - right) || a.epoch - b.epoch || a.number - b.number;
  });
}

/** The batch that a box is, lies in (a stage) or received (a wait); null for other boxes and where none is known. */
export function batchOfBox(batches: readonly Batch[], box: BoxInfo): Batch | null {
  if (box.merged > 1 && box.row === 0) return null;
  const { owner, kind } = box.lane;
  if (owner === null) return kind === "stages" && box.token === "wait" ? batchOfWait(batches, box) : null;
  const middleUs = box.startUs + box.durationUs / 2;
  const isIn = ({ started_us, finished_us = Infinity }: Batch): boolean =>
    started_us !== undefined && started_us <= middleUs && middleUs <= finished_us;
  return batches.find((batch) => isBuiltBy(batch, owner) && isIn(batch)) ?? null;
}

function isBuiltBy(batch: Batch, owner: LaneOwner): boolean {
  return batch.worker === owner.worker && batch.loader === owner.loader;
}

/** The batch that a wait of the training thread received. */
function batchOfWait(batches: readonly Batch[], box: BoxInfo): Batch | null {
  const endUs = box.startUs + box.durationUs;
  const inside = (us: number | undefined): boolean => us !== undefined && us >= box.startUs && us <= endUs;
  return batches.find((batch) => inside(batch.consumed_us)) ?? null;
}

/** What the report knows of a batch, for hover. */
export function batchLines({ consumed_us, wait_us, in_queue_us = 0, head_of_line_us = 0 }: Batch): string[] {
  const lines: string[] = [];
  if (consumed_us === undefined) lines.push("not received before the window closed");
  else if (wait_us === 0) lines.push("the training thread did not wait for it");
  else if (wait_us !== undefined) lines.push(`the training thread waited ${formatDuration(wait_us)} for it`);
  if (in_queue_us > 0) lines.push(`time in queue ${formatDuration(in_queue_us)}`);
  if (head_of_line_us > 0) lines.push(`of which head-of-line wait ${formatDuration(head_of_line_us)}`);
  return lines;
}

/** A box in a lane's first row, and the moment in it where the arrow meets it. */
export type Mark = TimeRange & { readonly laneId: string; readonly atUs: number };
/** The arrow of the timeline: from one box to another. */
export type Link = { readonly from: Mark; readonly to: Mark };

/** From where the batch was finished to the wait that received it; null when one of the two was not recorded. */
export function linkOf(batch: Batch, lanes: readonly LaneRows[]): Link | null {
  const { started_us, finished_us, consumed_us } = batch;
  const training = lanes.find((lane) => lane.isTrainingThread);
  const builder = laneOfBatch(batch, lanes);
  if (finished_us === undefined || consumed_us === undefined || training === undefined || builder === null) return null;
  return {
    from: { laneId: builder.id, startUs: started_us ?? finished_us, endUs: finished_us, atUs: finished_us },
    to: { laneId: training.id, ...waitOf(batch, consumed_us, training), atUs: consumed_us },
  };
}

/** The training thread's own box around the moment of receipt; without one, what the report has. */
function waitOf({ wait_us = 0 }: Batch, consumedUs: number, training: LaneRows): TimeRange {
  const row = training.rows[0];
  const index = row === undefined ? -1 : hit(row, consumedUs, 0);
  const startUs = row?.startUs[index];
  if (row === undefined || startUs === undefined || (row.merged[index] ?? 1) > 1)
    return { startUs: consumedUs - wait_us, endUs: consumedUs };
  return { startUs, endUs: startUs + (row.durationUs[index] ?? 0) };
}

/** Where a DataLoader worker has had several processes (one per epoch), the lane with a box at the batch's finish. */
function laneOfBatch(batch: Batch, lanes: readonly LaneRows[]): LaneRows | null {
  const own = lanes.filter(({ owner }) => owner !== null && isBuiltBy(batch, owner));
  const atUs = batch.finished_us ?? batch.started_us ?? 0;
  return own.find(({ rows: [row] }) => row !== undefined && hit(row, atUs, 1) >= 0) ?? own[0] ?? null;
}

/** All that belongs to a batch: built, waited for, received. One that was not finished lasts to the window's end, as it is drawn. */
export function batchExtent(batch: Batch, window: TimeRange): TimeRange | null {
  const { started_us, finished_us, consumed_us, wait_us = 0 } = batch;
  const isUnfinished = finished_us === undefined && consumed_us === undefined;
  const points = [
    isUnfinished && started_us !== undefined ? window.endUs : undefined,
    started_us,
    finished_us,
    consumed_us,
    consumed_us === undefined ? undefined : consumed_us - wait_us,
  ].filter((us): us is number => us !== undefined);
  return points.length === 0 ? null : { startUs: Math.min(...points), endUs: Math.max(...points) };
}

export function findBatch(capture: Capture, key: string | null): Batch | null {
  return key === null ? null : (capture.batches.find((batch) => batchKey(batch) === key) ?? null);
}
