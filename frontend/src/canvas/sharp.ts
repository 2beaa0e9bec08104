// Canvases that can be drawn once more, finer than the screen is: for saved pictures.

/** Draws in CSS pixels. */
type Draw = (context: CanvasRenderingContext2D, widthPx: number, heightPx: number) => void;

const drawers = new WeakMap<HTMLCanvasElement, Draw>();

export function canDrawAgain(canvas: HTMLCanvasElement, draw: Draw): void {
  drawers.set(canvas, draw);
}

/** `ratio`: pixels of the image per pixel of the page. What cannot be drawn again is as fine as it is on screen. */
export function imageOf(canvas: HTMLCanvasElement, ratio: number): string {
  const draw = drawers.get(canvas);
  const copy = document.createElement("canvas");
  const [widthPx, heightPx] = [canvas.clientWidth, canvas.clientHeight];
  [copy.width, copy.height] = [Math.round(widthPx * ratio), Math.round(heightPx * ratio)];
  const context = draw === undefined ? null : copy.getContext("2d");
  if (draw === undefined || context === null) return canvas.toDataURL();
  context.scale(ratio, ratio);
  draw(context, widthPx, heightPx);
  return copy.toDataURL();
}
