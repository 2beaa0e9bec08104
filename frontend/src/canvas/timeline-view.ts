// The timeline: what is on screen, and how wheel, hands (`hands.ts`) and keys change it.

import type { Link } from "../model/batches";
import type { Place } from "../model/chain";
import { addressAt, type BoxAddress, type BoxInfo, boxAt, buildHover, type HoverInfo } from "../model/hover";
import { gutterPx, type Layout, placeLanes, rowAt, type Strip, stripsOf } from "../model/lane-layout";
import type { TimelineModel } from "../model/lanes";
import { namesWith } from "../model/spans";
import {
  clampRange,
  covers,
  lengthUs,
  panBy,
  pxToUs,
  type TimeRange,
  type TimeScale,
  zoomAround,
} from "../model/time-scale";
import type { Palette } from "../theme/tokens";
import { CanvasView } from "./canvas-view";
import type { Frame } from "./frame";
import { type Ground, Hands, type PxExtent } from "./hands";
import { Ruler } from "./ruler";
import { paintTimeline } from "./timeline-painter";

export type TimelineInput = {
  /** The whole window: drawn wherever `detail` does not reach. */
  readonly whole: TimelineModel;
  readonly detail: TimelineModel | null;
  /** null = the whole window. */
  readonly range: TimeRange | null;
  /** A stretch of time to tint. */
  readonly selected: TimeRange | null;
  /** A span to frame, in one lane. */
  readonly marked: Place | null;
  /** Theme token of the only gaps that are drawn in full; null = all. */
  readonly only: string | null;
  /** Words of which the names of spans drawn in full have each; none = all. */
  readonly searched: readonly string[];
  readonly link: Link | null;
  /** Ids of the lanes that show their first row only. */
  readonly folded: ReadonlySet<string>;
  readonly palette: Palette;
};

export type TimelineEvents = {
  readonly onRange: (range: TimeRange | null) => void;
  readonly onHover: (info: HoverInfo | null, clientX: number, clientY: number) => void;
  readonly onResize: (plotPx: number) => void;
  /** A click, not a drag, on a box; null where there is none. */
  readonly onPick: (box: BoxInfo | null) => void;
  /** A click on the title of a lane that can be folded. */
  readonly onTitle: (laneId: string) => void;
  /** The wheel was turned without Ctrl or Cmd: the page scrolls. */
  readonly onPlainWheel: () => void;
};

const WHEEL_ZOOM_PER_PX = 0.002;
/** A trackpad's pinch comes in many small steps. */
const PINCH_ZOOM_PER_PX = 0.01;
const PINCH_STEP = 30;
const KEY_ZOOM = 0.7;
const KEY_PAN = 0.15;
export class TimelineView extends CanvasView {
  private input: TimelineInput | null = null;
  private layout: Layout = { lanes: [], heightPx: 0 };
  private hover: BoxAddress | null = null;
  private selecting: TimeRange | null = null;
  private readonly hands = new Hands({
    pan: (byPx) => this.change((range, bounds) => panBy(range, (-byPx * lengthUs(range)) / this.plotPx, bounds)),
    pinch: (factor, aroundPx) => this.zoom(factor, aroundPx),
    select: (extent) => this.select(extent),
    selected: (extent) => this.change((_, __, scale) => rangeOf(scale, extent)),
  });

  private readonly ruler: Ruler;

  /** `rulerCanvas` is as wide as `canvas` and stands above it, maybe far above: hands work on both. */
  constructor(
    canvas: HTMLCanvasElement,
    private readonly rulerCanvas: HTMLCanvasElement,
    private readonly events: TimelineEvents,
  ) {
    super(canvas);
    this.ruler = new Ruler(rulerCanvas, (widthPx, heightPx) => this.frame(widthPx, heightPx));
    for (const target of [canvas, rulerCanvas])
      for (const [name, listener] of this.listeners) target.addEventListener(name, listener, { passive: false });
  }

