import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

const OFFSET_PX = 14;
const WIDTH_PX = 320;

type Props = {
  readonly x: number;
  readonly y: number;
  /** In place of `y` where there is room above only: what is explained lies between the two. */
  readonly aboveY?: number;
  readonly children: ComponentChildren;
};

/** Follows the pointer, on the side where there is room. What it explains scrolls away under it: then it goes until the next move. */
export function Tooltip({ x, y, aboveY = y, children }: Props) {
  const left = useSignal("");
  const place = `${x} ${y}`;
  useEffect(() => {
    const leave = (): void => {
      left.value = place;
    };
    window.addEventListener("scroll", leave, true);
    return () => window.removeEventListener("scroll", leave, true);
  }, [place]);
  if (left.value === place) return null;
  const flip = x + OFFSET_PX + WIDTH_PX > window.innerWidth;
  const style = {
    left: flip ? "auto" : `${x + OFFSET_PX}px`,
    right: flip ? `${window.innerWidth - x + OFFSET_PX}px` : "auto",
    ...(y > window.innerHeight - 140
      ? { bottom: `${window.innerHeight - aboveY + OFFSET_PX}px` }
      : { top: `${y + OFFSET_PX}px` }),
  };
  return (
    <div class="tooltip" role="tooltip" style={style}>
      {children}
    </div>
  );
}
