import { useEffect } from "preact/hooks";

type Props<Name extends string> = {
  readonly names: readonly Name[];
  readonly labels: Readonly<Record<Name, string>>;
  /** Those that have nothing to show, with why. */
  readonly empty: ReadonlyMap<Name, string>;
  readonly current: Name;
  readonly choose: (name: Name) => void;
};

/** One tab stop; arrow keys go round. */
export function Tabs<Name extends string>({ names, labels, empty, current, choose }: Props<Name>) {
  const onKey = (event: KeyboardEvent): void => {
    const turn = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = names[(names.indexOf(current) + turn + names.length) % names.length];
    if (turn === 0 || next === undefined) return;
    choose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  useEffect(() => {
    const tab = document.getElementById(`tab-${current}`);
    // On narrow screens the row of tabs scrolls.
    tab?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    // Back and Forward turn to another view under the focus.
    const focused = document.activeElement;
    if (focused !== tab && focused?.getAttribute("role") === "tab") tab?.focus({ preventScroll: true });
  }, [current]);
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={onKey}>
      {names.map((name) => (
        <button
          key={name}
          id={`tab-${name}`}
          type="button"
          role="tab"
          class={empty.has(name) ? "empty" : ""}
          title={emptyWords(empty.get(name))}
          aria-selected={current === name}
          aria-controls="view"
          tabIndex={current === name ? 0 : -1}
          data-testid={`tab-${name}`}
          onClick={() => choose(name)}>
          {labels[name]}
        </button>
      ))}
    </div>
  );
}

function emptyWords(why: string | undefined): string | undefined {
  return why === undefined ? undefined : `Nothing to show: ${why.charAt(0).toLowerCase()}${why.slice(1)}`;
}
