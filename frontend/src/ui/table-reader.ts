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
  if (cells.length > 0) return cells.map((cell) => wordsOf(cell));
  return (body[0] ?? []).map((_, at) => (at === 0 ? "Name" : "Value"));
}

function cellOf(cell: HTMLTableCellElement | undefined): Cell {
  const { valueUs, valueBytes, value, unit } = cell?.dataset ?? {};
  const text = wordsOf(cell, true);
  if (valueUs !== undefined && valueUs !== "") return { text, exactUs: Number(valueUs) };
  if (valueBytes !== undefined && valueBytes !== "") return { text, exactBytes: Number(valueBytes) };
  if (value === undefined || value === "" || Number.isNaN(Number(value))) return { text };
  return { text, exact: Number(value), ...(unit === undefined ? {} : { unit }) };
}

/**
 * Without marks for the eye alone; `data-text` where the cell needs its surroundings to be understood. Lines below each
 * other are parted. `withCode`: code stands between backticks, as in the report's own texts.
 */
export function wordsOf(cell: Element | undefined, withCode = false): string {
  if (cell === undefined) return "";
  if (cell instanceof HTMLElement && cell.dataset.text !== undefined) return cell.dataset.text;
  const copy = cell.cloneNode(true) as Element;
  for (const mark of copy.querySelectorAll("[aria-hidden='true'], .offscreen")) mark.remove();
  for (const line of copy.querySelectorAll("p, div, li")) if (hasBefore(line)) line.prepend("; ");
  if (withCode) for (const code of copy.querySelectorAll("code")) code.textContent = `\`${code.textContent}\``;
  return (copy.textContent ?? "").replace(/\s+/g, " ").trim();
}

function hasBefore(line: Element): boolean {
  return (line.previousSibling?.textContent ?? "").trim() !== "";
}
