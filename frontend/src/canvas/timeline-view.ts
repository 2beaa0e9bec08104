// The timeline: what is on screen, and how wheel, drag and keys change it.

import type { Link } from "../model/batches";
import type { Place } from "../model/chain";
import { addressAt, type BoxAddress, type BoxInfo, boxAt, buildHover, type HoverInfo } from "../model/hover";
import { gutterPx, type Layout, placeLanes, rowAt } from "../model/lane-layout";
import type { TimelineModel } from "../model/lanes";
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
};

const WHEEL_ZOOM_PER_PX = 0.002;
const KEY_ZOOM = 0.7;
const KEY_PAN = 0.15;
/** A hand that clicks moves a little. */
const CLICK_SLACK_PX = 3;
/** Left free around a lane that is scrolled to. */
const REVEAL_PX = 32;

export class TimelineView extends CanvasView {
  private input: TimelineInput | null = null;
  private layout: Layout = { lanes: [], heightPx: 0 };
  private hover: BoxAddress | null = null;
  private dragFromPx: number | null = null;
  private draggedPx = 0;

  constructor(
    canvas: HTMLCanvasElement,
    private readonly events: TimelineEvents,
  ) {
    super(canvas);
    canvas.addEventListener("wheel", this.onWheel, { passive: false });
    canvas.addEventListener("pointerdown", this.onPointerDown);
    canvas.addEventListener("pointermove", this.onPointerMove);
    canvas.addEventListener("pointerup", this.onPointerUp);
    canvas.addEventListener("pointercancel", this.onPointerUp);
    canvas.addEventListener("pointerleave", this.onPointerLeave);
    canvas.addEventListener("click", this.onClick);
    canvas.addEventListener("keydown", this.onKey);
  }

  override dispose(): void {
    super.dispose();
    const { canvas } = this;
    canvas.removeEventListener("wheel", this.onWheel);
    canvas.removeEventListener("pointerdown", this.onPointerDown);
    canvas.removeEventListener("pointermove", this.onPointerMove);
    canvas.removeEventListener("pointerup", this.onPointerUp);
    canvas.removeEventListener("pointercancel", this.onPointerUp);
    canvas.removeEventListener("pointerleave", this.onPointerLeave);
    canvas.removeEventListener("click", this.onClick);
    canvas.removeEventListener("keydown", this.onKey);
  }

  update(input: TimelineInput): void {
    this.input = input;
    this.layout = placeLanes(input.whole, input.detail === null ? [] : [input.detail], input.folded);
    this.canvas.style.height = `${this.layout.heightPx}px`;
    const { startUs, endUs } = this.shown(input);
    this.canvas.dataset.startUs = String(startUs);
    this.canvas.dataset.endUs = String(endUs);
    this.invalidate();
  }

  /** Scrolls the page no further than it takes to see a lane. */
  revealLane(laneId: string): void {
    const placed = this.layout.lanes.find(({ lane }) => lane.id === laneId);
    if (placed === undefined) return;
    const top = this.canvas.getBoundingClientRect().top + placed.topPx;
    const below = top + placed.heightPx + REVEAL_PX - window.innerHeight;
    const above = top - REVEAL_PX;
    if (above < 0) window.scrollBy(0, above);
    else if (below > 0) window.scrollBy(0, below);
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
    const { input, layout, hover } = this;
    if (input === null) return null;
    const { palette, selected, marked, only, link } = input;
    return {
      model: this.modelFor(input),
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

  private readonly onWheel = (event: WheelEvent): void => {
    // Over the lane titles the page scrolls: a tall timeline must not trap the wheel.
    if (event.offsetX < this.gutterPx) return;
    event.preventDefault();
    const perLine = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const sideways = event.shiftKey ? event.deltaX + event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      this.change((range, bounds) => panBy(range, (sideways * perLine * lengthUs(range)) / this.plotPx, bounds));
      return;
    }
    const factor = Math.exp(Math.max(-200, Math.min(200, event.deltaY * perLine)) * WHEEL_ZOOM_PER_PX);
    this.change((range, bounds, scale) => zoomAround(range, factor, pxToUs(scale, event.offsetX), bounds));
  };

  private readonly onPointerDown = (event: PointerEvent): void => {
    this.draggedPx = 0;
    if (event.button !== 0 || event.offsetX < this.gutterPx) return;
    this.dragFromPx = event.offsetX;
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.classList.add("dragging");
  };

  private readonly onPointerMove = (event: PointerEvent): void => {
    if (this.dragFromPx !== null) {
      const movedPx = event.offsetX - this.dragFromPx;
      this.draggedPx = Math.max(this.draggedPx, Math.abs(movedPx));
      if (this.draggedPx <= CLICK_SLACK_PX) return;
      this.dragFromPx = event.offsetX;
      this.change((range, bounds) => panBy(range, (-movedPx * lengthUs(range)) / this.plotPx, bounds));
      return;
    }
    this.canvas.classList.toggle("on-title", this.foldableAt(event) !== null);
    this.setHover(this.hitOf(event), event.clientX, event.clientY);
  };

  private hitOf({ offsetX, offsetY }: MouseEvent): BoxAddress | null {
    const { input } = this;
    const at = input === null || offsetX < this.gutterPx ? null : rowAt(this.layout, offsetY);
    if (input === null || at === null) return null;
    return addressAt(this.modelFor(input), this.scale(input), at.placed.lane.id, at.row, offsetX);
  }

  private foldableAt({ offsetX, offsetY }: MouseEvent): string | null {
    if (offsetX >= this.gutterPx) return null;
    const placed = rowAt(this.layout, offsetY)?.placed;
    return placed === undefined || placed.folded === null ? null : placed.lane.id;
  }

  private readonly onClick = (event: MouseEvent): void => {
    const { input } = this;
    if (input === null || this.draggedPx > CLICK_SLACK_PX) return;
    const laneId = this.foldableAt(event);
    if (laneId !== null) this.events.onTitle(laneId);
    if (event.offsetX < this.gutterPx) return;
    const found = this.hitOf(event);
    this.events.onPick(found === null ? null : boxAt(this.modelFor(input), found));
  };

  private readonly onPointerUp = (event: PointerEvent): void => {
    this.dragFromPx = null;
    this.canvas.classList.remove("dragging");
    if (this.canvas.hasPointerCapture(event.pointerId)) this.canvas.releasePointerCapture(event.pointerId);
  };

  private readonly onPointerLeave = (): void => {
    if (this.dragFromPx === null) this.setHover(null, 0, 0);
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
    const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    this.act(action);
  };

  /** Also what the buttons beside the timeline do. */
  act(action: TimelineAction): void {
    if (action === "whole") {
      this.change((_, bounds) => bounds);
    } else if (action === "left" || action === "right") {
      const sign = action === "left" ? -1 : 1;
      this.change((range, bounds) => panBy(range, sign * KEY_PAN * lengthUs(range), bounds));
    } else {
      const factor = action === "in" ? KEY_ZOOM : 1 / KEY_ZOOM;
      this.change((range, bounds) => zoomAround(range, factor, (range.startUs + range.endUs) / 2, bounds));
    }
  }
}

export type TimelineAction = "in" | "out" | "left" | "right" | "whole";

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
};
