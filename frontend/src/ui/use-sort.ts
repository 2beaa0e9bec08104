// Sorting of a table by any of its columns.

import { type ColumnValue, type Sort, sorted } from "../model/sorting";
import { useTableSort } from "./table-sorts";

export type Sorting<Row> = {
  readonly rows: readonly Row[];
  /** Whether somebody chose the order. */
  readonly isChosen: boolean;
  /** Props of the `SortHeader` of a column. */
  readonly head: (column: string) => {
    readonly name: string;
    readonly active: boolean;
    readonly descending: boolean;
    readonly onSort: () => void;
  };
};

/**
 * `table`: its name. `columns`: what each is sorted by. Without a choice the rows stay in their order; a third press leads back to it.
 * `given`: the column by which they are in descending order as they come, if there is one.
 */
export function useSort<Row>(
  table: string,
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => ColumnValue>>,
  given: string | null = null,
): Sorting<Row> {
  const [sort, choose] = useTableSort(table);
  const value = sort === null ? undefined : columns[sort.column];
  return {
    rows: sort === null || value === undefined ? rows : sorted(rows, value, sort.descending),
    isChosen: sort !== null,
    head: (column) => ({
      name: column,
      active: (sort?.column ?? given) === column,
      descending: sort?.descending ?? true,
      onSort: () => choose(nextSort(sort ?? (given === null ? null : { column: given, descending: true }), column)),
    }),
  };
}

function nextSort(sort: Sort | null, column: string): Sort | null {
  if (sort?.column !== column) return { column, descending: true };
  return sort.descending ? { column, descending: false } : null;
}
