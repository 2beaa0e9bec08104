// Said once, when somebody turns the wheel over the timeline as in other trace viewers: there it zooms, here the page scrolls.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

const STORAGE_KEY = "data-pipeline-wheel-hint";
const SHOWN_MS = 4000;

export const ZOOM_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

let said = false;

function wasSaid(): boolean {
  try {
    return said || window.localStorage.getItem(STORAGE_KEY) !== null;
  } catch {
    return said; // storage may be forbidden: once per page then
  }
}

function remember(): void {
  said = true;
  try {
    window.localStorage.setItem(STORAGE_KEY, "said");
  } catch {
    // see above
  }
}

type Hint = { readonly shown: boolean; readonly show: () => void; readonly hide: () => void };

export function useWheelHint(): Hint {
  const shown: Signal<boolean> = useSignal(false);
  useEffect(() => {
    if (!shown.value) return undefined;
    const timer = window.setTimeout(() => (shown.value = false), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [shown.value]);
  const show = useMemo(
    () => (): void => {
      if (wasSaid()) return;
      remember();
      shown.value = true;
    },
    [],
  );
  const hide = useMemo(
    () => (): void => {
      shown.value = false;
    },
    [],
  );
  return { shown: shown.value, show, hide };
}

export function WheelHint() {
  return (
    <p class="wheel-hint" role="status" data-testid="wheel-hint">
      <kbd>{ZOOM_KEY}</kbd> + wheel zooms the timeline
    </p>
  );
}
