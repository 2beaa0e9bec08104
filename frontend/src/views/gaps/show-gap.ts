// Choosing a gap or a link of its chain: the timeline goes there.

import { batch } from "@preact/signals";
import type { Gap } from "../../contract/report";
import type { ChainRow } from "../../model/chain";
import { aroundSpan } from "../../model/time-scale";
import { chainLink, range, selectedGapUs, timeline } from "../../state/atoms";

export function showGap(gap: Gap): void {
  batch(() => {
    chooseGap(gap);
    goTo(gap.start_us, gap.start_us + gap.duration_us);
  });
  document.querySelector("[data-testid=timeline-panel]")?.scrollIntoView({ block: "nearest" });
}

/** Without moving the timeline: the gap was chosen there. */
export function chooseGap(gap: Gap): void {
  selectedGapUs.value = gap.start_us;
  chainLink.value = null;
}

export function showLink(gap: Gap, { key, range: around }: ChainRow): void {
  batch(() => {
    selectedGapUs.value = gap.start_us;
    chainLink.value = key;
    if (around !== null) goTo(around.startUs, around.endUs);
  });
}

function goTo(startUs: number, endUs: number): void {
  const window = timeline.value.whole?.window;
  if (window === undefined) return;
  // A batch may have been made long before the window that it was waited for in.
  const from = Math.max(startUs, window.startUs);
  range.value = aroundSpan(from, Math.max(0, Math.min(endUs, window.endUs) - from), window);
}
