// Keeps the timeline's slices in step with what is on screen: the whole window once, a finer slice after each zoom.

import { effect } from "@preact/signals";
import type { Answer } from "../data/api";
import { browserTimers, type Timers } from "../data/poll";
import { source } from "../data/source";
import type { TimelineSlice } from "../data/timeline";
import { buildTimeline, type TimelineModel } from "../model/lanes";
import { clampRange, covers, lengthUs, type TimeRange } from "../model/time-scale";
import { captureId, chosenSteps, reportKey, timeline } from "./atoms";

const DEBOUNCE_MS = 120;
const RETRY_MS = 1000;

/** What is on screen: `range` null is the whole window. */
export type Wanted = {
  readonly id: string;
  readonly steps: string | null;
  readonly range: TimeRange | null;
  readonly widthPx: number;
};

function subjectOf({ id, steps }: Wanted): string {
  return reportKey(id, steps);
}

/** Whether it is still what the page shows. */
function isShown({ id, steps }: Wanted): boolean {
  return captureId.value === id && chosenSteps.value === steps;
}

/** A slice as wide again on both sides, so that a short pan needs no new one. */
export function paddedSlice(range: TimeRange, window: TimeRange): TimeRange {
  const half = lengthUs(range) / 2;
  return clampRange({ startUs: range.startUs - half, endUs: range.endUs + half }, window);
}

/** Whether a slice, fetched at `slicePx` pixels, is fine enough to draw `range` on `widthPx` pixels. */
export function suffices(slice: TimeRange, slicePx: number, range: TimeRange, widthPx: number): boolean {
  return covers(slice, range) && lengthUs(slice) / slicePx <= (lengthUs(range) / widthPx) * 1.05;
}

const AHEAD_PX = 1000;

/** Of the selected capture, for a page that carries its data: so that it is there when the page is printed. */
export function loadAhead(): () => void {
  return effect(() => {
    const id = captureId.value;
    const isMissing = timeline.value.whole === null && timeline.value.error === null;
    if (id !== null && isMissing) new TimelineLoader().want({ id, steps: null, range: null, widthPx: AHEAD_PX });
  });
}

export class TimelineLoader {
  private cancelTimer: () => void = () => undefined;
  private abort = new AbortController();
  private detailPx = 1;
  private wholeFor: string | null = null;

  constructor(private readonly timers: Timers = browserTimers) {}

  want(wanted: Wanted): void {
    const { whole } = timeline.value;
    if (whole === null) {
      if (this.wholeFor !== subjectOf(wanted)) void this.loadWhole(wanted);
      return;
    }
    this.cancelTimer();
    if (wanted.range === null || lengthUs(wanted.range) >= lengthUs(whole.window) * 0.999) return;
    const { detail } = timeline.value;
    if (detail !== null && suffices(detail.slice, this.detailPx, wanted.range, wanted.widthPx)) return;
    this.cancelTimer = this.timers.after(DEBOUNCE_MS, () => void this.loadDetail(wanted, whole.window));
  }

  stop(): void {
    this.cancelTimer();
    this.abort.abort();
    this.wholeFor = null;
  }

  private async loadWhole(wanted: Wanted): Promise<void> {
    this.wholeFor = subjectOf(wanted);
    const answer = await this.ask(() =>
      source().timeline({ id: wanted.id, steps: wanted.steps, width: wanted.widthPx }, this.freshSignal()),
    );
    if (answer === null || !isShown(wanted)) return;
    this.wholeFor = null;
    if (answer.kind === "pending") {
      this.cancelTimer = this.timers.after(RETRY_MS, () => void this.loadWhole(wanted));
    } else if (answer.kind === "failed") {
      timeline.value = { ...timeline.value, error: answer.message };
    } else {
      timeline.value = { whole: buildTimeline(answer.value), detail: null, error: null };
      this.want(wanted);
    }
  }

  private async loadDetail(wanted: Wanted, window: TimeRange): Promise<void> {
    if (wanted.range === null) return;
    const slice = paddedSlice(wanted.range, window);
    const width = Math.min(8000, (wanted.widthPx * lengthUs(slice)) / lengthUs(wanted.range));
    const query = { id: wanted.id, steps: wanted.steps, width, startUs: slice.startUs, endUs: slice.endUs };
    const answer = await this.ask(() => source().timeline(query, this.freshSignal()));
    if (answer === null || answer.kind === "pending" || !isShown(wanted)) return;
    if (answer.kind === "failed") {
      timeline.value = { ...timeline.value, error: answer.message };
      return;
    }
    this.detailPx = width;
    const detail: TimelineModel = buildTimeline(answer.value);
    timeline.value = { ...timeline.value, detail, error: null };
  }

  private freshSignal(): AbortSignal {
    this.abort.abort();
    this.abort = new AbortController();
    return this.abort.signal;
  }

  /** null: a newer request has taken this one's place. */
  private async ask(request: () => Promise<Answer<TimelineSlice>>): Promise<Answer<TimelineSlice> | null> {
    try {
      return await request();
    } catch {
      return null;
    }
  }
}
