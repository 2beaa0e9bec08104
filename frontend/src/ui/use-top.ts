import { useLayoutEffect, useRef } from "preact/hooks";
import { untilByHand } from "./by-hand";

/** For so long a view that is returned to may still be loading what it was scrolled to. */
const LOADING_MS = 3000;

/** Where each place was left. */
const left = new Map<string, number>();

/** Another place begins at its top: what it is about stands there. Back and Forward lead to where it was left. */
export function useTop(place: string, isReturn: () => boolean): void {
  const current = useRef(place);
  useLayoutEffect(() => {
    const onScroll = (): void => {
      left.set(current.current, window.scrollY);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => window.removeEventListener("scroll", onScroll);
  }, []);
  useLayoutEffect(() => {
    if (current.current === place) return;
    const wanted = isReturn() ? (left.get(place) ?? 0) : 0;
    current.current = place;
    return scrollWhenLongEnough(wanted);
  }, [place]);
}

/** Scrolls now, and again while the page grows and is not scrolled far enough. Returns how to stop. */
function scrollWhenLongEnough(y: number): () => void {
  window.scrollTo(0, y);
  if (y === 0) return () => undefined;
  const growth = new ResizeObserver(() => {
    window.scrollTo(0, y);
    if (window.scrollY >= y - 1) stop();
  });
  const stop = (): void => {
    growth.disconnect();
    wait();
  };
  const wait = untilByHand(stop, LOADING_MS);
  growth.observe(document.documentElement);
  return stop;
}
