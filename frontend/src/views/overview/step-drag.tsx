// Choosing steps by dragging over the bars of the step chart.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type StepRange, stepWords } from "../../model/step-range";
import type { StepBar } from "../../model/steps";
import { barAt, type Geometry, LEFT_PX } from "./step-geometry";

const DRAG_PX = 4;
/** Room for "Data wait, ms", which begins left of the bars. */
const AXIS_NAME_PX = 88;

type Drag = { readonly fromPx: number; readonly toPx: number; readonly moved: boolean };

export type DragHandlers = {
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerUp: () => void;
  readonly onPointerCancel: () => void;
};

/** What the chart's svg listens to, and the bars that are being chosen; Escape gives it up. Without `choose` nothing happens. */
export function useStepDrag(
  geometry: Geometry,
  choose: ((steps: StepRange) => void) | undefined,
): readonly [
  handlers: DragHandlers | Record<string, never>,
  dragged: StepRange | null,
  bars: readonly [number, number],
] {
  const drag = useSignal<Drag | null>(null);
  const stop = (): void => {
    drag.value = null;
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") stop();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const bars = barsUnder(geometry, drag.value);
  const steps = drag.value?.moved === true ? stepsUnder(geometry, bars) : null;
  if (choose === undefined) return [{}, null, bars];
  const handlers: DragHandlers = {
    onPointerDown: (event) => {
      if (event.button !== 0) return;
      const xPx = chartX(event);
      drag.value = { fromPx: xPx, toPx: xPx, moved: false };
    },
    onPointerMove: (event) => {
      const { value } = drag;
      if (value === null) return;
      const toPx = chartX(event);
      const moved = value.moved || Math.abs(toPx - value.fromPx) > DRAG_PX;
      // From here on the pointer may leave the chart.
      if (moved && !value.moved) (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
      drag.value = { ...value, toPx, moved };
    },
    onPointerUp: () => {
      stop();
      if (steps !== null) choose(steps);
    },
    onPointerCancel: stop,
  };
  return [handlers, steps, bars];
}

function chartX(event: PointerEvent): number {
  return event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
}

function barsUnder(geometry: Geometry, drag: Drag | null): readonly [number, number] {
  if (drag === null) return [0, 0];
  const [from, to] = [barAt(geometry, drag.fromPx), barAt(geometry, drag.toPx)];
  return from <= to ? [from, to] : [to, from];
}

function stepsUnder({ bars }: Geometry, [from, to]: readonly [number, number]): StepRange | null {
  const chosen = bars.slice(from, to + 1);
  if (chosen.length === 0) return null;
  return { first: Math.min(...chosen.map((bar) => bar.first)), last: Math.max(...chosen.map((bar) => bar.last)) };
}

/** First and last of the bars that stand for any of `steps`. */
export function barsOf({ bars }: Geometry, steps: StepRange): readonly [number, number] {
  const isIn = (bar: StepBar): boolean => bar.last >= steps.first && bar.first <= steps.last;
  return [bars.findIndex(isIn), bars.findLastIndex(isIn)];
}

type BandProps = {
  readonly geometry: Geometry;
  readonly bars: readonly [number, number];
  readonly steps: StepRange;
};

/** Behind the bars that are chosen, or about to be, whose colours stay those of the legend. */
export function StepBand({ geometry, bars }: Omit<BandProps, "steps">) {
  const { x, width } = bandOf(geometry, bars);
  return <rect class="step-band" x={x} y={0} width={width} height={geometry.heightPx} />;
}

/** The numbers of those steps, in front of the bars. */
export function BandWords({ geometry, bars, steps }: BandProps) {
  const { x, width } = bandOf(geometry, bars);
  const atEnd = x + width / 2 > (LEFT_PX + geometry.endPx) / 2;
  return (
    <text
      class="band-words"
      data-testid="step-band"
      x={atEnd ? x + width - 4 : Math.max(x + 4, AXIS_NAME_PX)}
      y={12}
      text-anchor={atEnd ? "end" : "start"}>
      {stepWords(steps)}
    </text>
  );
}

function bandOf({ slotPx }: Geometry, [from, to]: readonly [number, number]): { x: number; width: number } {
  return { x: LEFT_PX + from * slotPx, width: (to - from + 1) * slotPx };
}
