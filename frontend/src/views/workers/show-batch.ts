// Choosing a batch or a sample in a table: the timeline goes there.

import { batch as together } from "@preact/signals";
import type { Batch, SlowSample } from "../../contract/report";
import { batchExtent, batchKey } from "../../model/batches";
import { markedSpan, selectedBatch, timeline } from "../../state/atoms";
import { goTo, offerTimeline } from "../shared/go-to";

export function showBatch(batch: Batch): void {
  const window = timeline.value.whole?.window;
  const extent = window === undefined ? null : batchExtent(batch, window);
  together(() => {
    chooseBatch(batch);
    if (extent !== null) goTo(extent.startUs, extent.endUs);
  });
  offerTimeline();
}

/** Without moving the timeline: its arrow is drawn, no sample is framed. */
export function chooseBatch(batch: Batch | null): void {
  selectedBatch.value = batch === null ? null : batchKey(batch);
  markedSpan.value = null;
}

/** Frames the sample in the lane of the DataLoader worker that made it, or of the training thread; `batch` is the one it went into, where it is listed. */
export function showSample({ start_us, duration_us, loader, worker }: SlowSample, batch: Batch | undefined): void {
  const endUs = start_us + duration_us;
  const lane = timeline.value.whole?.lanes.find(({ owner, kind, isTrainingThread }) =>
    worker < 0 ? kind === "stages" && isTrainingThread : owner?.worker === worker && owner.loader === loader,
  );
  together(() => {
    chooseBatch(batch ?? null);
    if (lane !== undefined) markedSpan.value = { laneId: lane.id, name: "", startUs: start_us, endUs };
    goTo(start_us, endUs);
  });
  offerTimeline();
}
