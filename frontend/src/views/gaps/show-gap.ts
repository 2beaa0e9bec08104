// Choosing a gap or a link of its chain: the timeline goes there.

import { batch } from "@preact/signals";
import type { Gap } from "../../contract/report";
import type { ChainRow } from "../../model/chain";
import { chainLink, selectedGapUs } from "../../state/atoms";
import { goTo, offerTimeline, seek, seekExplanation } from "../shared/go-to";

export function showGap(gap: Gap): void {
  goToGap(gap);
  offerTimeline();
}

/** By a key, wherever the page is: it goes to what is said of the gap. */
export function turnToGap(gap: Gap): void {
  goToGap(gap);
  seekExplanation();
}

function goToGap(gap: Gap): void {
  batch(() => {
    chooseGap(gap);
    goTo(gap.start_us, gap.start_us + gap.duration_us);
  });
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
  seek();
}