  override dispose(): void {
    super.dispose();
    this.ruler.dispose();
    for (const target of [this.canvas, this.rulerCanvas])
      for (const [name, listener] of this.listeners) target.removeEventListener(name, listener);
  }

  override invalidate(): void {
    super.invalidate();
    this.ruler.invalidate();
  }

  /** On paper neither the lanes nor the charts below them get wider than a sheet has room for their height. */
  protected override onSized(ratio: number): void {
    this.canvas.closest<HTMLElement>(".timeline")?.style.setProperty("--wide", ratio.toFixed(4));
  }

  update(input: TimelineInput): void {
    // First drawn, or in other colours: the browser may be about to print, and then no frame comes.
    const isAtOnce = this.input?.palette !== input.palette;
    this.input = input;
    this.layout = placeLanes(input.whole, input.detail === null ? [] : [input.detail], input.folded);
    this.canvas.style.height = `${this.layout.heightPx}px`;
    const { startUs, endUs } = this.shown(input);
    this.canvas.dataset.startUs = String(startUs);
    this.canvas.dataset.endUs = String(endUs);
    const strip = this.stripsToSee(null).at(-1);
    this.canvas.dataset.markPx = strip === undefined ? "" : `${strip.topPx} ${strip.heightPx}`;
    if (isAtOnce) {
      this.paintNow();
      this.ruler.paintNow();
    } else this.invalidate();
  }

  /** Where on screen to look, the best first: for `place`, else for what is pointed at, else its beginning. */
  stripsOnScreen(place: Place | null): Strip[] {
    const { top } = this.canvas.getBoundingClientRect();
    return this.stripsToSee(place).map(({ topPx, heightPx }) => ({ topPx: top + topPx, heightPx }));
  }

  private stripsToSee(place: Place | null): readonly Strip[] {
    const { input, layout } = this;
    if (input === null) return [];
    const { marked, link, selected } = input;
    const model = this.modelFor(input);
    const framed = place ?? marked;
    if (framed !== null) {
      const strips = stripsOf(layout, model, framed);
      return strips === null ? [] : [strips.lane, strips.row];
    }
    if (link !== null) {
      const ends = [link.from, link.to].flatMap((mark) => stripsOf(layout, model, { ...mark, name: "" })?.row ?? []);
      return ends.length === 0 ? [] : [joined(ends), ...ends.slice(0, 1)];
    }
    const gaps = selected === null ? [] : layout.lanes.filter(({ lane }) => lane.kind === "gaps");
    return [...gaps, ...layout.lanes].slice(0, 1);
  }

  /** Width of the part that carries time. */
  get plotPx(): number {
    return Math.max(1, this.widthPx - this.gutterPx);
  }

  protected override onResize(): void {
    super.onResize();
    this.events.onResize(this.plotPx);
  }

  protected override draw(context: CanvasRenderingContext2D, widthPx: number, heightPx: number): void {
    const frame = this.frame(widthPx, heightPx);
    if (frame !== null) paintTimeline(context, frame);
  }

  private get gutterPx(): number {
    return gutterPx(this.widthPx);
  }

  private shown(input: TimelineInput): TimeRange {
    return input.range ?? input.whole.window;
  }

  private scale(input: TimelineInput): TimeScale {
    return { range: this.shown(input), leftPx: this.gutterPx, rightPx: Math.max(this.gutterPx + 1, this.widthPx) };
  }

  /** The finer slice only where it covers everything on screen: half a lane would lie about the other half. */
  private modelFor(input: TimelineInput): TimelineModel {
    const { detail, whole } = input;
    const isZoomed = input.range !== null && lengthUs(input.range) < lengthUs(whole.window) * 0.999;
    return detail !== null && isZoomed && covers(detail.slice, this.shown(input)) ? detail : whole;
  }

