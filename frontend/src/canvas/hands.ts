// What hands do on a canvas, from pointer events: a drag moves, two fingers pinch, a drag that begins on the ruler selects.

/** In CSS pixels from the canvas's left edge. */
export type Gestures = {
  readonly pan: (byPx: number) => void;
  /** `factor` < 1: the fingers went apart. */
  readonly pinch: (factor: number, aroundPx: number) => void;
  /** While the ruler is dragged over; null when that ends without a selection. */
  readonly select: (extent: PxExtent | null) => void;
  readonly selected: (extent: PxExtent) => void;
};

export type PxExtent = { readonly fromPx: number; readonly toPx: number };

/** Where a finger or the mouse went down. */
export type Ground = "ruler" | "plot" | "other";

type Mode = "none" | "pan" | "select" | "pinch";

/** A hand that clicks moves a little. */
const CLICK_SLACK_PX = 3;
/** Fingers closer than this say nothing of a direction. */
const LEAST_PINCH_PX = 8;

export class Hands {
  private readonly xOf = new Map<number, number>();
  private mode: Mode = "none";
  private fromPx = 0;
  private movedPx = 0;

  constructor(private readonly gestures: Gestures) {}

  /** Whether the last press was a drag, and its click is none. */
  get dragged(): boolean {
    return this.movedPx > CLICK_SLACK_PX;
  }

  get busy(): boolean {
    return this.mode !== "none";
  }

  down(id: number, px: number, ground: Ground): void {
    this.movedPx = 0;
    if (ground === "other") return;
    this.xOf.set(id, px);
    if (this.xOf.size === 2) {
      if (this.mode === "select") this.gestures.select(null);
      this.mode = "pinch";
      this.movedPx = Number.POSITIVE_INFINITY;
    } else if (this.xOf.size === 1) {
      this.mode = ground === "ruler" ? "select" : "pan";
      this.fromPx = px;
    }
  }

  move(id: number, px: number): void {
    const before = this.xOf.get(id);
    if (before === undefined) return;
    if (this.mode === "pinch") {
      this.pinch(id, px);
      return;
    }
    this.movedPx = Math.max(this.movedPx, Math.abs(px - this.fromPx));
    if (!this.dragged) return;
    if (this.mode === "pan") this.gestures.pan(px - before);
    else if (this.mode === "select") this.gestures.select(this.extentTo(px));
    this.xOf.set(id, px);
  }

  up(id: number): void {
    const px = this.xOf.get(id);
    if (px === undefined) return;
    const { mode } = this;
    this.leave(id);
    if (mode !== "select") return;
    this.gestures.select(null);
    if (this.dragged) this.gestures.selected(this.extentTo(px));
  }

  /** The browser took the gesture for scrolling, or the user thought better of it. */
  cancel(id: number): void {
    if (this.mode === "select") this.gestures.select(null);
    this.leave(id);
  }

  /** Esc: nothing is selected, and the press that goes on is no click. */
  cancelSelection(): boolean {
    if (this.mode !== "select") return false;
    this.gestures.select(null);
    this.xOf.clear();
    this.mode = "none";
    return true;
  }

  private extentTo(px: number): PxExtent {
    return { fromPx: Math.min(this.fromPx, px), toPx: Math.max(this.fromPx, px) };
  }

  private pinch(id: number, px: number): void {
    const other = [...this.xOf].find(([finger]) => finger !== id)?.[1];
    const before = this.xOf.get(id);
    if (other === undefined || before === undefined) return;
    const [old, now] = [Math.abs(before - other), Math.abs(px - other)];
    this.xOf.set(id, px);
    if (old >= LEAST_PINCH_PX && now >= LEAST_PINCH_PX) this.gestures.pinch(old / now, other);
  }

  /** The finger that stays after a pinch goes on as a drag. */
  private leave(id: number): void {
    this.xOf.delete(id);
    this.mode = this.mode === "pinch" && this.xOf.size === 1 ? "pan" : "none";
    if (this.mode === "none") this.xOf.clear();
  }
}
