// What a hand does: from then on the page is where the user wants it.

const BY_HAND = ["wheel", "pointerdown", "keydown", "touchstart"] as const;
/** The press that is being handled has passed this phase: it is not the next one. */
const OPTIONS = { passive: true, capture: true } as const;

/** Calls `stop` once: at the next thing that a hand does, or after `limitMs`. Returns how to wait no longer. */
export function untilByHand(stop: () => void, limitMs: number): () => void {
  const end = (): void => {
    window.clearTimeout(late);
    for (const name of BY_HAND) window.removeEventListener(name, onHand, OPTIONS);
  };
  const onHand = (): void => {
    end();
    stop();
  };
  const late = window.setTimeout(onHand, limitMs);
  for (const name of BY_HAND) window.addEventListener(name, onHand, OPTIONS);
  return end;
}