  private frame(widthPx: number, heightPx: number): Frame | null {
    const { input, layout, hover, selecting } = this;
    if (input === null) return null;
    const { palette, selected, marked, only, searched, link } = input;
    const model = this.modelFor(input);
    return {
      model,
      found: namesWith(model, searched),
      layout,
      scale: this.scale(input),
      palette,
      widthPx,
      heightPx,
      selected,
      marked,
      only,
      link,
      hover,
      selecting,
    };
  }

  private change(next: (range: TimeRange, bounds: TimeRange, scale: TimeScale) => TimeRange): void {
    const { input } = this;
    if (input === null) return;
    const bounds = input.whole.window;
    const range = clampRange(next(this.shown(input), bounds, this.scale(input)), bounds);
    this.setHover(null, 0, 0);
    this.events.onRange(lengthUs(range) >= lengthUs(bounds) * (1 - 1e-9) ? null : range);
  }

  private zoom(factor: number, aroundPx: number): void {
    this.change((range, bounds, scale) => zoomAround(range, factor, pxToUs(scale, aroundPx), bounds));
  }

  private select(extent: PxExtent | null): void {
    const { input } = this;
    this.selecting = extent === null || input === null ? null : rangeOf(this.scale(input), extent);
    this.canvas.dataset.selectingUs = this.selecting === null ? "" : String(lengthUs(this.selecting));
    this.invalidate();
  }

