// Leading to a stretch of time in the timeline, and to what is marked there.

import type { Place } from "../../model/chain";
import type { Strip } from "../../model/lane-layout";
import { aroundSpan, lengthUs } from "../../model/time-scale";
import { offered, range, type Sought, sought, timeline } from "../../state/atoms";
import { untilByHand } from "../../ui/by-hand";
import { skipToTable } from "../../ui/sections";

/** A moment is shown with this part of the window around it: alone it would be an empty picture. */
const AROUND_A_MOMENT = 1 / 200;
/** For so long what was led to may still be loading, and move. */
const LOADING_MS = 3000;

/** Shows a stretch with some time around it. Parts outside the window are left out: nothing is drawn there. */
export function goTo(startUs: number, endUs: number): void {
  const window = timeline.value.whole?.window;
  if (window === undefined) return;
  const from = Math.min(Math.max(startUs, window.startUs), window.endUs);
  const length = Math.max(0, Math.min(endUs, window.endUs) - from);
  const least = length > 0 ? 0 : lengthUs(window) * AROUND_A_MOMENT;
  range.value = aroundSpan(from - least / 2, length + least, window);
}

/** The page scrolls until `place` can be seen, else what is marked, also where its lane is drawn or moves later. */
export function seek(place: Place | null = null): void {
  scrollUntilByHand({ where: "timeline", place });
}

/** The same for the explanation of the chosen gap. */
export function seekExplanation(): void {
  scrollUntilByHand({ where: "explanation" });
}

function scrollUntilByHand(next: Sought): void {
  withdrawOffer();
  sought.value = next;
  untilByHand(() => {
    if (sought.value === next) sought.value = null;
  }, LOADING_MS);
}

/** Where on screen the timeline on screen has what is marked, the best answer first; a panel puts itself here. */
export const marksOnScreen: { current: () => readonly Strip[] } = { current: () => [] };

/** After a choice in a table: the page stays where it is, and offers the way where the timeline is out of sight. */
export function offerTimeline(): void {
  sought.value = null;
  offered.value = {};
}

export function withdrawOffer(): void {
  offered.value = null;
}

/** What had the focus when the timeline was gone to. */
let cameFrom: HTMLElement | null = null;

export function goToTimeline(): void {
  const focused = document.activeElement;
  if (focused instanceof HTMLElement && focused.closest("[data-testid=way-up]") === null) cameFrom = focused;
  document.querySelector("[data-testid=timeline-panel]")?.scrollIntoView({ block: "start" });
  document.querySelector<HTMLElement>("[data-testid=timeline-canvas]")?.focus({ preventScroll: true });
  seek();
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
