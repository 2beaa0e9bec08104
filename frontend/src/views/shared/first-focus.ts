// The keyboard's focus where nobody has put it: on this page when it opens, and on the view when a press removed its button.

/** Keys are this page's from the start, unless something of TensorBoard's has the focus. */
export function takeFocus(): void {
  const host = hostDocument();
  const focused = host?.activeElement ?? null;
  if (host !== null && (focused === null || focused === host.body)) window.focus();
}

/** Of the page around this frame; null where there is none, or it may not be looked at. */
function hostDocument(): Document | null {
  try {
    return window.parent === window ? null : window.parent.document;
  } catch {
    return null;
  }
}

/** Listens; returns how to stop. A focus that falls to the page's body would begin again at its top. */
export function catchFocus(view: () => HTMLElement | null): () => void {
  const onClick = ({ target }: MouseEvent): void => {
    const button = target instanceof Element ? target.closest("button") : null;
    if (button === null || document.activeElement !== button) return;
    // Once the page is drawn without it.
    window.setTimeout(() => {
      if (!button.isConnected && document.activeElement === document.body) view()?.focus({ preventScroll: true });
    });
  };
  document.addEventListener("click", onClick, true);
  return () => document.removeEventListener("click", onClick, true);
}
