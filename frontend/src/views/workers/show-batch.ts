// Choosing a batch in a table: its arrow is drawn and the timeline goes there.

import type { Batch } from "../../contract/report";
import { batchExtent, batchKey } from "../../model/batches";
import { aroundSpan } from "../../model/time-scale";
import { range, selectedBatch, timeline } from "../../state/atoms";

export function showBatch(batch: Batch): void {
  selectedBatch.value = batchKey(batch);
  const window = timeline.value.whole?.window;
  const extent = batchExtent(batch);
  if (window !== undefined && extent !== null) {
    // A batch may have been made long before the window that it was received in.
    const startUs = Math.max(extent.startUs, window.startUs);
    range.value = aroundSpan(startUs, Math.max(0, Math.min(extent.endUs, window.endUs) - startUs), window);
  }
  document.querySelector("[data-testid=timeline-panel]")?.scrollIntoView({ block: "nearest" });
}
