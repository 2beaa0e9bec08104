// Keys of the timeline that work wherever nobody types: the canvas itself knows more of them.

import type { TimelineAction } from "../canvas/timeline-view";
import { isElsewhere } from "./elsewhere";

const ACTIONS: Readonly<Record<string, TimelineAction>> = { w: "in", s: "out", a: "left", d: "right", "0": "whole" };

/** Returns how to stop. */
export function watchTimelineKeys(act: (action: TimelineAction) => void): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const action = ACTIONS[event.key.toLowerCase()];
    // The canvas, where it has the focus, was first.
    if (action === undefined || isElsewhere(event) || event.defaultPrevented) return;
    event.preventDefault();
    act(action);
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
