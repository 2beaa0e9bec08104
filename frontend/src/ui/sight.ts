// What of the page can be seen: below what stays at its top while it scrolls. Strips count from the top of the screen.

import type { Strip } from "../model/lane-layout";

/** Elements that stay at the top. */
const STICKY = ".top, .timeline-top";
/** Left free around what is scrolled to. */
const AROUND_PX = 8;

/** How much of the screen they cover. */
function coveredPx(): number {
  return Math.max(0, ...[...document.querySelectorAll<HTMLElement>(STICKY)].map(stuckBottomPx));
}

/** Where an element ends while it stays at the top; 0 where it does not. */
export function stuckBottomPx(element: HTMLElement): number {
  const { position, top } = getComputedStyle(element);
  return position === "sticky" ? (Number.parseFloat(top) || 0) + element.offsetHeight : 0;
}

/** Scrolls the page no further than it takes to see the first of these that there is room for, else the last one's top. */
export function scrollToSee(candidates: readonly Strip[]): void {
  const fromPx = coveredPx() + AROUND_PX;
  const roomPx = window.innerHeight - AROUND_PX - fromPx;
  const chosen = candidates.find(({ heightPx }) => heightPx <= roomPx) ?? candidates.at(-1);
  if (chosen === undefined) return;
  const { topPx, heightPx } = chosen;
  const belowPx = topPx + Math.min(heightPx, roomPx) - (fromPx + roomPx);
  if (topPx < fromPx) window.scrollBy(0, topPx - fromPx);
  else if (belowPx > 0) window.scrollBy(0, belowPx);
}

export type Side = "above" | "below";

/** On which side of what can be seen it lies, in part or as a whole; null where all of it is seen. */
export function sideOf({ topPx, heightPx }: Strip): Side | null {
  if (topPx < coveredPx() - 1) return "above";
  return topPx + heightPx > window.innerHeight + 1 ? "below" : null;
}
