// What the list of idle gaps can be sorted by.

import type { Gap } from "../contract/report";
import { asCause, causeLabel } from "./causes";
import { type ColumnValue, sorted } from "./sorting";

const COLUMNS = {
  start_us: (gap: Gap): ColumnValue => gap.start_us,
  duration_us: (gap: Gap): ColumnValue => gap.duration_us,
  idle_share: (gap: Gap): ColumnValue => gap.duration_us,
  cause: (gap: Gap): ColumnValue => causeLabel(asCause(gap.cause)),
  stage: (gap: Gap): ColumnValue => gap.stage || undefined,
  step: (gap: Gap): ColumnValue => gap.step,
};

export type GapColumn = keyof typeof COLUMNS;
export function isGapColumn(name: string): boolean {
  return Object.hasOwn(COLUMNS, name);
}

export type GapSort = { readonly column: GapColumn; readonly descending: boolean };

/** Of gaps with the same cause, stage or step the longest first. */
export function sortedGaps(gaps: readonly Gap[], { column, descending }: GapSort): readonly Gap[] {
  return sorted(sorted(gaps, COLUMNS.duration_us, true), COLUMNS[column], descending);
}

const LARGEST_FIRST: ReadonlySet<GapColumn> = new Set<GapColumn>(["duration_us", "idle_share"]);

/** Durations begin with the largest, all others with the first. */
export function turnedSort(sort: GapSort, column: GapColumn): GapSort {
  return { column, descending: sort.column === column ? !sort.descending : LARGEST_FIRST.has(column) };
}
