import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Device } from "../../contract/report";
import { TimelineView, type TimelineAction } from "../../canvas/timeline-view";
import { exactUs, formatDuration, formatTick } from "../../model/format";
import { causeWords, type HoverInfo } from "../../model/hover";
import { lengthUs, niceStep, type TimeRange } from "../../model/time-scale";
import { CAUSES } from "../../model/summary";
import { range, selectedGapUs, theme, timeline } from "../../state/atoms";
import { TimelineLoader } from "../../state/timeline-loader";
import { paletteOf } from "../../theme/theme";
import { TOKENS } from "../../theme/tokens";
import { ErrorState, LoadingState, UnavailableState } from "../../ui/states";
import { Legend, Swatch } from "../../ui/swatch";
import { Tooltip } from "../../ui/tooltip";

type Props = { readonly id: string; readonly device: Device | undefined };
type Hover = { readonly info: HoverInfo; readonly x: number; readonly y: number };

export function TimelinePanel({ id, device }: Props) {
  const { whole, error } = timeline.value;
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const viewRef = useRef<TimelineView | null>(null);
  const hover = useSignal<Hover | null>(null);
  const plotPx = useSignal(1000);
  useLoader(id, plotPx.value);

  const ready = whole !== null;
  useEffect(() => {
    const canvas = canvasRef.current;
    if (canvas === null) return undefined;
    const view = new TimelineView(canvas, {
      onRange: (next) => (range.value = next),
      onHover: (info, x, y) => (hover.value = info === null ? null : { info, x, y }),
      onResize: (px) => (plotPx.value = px),
    });
    viewRef.current = view;
    return () => view.dispose();
  }, [ready]);

  const selected = selectedRange(device);
  const { detail } = timeline.value;
  const shown = range.value;
  const themeName = theme.value;
  useEffect(() => {
    if (whole === null) return;
    viewRef.current?.update({ whole, detail, range: shown, selected, palette: paletteOf(themeName) });
  }, [whole, detail, shown, selected?.startUs, selected?.endUs, themeName]);

  if (whole === null) {
    if (error !== null) return <ErrorState title="The timeline cannot be shown." message={error} />;
    return <LoadingState title="Drawing the timeline" />;
  }
  if (lengthUs(whole.window) <= 0) return <UnavailableState title="There is no timeline to draw." reason="The capture's window has no length." />;
  return (
    <section class="timeline" data-testid="timeline-panel">
      <h2>Timeline</h2>
      <RangeBar window={whole.window} shown={shown ?? whole.window} act={(action) => viewRef.current?.act(action)} />
      <canvas
        ref={canvasRef}
        tabIndex={0}
        role="application"
        aria-roledescription="timeline"
        data-testid="timeline-canvas"
        aria-label="Timeline of steps, data waits, stages and device activity. The table of gaps below has the same gaps as text. Keys: w and s zoom, a and d move, 0 shows the whole window."
      />
      {error !== null && <p class="error-line">{error}</p>}
      <TimelineLegend names={whole.names} />
      <p class="muted keys">Wheel or <kbd>w</kbd> <kbd>s</kbd> zooms, drag or <kbd>a</kbd> <kbd>d</kbd> moves, <kbd>0</kbd> shows the whole window.</p>
      {hover.value !== null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <p class="tooltip-title"><Swatch token={hover.value.info.token} />{hover.value.info.title}</p>
          {hover.value.info.lines.map((line) => <p key={line}>{line}</p>)}
        </Tooltip>
      )}
    </section>
  );
}

function useLoader(id: string, widthPx: number): void {
  const loaderRef = useRef<TimelineLoader | null>(null);
  useEffect(() => {
    const loader = new TimelineLoader();
    loaderRef.current = loader;
    return () => loader.stop();
  }, [id]);
  const wholeMissing = timeline.value.whole === null;
  const shown = range.value;
  useEffect(() => {
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    loaderRef.current?.want({ id, range: shown, widthPx: Math.round(widthPx * ratio) });
  }, [id, shown, widthPx, wholeMissing]);
}

function selectedRange(device: Device | undefined): TimeRange | null {
  const start = selectedGapUs.value;
  const gap = start === null ? undefined : device?.gaps.find((item) => item.start_us === start);
  return gap === undefined ? null : { startUs: gap.start_us, endUs: gap.start_us + gap.duration_us };
}

type RangeBarProps = { readonly window: TimeRange; readonly shown: TimeRange; readonly act: (action: TimelineAction) => void };

/** Always says how much time is on screen, in words and as a piece of the whole. */
function RangeBar({ window, shown, act }: RangeBarProps) {
  const whole = lengthUs(window);
  const isWhole = lengthUs(shown) >= whole * (1 - 1e-9);
  const left = (100 * (shown.startUs - window.startUs)) / whole;
  const width = (100 * lengthUs(shown)) / whole;
  return (
    <>
      <div class="range-bar">
        <p data-testid="range-length" data-value-us={lengthUs(shown)} title={exactUs(lengthUs(shown))}>
          <strong class="tabular">{formatDuration(lengthUs(shown))}</strong>
          {isWhole ? " on screen: the whole window" : ` on screen, from ${formatTick(shown.startUs, niceStep(lengthUs(shown), 100))}; the window is ${formatDuration(whole)}`}
        </p>
        <div class="range-buttons">
          <button type="button" onClick={() => act("out")} disabled={isWhole}>Zoom out</button>
          <button type="button" onClick={() => act("in")}>Zoom in</button>
          <button type="button" onClick={() => act("whole")} disabled={isWhole}>Whole window</button>
        </div>
      </div>
      <div class="range-track" aria-hidden="true"><span style={{ left: `${left}%`, width: `max(2px, ${width}%)` }} /></div>
    </>
  );
}

const LEGEND_WORDS: Readonly<Record<string, string>> = { kernel: "kernel", copy: "device copy", wait: "data wait", user: "user", h2d: "host-to-device" };

/** Only the colours that occur in this capture, in the order of the theme's table. */
function TimelineLegend({ names }: { names: readonly string[] }) {
  const used = new Set(names);
  const items = TOKENS.filter((token) => used.has(token) && token !== "step").map((token) => ({ token, label: legendWords(token) }));
  return <Legend items={items} />;
}

function legendWords(token: string): string {
  const cause = CAUSES.find((name) => token === `idle:${name}`);
  return cause === undefined ? (LEGEND_WORDS[token] ?? token) : `idle: ${causeWords(cause)}`;
}
