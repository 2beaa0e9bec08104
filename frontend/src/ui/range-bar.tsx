import type { TimelineAction } from "../canvas/timeline-view";
import { exactUs, formatDuration, formatTick } from "../model/format";
import { lengthUs, niceStep, type TimeRange } from "../model/time-scale";

type Props = { readonly window: TimeRange; readonly shown: TimeRange; readonly act: (action: TimelineAction) => void };

/** Always says how much time is on screen, in words and as a part of the whole. */
export function RangeBar({ window, shown, act }: Props) {
  const whole = lengthUs(window);
  const isWhole = lengthUs(shown) >= whole * (1 - 1e-9);
  return (
    <div class="range-bar">
      <p data-testid="range-length" data-value-us={lengthUs(shown)} title={exactUs(lengthUs(shown))}>
        <strong class="tabular">{formatDuration(lengthUs(shown))}</strong>
        {isWhole
          ? " on screen: the whole window, timed from the trace's first event besides the profiler's span"
          : ` on screen, from ${formatTick(shown.startUs, niceStep(lengthUs(shown), 100))}; the window is ${formatDuration(whole)}`}
      </p>
      <div class="range-buttons">
        <button type="button" onClick={() => act("out")} disabled={isWhole}>
          Zoom out
        </button>
        <button type="button" onClick={() => act("in")}>
          Zoom in
        </button>
        <button type="button" onClick={() => act("whole")} disabled={isWhole}>
          Whole window
        </button>
      </div>
    </div>
  );
}
