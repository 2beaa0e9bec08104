// The tables of a view whose order somebody chose, as a link carries them: "stages.-self_us,slowest-calls.start".

import { computed, type Signal, signal } from "@preact/signals";
import { isGapColumn } from "../model/gap-order";
import type { Sort } from "../model/sorting";
import { batchSort, gapSort, shownStage, stageSort, type View, view } from "./atoms";

type Sorts = ReadonlyMap<string, Sort>;

/** Tables that keep their order wherever one goes, and which view has them. */
const LISTS = [
  list("stages", "stages", stageSort),
  list("gaps", "gaps", gapSort, isGapColumn),
  list("batches", "workers", batchSort),
];

function list<S extends Sort>(name: string, inView: View, atom: Signal<S>, isColumn = (_: string) => true) {
  const start = atom.peek();
  return {
    name,
    inView,
    chosen: (): Sort | null => (isSame(atom.value, start) ? null : atom.value),
    show: (sort: Sort | undefined): void => {
      atom.value = sort === undefined || !isColumn(sort.column) ? start : (sort as S);
    },
  };
}

function isSame(a: Sort, b: Sort): boolean {
  return a.column === b.column && a.descending === b.descending;
}

/** Of all other tables: what was chosen in one place. Elsewhere they have the report's order. */
const kept = signal<{ readonly place: string; readonly sorts: Sorts }>({ place: "", sorts: new Map() });
const here = computed(() => placeName(view.value, shownStage.value));
const sorts = computed<Sorts>(() => (kept.value.place === here.value ? kept.value.sorts : new Map()));

function placeName(name: View, stage: string | null): string {
  return `${name} ${stage ?? ""}`;
}

export const sortStore = {
  of: (table: string): Sort | null => sorts.value.get(slug(table)) ?? null,
  choose: (table: string, sort: Sort | null): void => {
    const next = new Map(sorts.value);
    next.delete(slug(table));
    if (sort !== null) next.set(slug(table), sort);
    kept.value = { place: here.value, sorts: next };
  },
};

/** A table's name as it stands in an address. */
function slug(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

/** Of the view on screen; null where every table has its own order. */
export function writtenSorts(): string | null {
  const all = new Map(sorts.value);
  for (const { name, inView, chosen } of LISTS) {
    const sort = inView === view.value ? chosen() : null;
    if (sort !== null) all.set(name, sort);
  }
  return (
    [...all].map(([table, { column, descending }]) => `${table}.${descending ? "-" : ""}${column}`).join(",") || null
  );
}

/** Shows what `writtenSorts` wrote in the view `name`; what is not understood counts as not there. */
export function showSorts(name: View, stage: string | null, text: string | null): void {
  const all = new Map((text ?? "").split(",").flatMap((part) => sortIn(part)));
  for (const { name: table, inView, show } of LISTS) {
    if (inView === name) show(all.get(table));
    all.delete(table);
  }
  kept.value = { place: placeName(name, stage), sorts: all };
}

function sortIn(text: string): [string, Sort][] {
  const [, table, minus, column] = /^([a-z0-9-]+)\.(-?)([a-z0-9_]+)$/.exec(text) ?? [];
  if (table === undefined || column === undefined) return [];
  return [[table, { column, descending: minus === "-" }]];
}
