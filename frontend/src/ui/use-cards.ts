import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isNarrow } from "./use-narrow";

/** On a narrow page a table with more columns than this would squeeze its words into towers. */
const FEW_COLUMNS = 4;

type Known = {
  /** What the widths depend on. */
  readonly content: string;
  /** Room that is too little for it as a table; 0 while it is one. */
  readonly tooLittlePx: number;
};

/** A table that is wider than its room has each row as a card (tools.css), every number behind the name of its column. */
export function useCards(table: RefObject<HTMLTableElement>): void {
  const known = useRef<Known>({ content: "", tooLittlePx: 0 });
  const fit = (): void => {
    if (table.current !== null) known.current = fitted(table.current, known.current);
  };
  useLayoutEffect(fit);
  useLayoutEffect(() => {
    const room = table.current?.parentElement;
    if (room == null) return undefined;
    const observer = new ResizeObserver(fit);
    observer.observe(room);
    return () => observer.disconnect();
  }, []);
}

/** Measured as a table, at last with heads of several lines, unless it is known not to fit as one. */
function fitted(table: HTMLTableElement, known: Known): Known {
  const roomPx = roomOf(table);
  if (roomPx === 0) return known;
  const heads = table.querySelectorAll("thead tr:last-child th:not([hidden])");
  const content = `${[...heads].map((head) => head.textContent).join()} ${table.querySelectorAll("tbody tr").length}`;
  const isMany = isNarrow() && heads.length > FEW_COLUMNS;
  const isCards = table.dataset.cards !== undefined;
  if (isCards && content === known.content && (isMany || roomPx <= known.tooLittlePx)) return known;
  for (const form of ["cards", "tight"]) delete table.dataset[form];
  if (!isMany && table.offsetWidth <= roomOf(table) + 1) return { content, tooLittlePx: 0 };
  table.dataset.tight = "";
  if (!isMany && table.offsetWidth <= roomOf(table) + 1) return { content, tooLittlePx: 0 };
  const tooLittlePx = table.offsetWidth - 1;
  delete table.dataset.tight;
  table.dataset.cards = "";
  return { content, tooLittlePx };
}

function roomOf({ parentElement: parent }: HTMLTableElement): number {
  return parent?.clientWidth ?? 0;
}