  /** A pinch on a trackpad arrives as a wheel with Ctrl. Without Ctrl or Cmd the page scrolls, and sideways the timeline. */
  private readonly onWheel = (event: WheelEvent): void => {
    if (event.offsetX < this.gutterPx) return;
    const perLine = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const sideways = event.shiftKey ? event.deltaX + event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const turned = Math.max(-200, Math.min(200, event.deltaY * perLine));
      this.zoom(
        Math.exp(turned * (Math.abs(turned) < PINCH_STEP ? PINCH_ZOOM_PER_PX : WHEEL_ZOOM_PER_PX)),
        event.offsetX,
      );
    } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      this.change((range, bounds) => panBy(range, (sideways * perLine * lengthUs(range)) / this.plotPx, bounds));
    } else {
      this.events.onPlainWheel();
    }
  };

  private groundAt({ offsetX, button, currentTarget }: PointerEvent): Ground {
    if (button !== 0 || offsetX < this.gutterPx) return "other";
    return currentTarget === this.rulerCanvas ? "ruler" : "plot";
  }

  private readonly onPointerDown = (event: PointerEvent): void => {
    const ground = this.groundAt(event);
    this.hands.down(event.pointerId, event.offsetX, ground);
    if (ground === "other") return;
    (ground === "ruler" ? this.rulerCanvas : this.canvas).setPointerCapture(event.pointerId);
    this.canvas.classList.toggle("dragging", ground === "plot");
  };

  private readonly onPointerMove = (event: PointerEvent): void => {
    if (this.hands.busy) {
      this.hands.move(event.pointerId, event.offsetX);
      return;
    }
    this.canvas.classList.toggle("on-title", this.foldableAt(event) !== null);
    this.setHover(this.hitOf(event), event.clientX, event.clientY);
  };

  private hitOf({ offsetX, offsetY, currentTarget }: MouseEvent): BoxAddress | null {
    const { input } = this;
    const isLane = offsetX >= this.gutterPx && currentTarget === this.canvas;
    const at = input === null || !isLane ? null : rowAt(this.layout, offsetY);
    if (input === null || at === null) return null;
    return addressAt(this.modelFor(input), this.scale(input), at.placed.lane.id, at.row, offsetX);
  }

  private foldableAt({ offsetX, offsetY, currentTarget }: MouseEvent): string | null {
    if (offsetX >= this.gutterPx || currentTarget !== this.canvas) return null;
    const placed = rowAt(this.layout, offsetY)?.placed;
    return placed === undefined || placed.folded === null ? null : placed.lane.id;
  }

  private readonly onClick = (event: MouseEvent): void => {
    const { input } = this;
    if (input === null || this.hands.dragged) return;
    const laneId = this.foldableAt(event);
    if (laneId !== null) this.events.onTitle(laneId);
    if (event.offsetX < this.gutterPx || event.currentTarget !== this.canvas) return;
    const found = this.hitOf(event);
    this.events.onPick(found === null ? null : boxAt(this.modelFor(input), found));
  };

  private readonly onPointerUp = (event: PointerEvent): void => {
    if (event.type === "pointerup") this.hands.up(event.pointerId);
    else this.hands.cancel(event.pointerId);
    this.canvas.classList.remove("dragging");
    for (const canvas of [this.canvas, this.rulerCanvas])
      if (canvas.hasPointerCapture(event.pointerId)) canvas.releasePointerCapture(event.pointerId);
  };

  private readonly onPointerLeave = (): void => {
    if (!this.hands.busy) this.setHover(null, 0, 0);
  };

  private setHover(next: BoxAddress | null, clientX: number, clientY: number): void {
    const { hover, input } = this;
    if (next === null && hover === null) return;
    this.hover = next;
    if (next?.laneId !== hover?.laneId || next?.row !== hover?.row || next?.index !== hover?.index) this.invalidate();
    const info = next === null || input === null ? null : buildHover(this.modelFor(input), next);
    this.events.onHover(info, clientX, clientY);
  }

  private readonly onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.hands.cancelSelection()) event.stopPropagation();
    const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    this.act(action);
  };

  private get listeners(): ReadonlyArray<readonly [name: string, listener: EventListener]> {
    const all: ReadonlyArray<readonly [string, (event: never) => void]> = [
      ["wheel", this.onWheel],
      ["pointerdown", this.onPointerDown],
      ["pointermove", this.onPointerMove],
      ["pointerup", this.onPointerUp],
      ["pointercancel", this.onPointerUp],
      ["pointerleave", this.onPointerLeave],
      ["click", this.onClick],
      ["keydown", this.onKey],
    ];
    return all as ReadonlyArray<readonly [string, EventListener]>;
  }

  /** Also what the buttons beside the timeline do. */
  act(action: TimelineAction): void {
    if (action === "whole") {
      this.change((_, bounds) => bounds);
    } else if (action === "end") {
      this.change((range, bounds) => panBy(range, bounds.endUs - range.endUs, bounds));
    } else if (action === "left" || action === "right") {
      const sign = action === "left" ? -1 : 1;
      this.change((range, bounds) => panBy(range, sign * KEY_PAN * lengthUs(range), bounds));
    } else {
      const factor = action === "in" ? KEY_ZOOM : 1 / KEY_ZOOM;
      this.change((range, bounds) => zoomAround(range, factor, (range.startUs + range.endUs) / 2, bounds));
    }
  }
}

/** From the top of the uppermost to the bottom of the lowest. */
function joined(strips: readonly Strip[]): Strip {
  const topPx = Math.min(...strips.map((strip) => strip.topPx));
  return { topPx, heightPx: Math.max(...strips.map((strip) => strip.topPx + strip.heightPx)) - topPx };
}

function rangeOf(scale: TimeScale, { fromPx, toPx }: PxExtent): TimeRange {
  return {
    startUs: pxToUs(scale, Math.max(scale.leftPx, fromPx)),
    endUs: pxToUs(scale, Math.min(scale.rightPx, toPx)),
  };
}

export type TimelineAction = "in" | "out" | "left" | "right" | "whole" | "end";

const KEYS: Readonly<Record<string, TimelineAction>> = {
  w: "in",
  "+": "in",
  "=": "in",
  ArrowUp: "in",
  s: "out",
  "-": "out",
  ArrowDown: "out",
  a: "left",
  ArrowLeft: "left",
  d: "right",
  ArrowRight: "right",
  "0": "whole",
  Home: "whole",
  End: "end",
};
