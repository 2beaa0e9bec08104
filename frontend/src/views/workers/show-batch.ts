// Choosing a batch in a table: its arrow is drawn and the timeline goes there.

import type { Batch } from "../../contract/report";
import { batchExtent, batchKey } from "../../model/batches";
import { aroundSpan, lengthUs } from "../../model/time-scale";
import { range, selectedBatch, timeline } from "../../state/atoms";

export function showBatch(batch: Batch): void {
  selectedBatch.value = batchKey(batch);
  const window = timeline.value.whole?.window;
  const extent = batchExtent(batch);
  if (window !== undefined && extent !== null) range.value = aroundSpan(extent.startUs, lengthUs(extent), window);
  document.querySelector("[data-testid=timeline-panel]")?.scrollIntoView({ block: "nearest" });
}
