// Leading the timeline to a stretch of time.

import { aroundSpan, lengthUs } from "../../model/time-scale";
import { isLedAbove, range, timeline } from "../../state/atoms";
import { skipToTable } from "../../ui/sections";

/** A moment is shown with this part of the window around it: alone it would be an empty picture. */
const AROUND_A_MOMENT = 1 / 200;
/** With less of it in view the timeline counts as out of sight: the tabs cover its uppermost part. */
const LEAST_SEEN_PX = 160;

/** Shows a stretch with some time around it. Parts outside the window are left out: nothing is drawn there. */
export function goTo(startUs: number, endUs: number): void {
  const window = timeline.value.whole?.window;
  if (window === undefined) return;
  const from = Math.min(Math.max(startUs, window.startUs), window.endUs);
  const length = Math.max(0, Math.min(endUs, window.endUs) - from);
  const least = length > 0 ? 0 : lengthUs(window) * AROUND_A_MOMENT;
  range.value = aroundSpan(from - least / 2, length + least, window);
}

/** After a choice in a table below the timeline: the page stays where it is, and offers the way up. */
export function offerTimeline(): void {
  const panel = document.querySelector("[data-testid=timeline-panel]");
  isLedAbove.value = panel !== null && panel.getBoundingClientRect().bottom < LEAST_SEEN_PX;
}

export function withdrawOffer(): void {
  isLedAbove.value = false;
}

/** What had the focus when the timeline was gone to. */
let cameFrom: HTMLElement | null = null;

export function goToTimeline(): void {
  withdrawOffer();
  const focused = document.activeElement;
  if (focused instanceof HTMLElement && focused.closest("[data-testid=way-up]") === null) cameFrom = focused;
  document.querySelector("[data-testid=timeline-panel]")?.scrollIntoView({ block: "start" });
  document.querySelector<HTMLElement>("[data-testid=timeline-canvas]")?.focus({ preventScroll: true });
}

/** To the timeline, and from there back to what led to it, else to the view's table. */
export function turnToTimeline(): void {
  const isThere = document.activeElement?.closest("[data-testid=timeline-panel]") != null;
  if (!isThere) goToTimeline();
  else if (cameFrom?.isConnected === true) {
    cameFrom.focus({ preventScroll: true });
    cameFrom.scrollIntoView({ block: "center" });
  } else skipToTable(document.getElementById("view"));
}
