// The times above the timeline's lanes: a canvas of their own, which stays in sight while tall lanes are scrolled.

import { CanvasView } from "./canvas-view";
import type { Frame } from "./frame";
import { paintRuler } from "./timeline-painter";

export class Ruler extends CanvasView {
  constructor(
    canvas: HTMLCanvasElement,
    private readonly frame: (widthPx: number, heightPx: number) => Frame | null,
  ) {
    super(canvas);
  }

  protected override draw(context: CanvasRenderingContext2D, widthPx: number, heightPx: number): void {
    const frame = this.frame(widthPx, heightPx);
    if (frame !== null) paintRuler(context, frame);
  }

  override paintNow(): void {
    super.paintNow();
  }
}
