import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Box, callersOf, type Flame, type Frame, layFlame, type Turn, turnTo } from "../model/flame";
import { plural } from "../model/format";
import { Tooltip } from "./tooltip";
import { useWidth } from "./use-width";

const ROW_PX = 20;
/** Narrower frames are joined. */
const LEAST_PX = 2;
/** A name of which a letter or two would be seen is none. */
const LABEL_PX = 40;

const TURNS: Readonly<Record<string, Turn>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  Home: "first",
  End: "last",
};

export type Paint = { readonly style: Record<string, string>; readonly tone: string };

type Props = {
  readonly flame: Flame;
  readonly zoomed: number;
  /** Frames to point out; null where nobody looks for any. */
  readonly found: ReadonlySet<number> | null;
  readonly label: string;
  readonly paint: (frame: Frame) => Paint;
  readonly textOf: (frame: Frame) => string;
  /** The same as the tooltip shows, as one line; of the frame that has the focus. */
  readonly speak: (frame: Frame) => string;
  readonly describe: (frame: Frame) => ComponentChildren;
  readonly onZoom: (index: number) => void;
};

type Hover = { readonly index: number; readonly x: number; readonly y: number };

/** A flame graph that hangs down. One stop of the Tab key; arrow keys walk, Enter zooms, Escape and Backspace go back. */
export function Icicle({ flame, zoomed, found, label, ...rest }: Props) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const boxes = useMemo(() => layFlame(flame, zoomed, LEAST_PX / widthPx), [flame, zoomed, widthPx]);
  const rows = boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
  const [current, walk] = useWalk(ref, zoomed, flame, boxes);
  const [hover, setHover] = useState<Hover | null>(null);
  useEffect(() => setHover(null), [flame, zoomed]);
  const frameAt = (event: Event): number | null => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-frame]") : null;
    return element === null ? null : Number(element.dataset.frame);
  };
  const onPointer = (event: PointerEvent): void => {
    const index = event.pointerType === "mouse" ? frameAt(event) : null;
    setHover(index === null ? null : { index, x: event.clientX, y: event.clientY });
  };
  const onFocus = (event: FocusEvent): void => {
    const element = event.target as HTMLElement;
    const { left, bottom } = element.getBoundingClientRect();
    if (element.matches(":focus-visible")) setHover({ index: Number(element.dataset.frame), x: left, y: bottom - 10 });
  };
  const onKey = (event: KeyboardEvent): void => {
    const turn = TURNS[event.key];
    const target = turn === undefined ? zoomBy(event.key, flame, zoomed, current) : turnTo(boxes, current, turn);
    if (target === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (turn === undefined) rest.onZoom(target);
    walk(target);
  };
  const { paint, textOf, speak } = rest;
  // Kept while the pointer moves: there may be thousands.
  const drawn = useMemo(
    () =>
      boxes.map((box) => (
        <FrameBox
          key={box.frame?.index ?? `${box.row} ${box.left}`}
          {...{ box, widthPx, current, zoomed, found, paint, textOf, speak }}
        />
      )),
    [boxes, widthPx, current, zoomed, found, paint, textOf, speak],
  );
  const hovered = hover === null ? undefined : flame[hover.index];
  return (
    <div
      ref={ref}
      class="icicle"
      role="tree"
      aria-label={label}
      data-testid="icicle"
      data-zoomed={zoomed}
      style={{ height: `${rows * ROW_PX}px` }}
      onPointerMove={onPointer}
      onPointerLeave={() => setHover(null)}
      onFocusCapture={onFocus}
      onBlurCapture={() => setHover(null)}
      onKeyDown={onKey}
      onClick={(event) => {
        const index = frameAt(event);
        if (index !== null) rest.onZoom(index);
      }}>
      {drawn}
      {hover !== null && hovered !== undefined && (
        <Tooltip x={hover.x} y={hover.y}>
          {rest.describe(hovered)}
        </Tooltip>
      )}
    </div>
  );
}

/** What can be done in an Icicle, to stand below it. */
export function IcicleKeys() {
  return (
    <p class="muted keys">
      Click or <kbd>Enter</kbd> zooms in, arrow keys move, <kbd>Backspace</kbd> goes to the caller, <kbd>Esc</kbd> to
      the whole graph.
    </p>
  );
}

/** Where a key other than an arrow zooms to; null where it is for somebody else. */
function zoomBy(key: string, flame: Flame, zoomed: number, current: number): number | null {
  if (key === "Enter" || key === " ") return current;
  if (zoomed === 0) return null;
  if (key === "Escape") return 0;
  return key === "Backspace" ? widerCaller(flame, zoomed) : null;
}

/** The innermost caller that is any wider: a chain of functions that only call each other is one step. */
function widerCaller(flame: Flame, index: number): number {
  const value = flame[index]?.value ?? 0;
  return callersOf(flame, index).findLast((frame) => frame.value > value)?.index ?? 0;
}

/** The frame that Tab leads to, and a way to another one that takes the focus along. */
function useWalk(
  root: RefObject<HTMLElement>,
  zoomed: number,
  flame: Flame,
  boxes: readonly Box[],
): [number, (index: number) => void] {
  const [current, setCurrent] = useState(zoomed);
  const moved = useRef(false);
  useEffect(() => setCurrent(zoomed), [zoomed, flame]);
  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    root.current?.querySelector<HTMLElement>(`[data-frame="${current}"]`)?.focus();
  });
  const walk = (index: number): void => {
    moved.current = true;
    setCurrent(index);
  };
  return [boxes.some(({ frame }) => frame?.index === current) ? current : zoomed, walk];
}

type BoxProps = Pick<Props, "found" | "zoomed" | "paint" | "textOf" | "speak"> & {
  readonly box: Box;
  readonly widthPx: number;
  readonly current: number;
};

function FrameBox({ box, widthPx, current, zoomed, found, paint, textOf, speak }: BoxProps) {
  const { frame, row, left, width } = box;
  const place = { left: `${100 * left}%`, width: `${100 * width}%`, top: `${row * ROW_PX}px` };
  if (frame === null)
    return (
      <div
        class="frame rest"
        style={place}
        aria-hidden="true"
        title={`${plural(box.count, "frame")}, too narrow to draw: zoom in`}
      />
    );
  const { style, tone } = paint(frame);
  const isNamed = width * widthPx >= LABEL_PX;
  const isFound = found === null ? undefined : found.has(frame.index);
  return (
    <div
      class={isNamed ? "frame named" : "frame"}
      role="treeitem"
      aria-level={row + 1}
      aria-label={frame.index === current ? speak(frame) : textOf(frame)}
      aria-current={frame.index === zoomed ? "true" : undefined}
      tabIndex={frame.index === current ? 0 : -1}
      data-frame={frame.index}
      data-testid="frame"
      data-name={frame.name}
      data-value={frame.value}
      data-tone={tone}
      data-found={isFound}
      style={{ ...place, ...style }}>
      {isNamed && textOf(frame)}
    </div>
  );
}
