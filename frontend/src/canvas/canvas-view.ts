// The one owner of device pixel ratio, resize and animation frames. Subclasses draw in CSS pixels.

import { canDrawAgain } from "./sharp";

export abstract class CanvasView {
  protected readonly context: CanvasRenderingContext2D | null;
  private pendingFrame = 0;
  private readonly observer: ResizeObserver;
  private ratioQuery: MediaQueryList | null = null;

  constructor(protected readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d");
    this.observer = new ResizeObserver(() => this.onResize());
    this.observer.observe(canvas);
    canDrawAgain(canvas, (context, widthPx, heightPx) => this.draw(context, widthPx, heightPx));
    this.watchRatio();
  }

  protected abstract draw(context: CanvasRenderingContext2D, widthPx: number, heightPx: number): void;

  get widthPx(): number {
    return this.canvas.clientWidth;
  }

  get heightPx(): number {
    return this.canvas.clientHeight;
  }

  /** Asks for one drawing in the next frame, however often it is called. */
  invalidate(): void {
    if (this.pendingFrame === 0) this.pendingFrame = requestAnimationFrame(() => this.paint());
  }

  /** Draws without waiting for a frame: there is none while a page is printed. */
  protected paintNow(): void {
    cancelAnimationFrame(this.pendingFrame);
    this.paint();
  }

  dispose(): void {
    cancelAnimationFrame(this.pendingFrame);
    this.observer.disconnect();
    this.ratioQuery?.removeEventListener("change", this.onRatio);
  }

  protected onResize(): void {
    this.invalidate();
  }

  /** It is drawn so many times as wide as high. */
  protected onSized(_ratio: number): void {}

  private readonly onRatio = (): void => {
    this.watchRatio();
    this.invalidate();
  };

  /** A media query holds for one ratio only, so it is made anew after each change (moved to another screen, zoomed). */
  private watchRatio(): void {
    this.ratioQuery?.removeEventListener("change", this.onRatio);
    this.ratioQuery = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
    this.ratioQuery.addEventListener("change", this.onRatio);
  }

  private paint(): void {
    this.pendingFrame = 0;
    const { context, widthPx, heightPx } = this;
    if (context === null || widthPx === 0 || heightPx === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(widthPx * ratio);
    const height = Math.round(heightPx * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.onSized(widthPx / heightPx);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, widthPx, heightPx);
    this.draw(context, widthPx, heightPx);
  }
}
