// What a drawn table says, read from the page: so every table can be copied, and no table is described twice.

import type { Cell, Ends, TableText } from "../model/table-text";

/**
 * Columns without words (bars) are left out. `whole` has all rows, where `table` shows the first of them. `unshown`: with
 * the columns that are on no screen.
 */
export function readTable(table: HTMLTableElement, whole: HTMLTableElement = table, unshown = true): TableText {
  const body = [...whole.querySelectorAll<HTMLTableRowElement>("tbody tr")].map(columnsOf);
  const heads = headsOf(table, body);
  const hasWords = (at: number): boolean => body.some((row) => (row[at]?.dataset.copied ?? wordsOf(row[at])) !== "");
  const hidden = headCells(table).map((cell) => cell.hidden);
  const kept = [...heads.keys()].filter((at) => hasWords(at) && (unshown || hidden[at] !== true));
  return {
    heads: kept.map((at) => heads[at] ?? ""),
    rows: body.map((row) => kept.map((at) => cellOf(row[at]))),
  };
}

/** Where lines are parted: a character that no text of the page has. */
const PART = "\uE000";

type Row = ReadonlyArray<HTMLTableCellElement | undefined>;

/** A cell by column: one over several stands in its first. */
function columnsOf(row: HTMLTableRowElement): Row {
  return [...row.cells].flatMap((cell) => [cell, ...Array.from({ length: cell.colSpan - 1 }, () => undefined)]);
}

function headCells(table: HTMLTableElement): HTMLTableCellElement[] {
  return [...table.querySelectorAll<HTMLTableCellElement>("thead tr:last-child th")];
}

function headsOf(table: HTMLTableElement, body: readonly Row[]): string[] {
  const cells = headCells(table);
  if (cells.length > 0) return cells.map((cell) => wordsOf(cell));
  return (body[0] ?? []).map((_, at) => (at === 0 ? "Name" : "Value"));
}

function cellOf(cell: HTMLTableCellElement | undefined): Cell {
  const { valueUs, valueBytes, value, values, unit } = cell?.dataset ?? {};
  // On screen it may be understood from where it stands.
  const text = cell?.dataset.copied ?? wordsOf(cell, true);
  const ends = endsOf(cell);
  if (ends !== undefined) return { text, ends };
  if (values !== undefined) return { text, exactText: values };
  if (valueUs !== undefined && valueUs !== "") return { text, exactUs: Number(valueUs) };
  if (valueBytes !== undefined && valueBytes !== "") return { text, exactBytes: Number(valueBytes) };
  if (value === undefined || value === "" || Number.isNaN(Number(value))) return { text };
  return { text, exact: Number(value), ...(unit === undefined ? {} : { unit }) };
}

function endsOf(cell: HTMLTableCellElement | undefined): Ends | undefined {
  const { lowUs, highUs, low, high } = cell?.dataset ?? {};
  const [from, to] = [numberIn(lowUs ?? low), numberIn(highUs ?? high)];
  if (from === undefined && to === undefined) return undefined;
  return {
    ...(from === undefined ? {} : { low: from }),
    ...(to === undefined ? {} : { high: to }),
    unit: lowUs === undefined && highUs === undefined ? "%" : "µs",
  };
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined || text === "" ? undefined : Number(text);
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
  for (const line of copy.querySelectorAll("p, div, li")) if (hasBefore(line)) line.prepend(`${PART}; `);
  if (withCode) for (const code of copy.querySelectorAll("code")) code.textContent = `\`${code.textContent}\``;
  return (copy.textContent ?? "").replace(/\s+/g, " ").replaceAll(` ${PART}`, PART).replaceAll(PART, "").trim();
}

function hasBefore(line: Element): boolean {
  return (line.previousSibling?.textContent ?? "").trim() !== "";
}
