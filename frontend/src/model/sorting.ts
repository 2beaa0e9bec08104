// Rows in the order of one of their values.

export type Sort = { readonly column: string; readonly descending: boolean };

const WORDS = new Intl.Collator("en", { numeric: true });

/** Unknown values stand last, whichever way round. */
export type ColumnValue = number | string | undefined;

export function sorted<Row>(
  rows: readonly Row[],
  read: (row: Row) => ColumnValue,
  descending: boolean,
): readonly Row[] {
  return rows.toSorted((a, b) => compared(read(a), read(b), descending));
}

export function compared(a: ColumnValue, b: ColumnValue, descending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const order = typeof a === "number" && typeof b === "number" ? a - b : WORDS.compare(String(a), String(b));
  return descending ? -order : order;
}
