// Leading the timeline to a stretch of time.

import { aroundSpan, lengthUs } from "../../model/time-scale";
import { range, timeline } from "../../state/atoms";

/** A moment is shown with this part of the window around it: alone it would be an empty picture. */
const AROUND_A_MOMENT = 1 / 200;

/** Shows a stretch with some time around it. Parts outside the window are left out: nothing is drawn there. */
export function goTo(startUs: number, endUs: number): void {
  const window = timeline.value.whole?.window;
  if (window === undefined) return;
  const from = Math.min(Math.max(startUs, window.startUs), window.endUs);
  const length = Math.max(0, Math.min(endUs, window.endUs) - from);
  const least = length > 0 ? 0 : lengthUs(window) * AROUND_A_MOMENT;
  range.value = aroundSpan(from - least / 2, length + least, window);
}

/** The page moves no further than it takes to see the timeline. */
export function revealTimeline(): void {
  document.querySelector("[data-testid=timeline-panel]")?.scrollIntoView({ block: "nearest" });
}
