// From section to section of a view by keys, and to its table: pages of many controls are long ways by Tab.

import { isElsewhere } from "./elsewhere";

const TURNS: Readonly<Record<string, 1 | -1>> = { j: 1, k: -1 };
/** Tables beside each other have a caption in place of a heading. */
const SECTIONS = "h2:not(.offscreen), .parts-box caption";
/** Of a view below the tabs that stay at the top. */
const TABS_PX = 64;

/** Listens for j and k; returns how to stop. */
export function watchSectionKeys(view: () => HTMLElement | null): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const turn = TURNS[event.key];
    if (turn === undefined || isElsewhere(event)) return;
    event.preventDefault();
    turnSection(view(), turn);
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

function turnSection(view: HTMLElement | null, turn: 1 | -1): void {
  const heads = [...(view?.querySelectorAll<HTMLElement>(SECTIONS) ?? [])];
  const focused = document.activeElement;
  const at = heads.indexOf(focused as HTMLElement);
  const isBehind = (head: HTMLElement): boolean =>
    focused === null || !view?.contains(focused) || focused === view
      ? head.getBoundingClientRect().top > TABS_PX
      : Boolean(focused.compareDocumentPosition(head) & Node.DOCUMENT_POSITION_FOLLOWING);
  const next = at >= 0 ? heads[at + turn] : turn > 0 ? heads.find(isBehind) : heads.findLast((head) => !isBehind(head));
  if (next === undefined) return;
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
}

/** To the first row of the view's table, else to the view. */
export function skipToTable(view: HTMLElement | null): void {
  const table = view?.querySelector<HTMLElement>("table[data-main]");
  const target = table?.querySelector<HTMLElement>("tbody button") ?? table?.closest<HTMLElement>("[tabindex]") ?? view;
  target?.focus();
}
