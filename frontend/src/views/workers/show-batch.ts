// Choosing a batch or a sample in a table: the timeline goes there.

import { batch as together } from "@preact/signals";
import type { Batch, SlowSample } from "../../contract/report";
import { batchExtent, batchKey } from "../../model/batches";
import { sampleKey } from "../../model/workers";
import { selectedBatch, selectedSample, timeline } from "../../state/atoms";
import { goTo, offerTimeline, seek } from "../shared/go-to";

export function showBatch(batch: Batch): void {
  goToBatch(batch);
  offerTimeline();
}

/** From elsewhere than a table that goes on being read: the page scrolls to it. */
export function seekBatch(batch: Batch): void {
  goToBatch(batch);
  seek();
}

function goToBatch(batch: Batch): void {
  const window = timeline.value.whole?.window;
  const extent = window === undefined ? null : batchExtent(batch, window);
  together(() => {
    chooseBatch(batch);
    if (extent !== null) goTo(extent.startUs, extent.endUs);
  });
}

/** Without moving the timeline: its arrow is drawn, no sample is framed. */
export function chooseBatch(batch: Batch | null): void {
  selectedBatch.value = batch === null ? null : batchKey(batch);
  selectedSample.value = null;
}

/** The timeline frames the sample; `batch` is the one it went into, where it is listed. */
export function showSample(sample: SlowSample, batch: Batch | undefined): void {
  together(() => {
    chooseBatch(batch ?? null);
    selectedSample.value = sampleKey(sample);
    goTo(sample.start_us, sample.start_us + sample.span_us);
  });
  offerTimeline();
}
