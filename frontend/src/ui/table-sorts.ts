// Who keeps which column a table is sorted by: the page's state, so that a link carries it; else the table itself.

import { useSignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Sort } from "../model/sorting";

export type SortStore = {
  readonly of: (table: string) => Sort | null;
  readonly choose: (table: string, sort: Sort | null) => void;
};

export const TableSorts = createContext<SortStore | null>(null);

/** The order that somebody chose for the table with this name, and how to choose another. */
export function useTableSort(table: string): [Sort | null, (sort: Sort | null) => void] {
  const store = useContext(TableSorts);
  const own = useSignal<Sort | null>(null);
  if (store !== null) return [store.of(table), (sort) => store.choose(table, sort)];
  return [
    own.value,
    (sort) => {
      own.value = sort;
    },
  ];
}
