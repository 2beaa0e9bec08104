import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export type MenuItem = { readonly label: string; readonly run: () => Promise<string> | string };

type Props = {
  readonly label: string;
  readonly of: string;
  readonly items: readonly MenuItem[];
  readonly testId: string;
};

/** How long a word stays, and for each letter of a sentence so much longer. */
const SAID_MS = 2500;
const LETTER_MS = 60;

/** Room for its items. */
const ITEM_PX = 28;
const FRAME_PX = 20;

/**
 * On the screen, not in its surroundings: a table that scrolls sideways would cut it off. Above, where there is no room
 * below.
 */
function placeBeside(menu: HTMLElement | null, items: number): Record<string, string> {
  const { top, bottom, right } = menu?.getBoundingClientRect() ?? { top: 0, bottom: 0, right: 0 };
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  const isBelow = bottom + items * ITEM_PX + FRAME_PX <= height || top < height / 2;
  return {
    ...(isBelow ? { top: `${bottom}px` } : { bottom: `${height - top}px` }),
    right: `${Math.max(8, width - right)}px`,
  };
}

const TURNS: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowDown: (at, last) => (at < last ? at + 1 : 0),
  ArrowUp: (at, last) => (at > 0 ? at - 1 : last),
  Home: () => 0,
  End: (_, last) => last,
};

/** From item to item by keys: before the first is the word. Whether the key was for that. */
function walk(menu: HTMLElement, key: string): boolean {
  const items = [...menu.querySelectorAll<HTMLElement>("li button")];
  const next = items[TURNS[key]?.(items.indexOf(document.activeElement as HTMLElement), items.length - 1) ?? -1];
  next?.focus();
  return next !== undefined;
}

/** A few actions behind one word, for arrows too; Escape and a press elsewhere close it. Each action returns what it has done, in words. */
export function Menu({ label, of, items, testId }: Props) {
  const open = useSignal(false);
  const said = useSignal("");
  const ref = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const onPress = (event: Event): void => {
      if (ref.current?.contains(event.target as Node) === false) open.value = false;
    };
    const onScroll = (): void => {
      open.value = false;
    };
    document.addEventListener("pointerdown", onPress);
    window.addEventListener("scroll", onScroll, true);
    return () => {
      document.removeEventListener("pointerdown", onPress);
      window.removeEventListener("scroll", onScroll, true);
    };
  }, []);
  const run = async (item: MenuItem): Promise<void> => {
    open.value = false;
    ref.current?.querySelector("summary")?.focus();
    said.value = await item.run();
    window.setTimeout(() => (said.value = ""), SAID_MS + LETTER_MS * said.value.length);
  };
  const onKey = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
    if (event.key === "Escape" && open.value) {
      event.stopPropagation();
      open.value = false;
      ref.current?.querySelector("summary")?.focus();
    } else if (event.key === "ArrowDown" && !open.value) {
      event.preventDefault();
      open.value = true;
    } else if (open.value && walk(event.currentTarget, event.key)) event.preventDefault();
  };
  return (
    <details
      ref={ref}
      class="menu"
      data-testid={testId}
      open={open.value}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}
      onKeyDown={onKey}>
      <summary aria-label={`${label}: ${of}`}>
        <span role="status">{said.value || label}</span>
      </summary>
      {open.value && (
        <ul style={placeBeside(ref.current, items.length)}>
          {items.map((item) => (
            <li key={item.label}>
              <button type="button" class="link" onClick={() => void run(item)}>
                {item.label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
