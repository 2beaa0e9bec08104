import { useLayoutEffect, useRef } from "preact/hooks";
import { canDrawAgain } from "../canvas/sharp";
import type { LaneRows, TimelineModel } from "../model/lanes";
import { lengthUs, type TimeRange } from "../model/time-scale";
import { colorOf, type Palette } from "../theme/tokens";
import { useWidth } from "./use-width";

const LANE_PX = 6;

type Props = {
  readonly whole: TimelineModel;
  readonly shown: TimeRange;
  readonly palette: Palette;
  readonly onRange: (range: TimeRange) => void;
};

/** The whole window in small: data waits, devices and their gaps. A press or a drag moves what the timeline shows. */
export function Minimap({ whole, shown, palette, onRange }: Props) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const lanes = whole.lanes.filter(isMapped);
  const heightPx = Math.max(1, lanes.length) * LANE_PX;
  // Before the next paint: a page that is printed is not painted again.
  useLayoutEffect(() => {
    const canvas = canvasRef.current;
    if (canvas === null) return;
    canDrawAgain(canvas, (context, width) => paint(context, { whole, lanes, palette, widthPx: width }));
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    [canvas.width, canvas.height] = [Math.round(widthPx * ratio), Math.round(heightPx * ratio)];
    const context = canvas.getContext("2d");
    context?.scale(ratio, ratio);
    if (context !== null) paint(context, { whole, lanes, palette, widthPx });
  }, [whole, palette, widthPx, heightPx]);
  const length = lengthUs(whole.window);
  const move = (event: PointerEvent & { readonly currentTarget: HTMLElement }): void => {
    if (event.buttons !== 1) return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const middleUs = whole.window.startUs + (length * (event.clientX - left)) / Math.max(1, width);
    const half = lengthUs(shown) / 2;
    onRange({ startUs: middleUs - half, endUs: middleUs + half });
  };
  if (lanes.length === 0) return null;
  return (
    <div
      ref={ref}
      class="minimap"
      data-testid="minimap"
      aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        move(event);
      }}
      onPointerMove={move}>
      <canvas ref={canvasRef} style={{ width: "100%", height: `${heightPx}px` }} />
      <span
        style={{
          left: `${(100 * (shown.startUs - whole.window.startUs)) / length}%`,
          width: `max(3px, ${(100 * lengthUs(shown)) / length}%)`,
        }}
      />
    </div>
  );
}

function isMapped({ kind, isTrainingThread }: LaneRows): boolean {
  return isTrainingThread || kind === "device" || kind === "gaps";
}

type Picture = {
  readonly whole: TimelineModel;
  readonly lanes: readonly LaneRows[];
  readonly palette: Palette;
  readonly widthPx: number;
};

function paint(context: CanvasRenderingContext2D, { whole, lanes, palette, widthPx }: Picture): void {
  const pxPerUs = widthPx / lengthUs(whole.window);
  for (const [number, { rows }] of lanes.entries()) {
    const row = rows[0];
    for (let i = 0; row !== undefined && i < row.startUs.length; i += 1) {
      context.fillStyle = colorOf(palette, whole.names[row.color[i] ?? -1] ?? "");
      context.globalAlpha = Math.max(0.25, (row.covered[i] ?? 100) / 100);
      const x = ((row.startUs[i] ?? 0) - whole.window.startUs) * pxPerUs;
      const width = Math.max(1, (row.durationUs[i] ?? 0) * pxPerUs);
      context.fillRect(x, number * LANE_PX, width, LANE_PX - 1);
    }
  }
}
