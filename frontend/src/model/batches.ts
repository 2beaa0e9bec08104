// The batches of DataLoader workers: which one a box of the timeline is, where its arrow goes, how the list is ordered.

import type { Batch, Capture, Worker } from "../contract/report";
import { formatDuration } from "./format";
import type { BoxInfo } from "./hover";
import { hit, type LaneOwner, type LaneRows, ownerOf, trainingLane } from "./lanes";
import type { TimeRange } from "./time-scale";

type Records = { readonly batches: readonly Batch[]; readonly workers: readonly Worker[] };

export type BatchColumn = "number" | "make" | "wait" | "delay" | "blocked";
export type BatchSort = { readonly column: BatchColumn; readonly descending: boolean };

/** A batch number may be unknown (-1) more than once; no two batches of a worker begin together. */
export function batchKey(batch: Batch): string {
  return [batch.loader, batch.epoch, batch.worker, batch.number, batch.started_us ?? ""].join(":");
}

export function makeUs({ started_us, finished_us }: Batch): number | undefined {
  return started_us === undefined || finished_us === undefined ? undefined : finished_us - started_us;
}

export function batchValue(batch: Batch, column: BatchColumn): number | undefined {
  switch (column) {
    case "number":
      return batch.number;
    case "make":
      return makeUs(batch);
    case "wait":
      return batch.wait_us;
    case "delay":
      return batch.delay_us;
    case "blocked":
      return batch.blocked_us;
  }
}

/** Unknown values stand last in both directions: they are neither large nor small. */
export function sortBatches(batches: readonly Batch[], { column, descending }: BatchSort): Batch[] {
  const direction = descending ? -1 : 1;
  return batches.toSorted((a, b) => {
    if (column === "number") return direction * (a.epoch - b.epoch || a.number - b.number);
    const [left, right] = [batchValue(a, column), batchValue(b, column)];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return direction * (left - right) || a.epoch - b.epoch || a.number - b.number;
  });
}

/** The batch that a box is, lies in (a stage) or received (a wait); null for other boxes and where none is known. */
export function batchOfBox({ batches, workers }: Records, box: BoxInfo): Batch | null {
  if (box.merged > 1 && box.row === 0) return null;
  const owner = ownerOf(box.lane, workers);
  if (owner === null) return box.lane.kind === "stages" && box.token === "wait" ? batchOfWait(batches, box) : null;
  const middleUs = box.startUs + box.durationUs / 2;
  const isIn = ({ started_us, finished_us = Infinity }: Batch): boolean =>
    started_us !== undefined && started_us <= middleUs && middleUs <= finished_us;
  return batches.find((batch) => isMadeBy(batch, owner) && isIn(batch)) ?? null;
}

function isMadeBy(batch: Batch, owner: LaneOwner): boolean {
  return batch.worker === owner.worker && (owner.loader ?? batch.loader) === batch.loader;
}

/** The batch that a wait of the training thread received. */
function batchOfWait(batches: readonly Batch[], box: BoxInfo): Batch | null {
  const endUs = box.startUs + box.durationUs;
  const inside = (us: number | undefined): boolean => us !== undefined && us >= box.startUs && us <= endUs;
  return batches.find((batch) => inside(batch.consumed_us)) ?? null;
}

/** What the report knows of a batch, for hover. */
export function batchLines(batch: Batch): string[] {
  const lines: string[] = [];
  if (batch.consumed_us === undefined) lines.push("the training thread did not get it before the window closed");
  else if ((batch.wait_us ?? 0) > 0)
    lines.push(`the training thread waited ${formatDuration(batch.wait_us ?? 0)} for it`);
  else if (batch.wait_us === 0) lines.push("the training thread did not wait for it");
  if ((batch.delay_us ?? 0) > 0) lines.push(`lay ready for ${formatDuration(batch.delay_us ?? 0)}`);
  if ((batch.blocked_us ?? 0) > 0)
    lines.push(`of that ${formatDuration(batch.blocked_us ?? 0)} while an earlier batch was waited for`);
  return lines;
}

/** A box in a lane's first row, and the moment in it where the arrow meets it. */
export type Mark = TimeRange & { readonly laneId: string; readonly atUs: number };
/** The arrow of the timeline: from one box to another. */
export type Link = { readonly from: Mark; readonly to: Mark };

/** From where the batch was finished to the wait that received it; null when one of the two was not recorded. */
export function linkOf(batch: Batch, workers: readonly Worker[], lanes: readonly LaneRows[]): Link | null {
  const { started_us, finished_us, consumed_us } = batch;
  const training = trainingLane(lanes);
  const maker = laneOfBatch(batch, workers, lanes);
  if (finished_us === undefined || consumed_us === undefined || training === null || maker === null) return null;
  return {
    from: { laneId: maker.id, startUs: started_us ?? finished_us, endUs: finished_us, atUs: finished_us },
    to: { laneId: training.id, ...waitOf(batch, consumed_us, training), atUs: consumed_us },
  };
}

/** The training thread's own box around the moment of receipt; without one, as much as the report tells. */
function waitOf({ wait_us = 0 }: Batch, consumedUs: number, training: LaneRows): TimeRange {
  const row = training.rows[0];
  const index = row === undefined ? -1 : hit(row, consumedUs, 0);
  const startUs = row?.startUs[index];
  if (row === undefined || startUs === undefined || (row.merged[index] ?? 1) > 1)
    return { startUs: consumedUs - wait_us, endUs: consumedUs };
  return { startUs, endUs: startUs + (row.durationUs[index] ?? 0) };
}

/** Where a worker number has had several processes (one per epoch), the lane with a box at the batch's finish. */
function laneOfBatch(batch: Batch, workers: readonly Worker[], lanes: readonly LaneRows[]): LaneRows | null {
  const own = lanes.filter((lane) => {
    const owner = ownerOf(lane, workers);
    return owner !== null && isMadeBy(batch, owner);
  });
  const atUs = batch.finished_us ?? batch.started_us ?? 0;
  return own.find(({ rows: [row] }) => row !== undefined && hit(row, atUs, 1) >= 0) ?? own[0] ?? null;
}

/** All that belongs to a batch: made, waited for, received. */
export function batchExtent(batch: Batch): TimeRange | null {
  const { started_us, finished_us, consumed_us, wait_us = 0 } = batch;
  const points = [
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
