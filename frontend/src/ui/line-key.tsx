/**
 * How a line of a chart looks: by its stroke, since colours stand for stages and causes. The style sheet has
 * `line-main`, `line-second` and `line-third`.
 */
export type Stroke = "main" | "second" | "third";

export function lineClass(stroke: Stroke): string {
  return `trend-line line-${stroke}`;
}

/** A short piece of such a line, for a legend. */
export function LineKey({ stroke }: { stroke: Stroke }) {
  return (
    <svg class="line-key" width="20" height="10" aria-hidden="true">
      <path class={lineClass(stroke)} d="M0 5H20" />
    </svg>
  );
}
