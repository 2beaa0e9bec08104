import { useLayoutEffect, useRef } from "preact/hooks";
import { stuckBottomPx } from "./sight";

/** Tells the style sheet where the head of the page ends, which stays at its top and may have several rows of tabs. */
export function useTabsHeight<Head extends HTMLElement>(): { readonly current: Head | null } {
  const ref = useRef<Head>(null);
  useLayoutEffect(() => {
    const head = ref.current;
    if (head === null) return undefined;
    const measure = (): void => {
      const px = stuckBottomPx(head);
      if (px > 0) document.documentElement.style.setProperty("--tabs-px", `${px}px`);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(head);
    measure();
    return () => observer.disconnect();
  }, []);
  return ref;
}
