// The slowest calls of a stage: what names one in a link, and where it lies in the timeline.

import type { StageCall } from "../contract/report";
import type { Place } from "./chain";
import type { TimelineModel } from "./lanes";

/** A thread has one call of a stage that starts at a time, or one within the other: then the times differ. */
export function callKey({ start_us: start, duration_us: us, loader, worker }: StageCall): string {
  return [start, us, loader ?? "", worker ?? ""].join(":");
}

/** null where no lane has it. */
export function placeOfCall(call: StageCall, name: string, whole: TimelineModel | null): Place | null {
  const { start_us: startUs, span_us, loader, worker, training_thread } = call;
  const lane = whole?.lanes.find(({ owner, kind, isTrainingThread }) =>
    worker === undefined
      ? training_thread && kind === "stages" && isTrainingThread
      : owner?.worker === worker && owner.loader === loader,
  );
  return lane === undefined ? null : { laneId: lane.id, name, startUs, endUs: startUs + span_us };
}
