// What a drawn table says, read from the page: so every table can be copied, and no table is described twice.

import type { Cell, TableText } from "../model/table-text";

/** Columns without words (bars) are left out. */
export function readTable(table: HTMLTableElement): TableText {
  const body = [...table.querySelectorAll<HTMLTableRowElement>("tbody tr")].map((row) => [...row.cells]);
  const heads = headsOf(table, body);
  const kept = [...heads.keys()].filter((at) => body.some((row) => wordsOf(row[at]) !== ""));
  return {
    heads: kept.map((at) => heads[at] ?? ""),
    rows: body.map((row) => kept.map((at) => cellOf(row[at]))),
  };
}

function headsOf(table: HTMLTableElement, body: readonly (readonly HTMLTableCellElement[])[]): string[] {
  const cells = [...table.querySelectorAll<HTMLTableCellElement>("thead tr:last-child th")];
  if (cells.length > 0) return cells.map(wordsOf);
  return (body[0] ?? []).map((_, at) => (at === 0 ? "Name" : "Value"));
}

function cellOf(cell: HTMLTableCellElement | undefined): Cell {
  const { valueUs, valueBytes, value } = cell?.dataset ?? {};
  const text = wordsOf(cell);
  if (valueUs !== undefined && valueUs !== "") return { text, exactUs: Number(valueUs) };
  if (valueBytes !== undefined && valueBytes !== "") return { text, exactBytes: Number(valueBytes) };
  return value === undefined || value === "" || Number.isNaN(Number(value)) ? { text } : { text, exact: Number(value) };
}

/** Without marks for the eye alone; `data-text` where the cell needs its surroundings to be understood. */
export function wordsOf(cell: Element | undefined): string {
  if (cell === undefined) return "";
  if (cell instanceof HTMLElement && cell.dataset.text !== undefined) return cell.dataset.text;
  const copy = cell.cloneNode(true) as Element;
  for (const mark of copy.querySelectorAll("[aria-hidden='true'], .offscreen")) mark.remove();
  return (copy.textContent ?? "").replace(/\s+/g, " ").trim();
}
