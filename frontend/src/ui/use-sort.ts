// Sorting of a table by any of its columns, kept by the table itself.

import { useSignal } from "@preact/signals";
import { type ColumnValue, type Sort, sorted } from "../model/sorting";

export type Sorting<Row> = {
  readonly rows: readonly Row[];
  /** Props of the `SortHeader` of a column. */
  readonly head: (column: string) => {
    readonly name: string;
    readonly active: boolean;
    readonly descending: boolean;
    readonly onSort: () => void;
  };
};

/**
 * `columns`: what each is sorted by. Without a choice the rows stay in their order; a third press leads back to it.
 * `given`: the column by which they are in descending order as they come, if there is one.
 */
export function useSort<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => ColumnValue>>,
  given: string | null = null,
): Sorting<Row> {
  const sort = useSignal<Sort | null>(null);
  const value = sort.value === null ? undefined : columns[sort.value.column];
  return {
    rows: sort.value === null || value === undefined ? rows : sorted(rows, value, sort.value.descending),
    head: (column) => ({
      name: column,
      active: (sort.value?.column ?? given) === column,
      descending: sort.value?.descending ?? true,
      onSort: () => {
        const shown = sort.value ?? (given === null ? null : { column: given, descending: true });
        sort.value = nextSort(shown, column);
      },
    }),
  };
}

function nextSort(sort: Sort | null, column: string): Sort | null {
  if (sort?.column !== column) return { column, descending: true };
  return sort.descending ? { column, descending: false } : null;
}
