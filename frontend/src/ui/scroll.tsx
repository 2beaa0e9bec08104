import type { ComponentChildren } from "preact";

/** A table without buttons, which scrolls sideways where there is no room: the keyboard reaches it as a whole. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: there is nothing in it to tab to
    <section class="scroll-x" tabIndex={0} aria-label={`${label}, table`}>
      {children}
    </section>
  );
}
