import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** In less room than this, a table with more columns than that would squeeze its words into narrow towers. */
const NARROW_PX = 640;
const FEW_COLUMNS = 4;

type Known = {
  /** What the widths depend on. */
  readonly content: string;
  /** How wide the table has to be as a table; 0 while that is not known. */
  readonly needPx: number;
};

/** A table that is wider than its room has each row as a card (tools.css), every number behind the name of its column. */
export function useCards(table: RefObject<HTMLTableElement>): void {
  const known = useRef<Known>({ content: "", needPx: 0 });
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

/** Measured as a table, unless it is known not to fit as one. */
function fitted(table: HTMLTableElement, known: Known): Known {
  const roomPx = table.parentElement?.clientWidth ?? 0;
  if (roomPx === 0) return known;
  const content = contentOf(table);
  const isSame = content === known.content && table.dataset.cards !== undefined;
  if (isSame && known.needPx > roomPx) return known;
  delete table.dataset.cards;
  const isNarrow = roomPx < NARROW_PX && (table.tHead?.rows[0]?.cells.length ?? 0) > FEW_COLUMNS;
  const needPx = isNarrow ? NARROW_PX : table.offsetWidth > roomPx + 1 ? table.offsetWidth : 0;
  if (needPx > 0) table.dataset.cards = "";
  return { content, needPx };
}

function contentOf({ tHead, tBodies }: HTMLTableElement): string {
  return `${tHead?.textContent ?? ""} ${tBodies[0]?.rows.length ?? 0}`;
}
