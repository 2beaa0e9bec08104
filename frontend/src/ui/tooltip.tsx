import type { ComponentChildren } from "preact";

const OFFSET_PX = 14;
const WIDTH_PX = 320;

/** Follows the pointer, on the side where there is room. */
export function Tooltip({ x, y, children }: { x: number; y: number; children: ComponentChildren }) {
  const flip = x + OFFSET_PX + WIDTH_PX > window.innerWidth;
  const style = {
    left: flip ? "auto" : `${x + OFFSET_PX}px`,
    right: flip ? `${window.innerWidth - x + OFFSET_PX}px` : "auto",
    ...(y > window.innerHeight - 140
      ? { bottom: `${window.innerHeight - y + OFFSET_PX}px` }
      : { top: `${y + OFFSET_PX}px` }),
  };
  return (
    <div class="tooltip" role="tooltip" style={style}>
      {children}
    </div>
  );
}
