// A table that can be sorted by any column and taken along as text.

import { useSignal } from "@preact/signals";
import { type ComponentChildren, createContext, render, type VNode } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { type ColumnValue, type Sort, sorted } from "../model/sorting";
import { asCsv, asMarkdown, type TableText } from "../model/table-text";
import { copyInWords } from "./copy";
import { Menu } from "./menu";
import { PictureOf } from "./picture-menu";
import { fileName, savedWords, saveFile } from "./save";
import { SortHeader } from "./sort-header";
import { readTable, wordsOf } from "./table-reader";
import { useTableSort } from "./table-sorts";
import { useCards } from "./use-cards";

type Shared = {
  readonly table: { current: HTMLTableElement | null };
  readonly sort: Sort | null;
  readonly choose: (sort: Sort | null) => void;
};

const Context = createContext<Shared | null>(null);

type Props = {
  /** What the table is about: of its menu and its file. */
  readonly name: string;
  /** Whether it is what people come to the view for. */
  readonly main?: boolean;
  /** What its rows are narrowed to; a copy of it stands alone. */
  readonly only?: string;
  readonly class?: string;
  readonly testId?: string;
  /** Its rows, where only the first are drawn: copies have them all. */
  readonly allRows?: () => ComponentChildren;
  readonly children: ComponentChildren;
};

export function DataTable({ name, main = false, only = "", class: kind, testId, allRows, children }: Props) {
  const table = useRef<HTMLTableElement>(null);
  const [sort, choose] = useTableSort(name);
  useLayoutEffect(() => nameCells(table.current));
  useCards(table);
  return (
    <Context.Provider value={{ table, sort, choose }}>
      <TableMenu name={name} only={only} table={table} allRows={allRows} />
      <table ref={table} class={kind} data-testid={testId} data-sorted={sort?.column} data-main={main || undefined}>
        {children}
      </table>
    </Context.Provider>
  );
}

/** The rows that a search leaves. */
export function onlyWith(search: string): string {
  return search.trim() === "" ? "" : `only with "${search.trim()}"`;
}

/** Tells the style sheet the names of the columns; words for readers alone, and marks of order, are none. */
function nameCells(table: HTMLTableElement | null): void {
  const heads = [...(table?.querySelectorAll<HTMLElement>("thead tr:last-child th") ?? [])];
  if (table === null) return;
  for (const [at, head] of heads.entries()) {
    const name = wordsOf(head);
    if (name !== "") table.style.setProperty(`--head-${at + 1}`, JSON.stringify(name));
  }
}

type MenuProps = Pick<Props, "name" | "allRows"> & Pick<Shared, "table"> & { readonly only: string };

function TableMenu({ name, only, table, allRows }: MenuProps) {
  const of = useContext(PictureOf);
  const restricted = [of?.steps ?? "", only].filter(Boolean);
  const caption = restricted.length === 0 ? "" : `${[name, ...restricted].join(", ")}:`;
  const read = (unshown: boolean): TableText => {
    const drawn = table.current ?? document.createElement("table");
    const from = (whole: HTMLTableElement): TableText => readTable(drawn, whole, unshown);
    return allRows === undefined ? from(drawn) : withRows(allRows(), from);
  };
  const csv = (): string => asCsv(read(true));
  return (
    <Menu
      label="Copy or save"
      of={name}
      testId="table-menu"
      items={[
        { label: "Copy as Markdown", run: () => copyInWords(asMarkdown(read(false), caption)) },
        { label: "Copy as CSV", run: () => copyInWords(csv()) },
        {
          label: "Save as CSV",
          run: () => {
            saveFile(fileName(name, "csv", of, only), csv(), "text/csv");
            return savedWords("copy as CSV");
          },
        },
      ]}
    />
  );
}

/** What `read` makes of a table of these rows that is on no screen. */
function withRows<T>(rows: ComponentChildren, read: (whole: HTMLTableElement) => T): T {
  const whole = document.createElement("table");
  render(<tbody>{rows}</tbody>, whole);
  try {
    return read(whole);
  } finally {
    render(null, whole);
  }
}

type ThProps = {
  /** Names the column. */
  readonly column: string;
  readonly label: string;
  readonly unit?: string;
  readonly title?: string;
  readonly numeric?: boolean;
};

/** A column head of a DataTable. The third press leads back to the order that the report has. */
export function Th({ column, numeric = true, ...rest }: ThProps) {
  const shared = useContext(Context);
  const sort = shared?.sort ?? null;
  return (
    <SortHeader
      {...rest}
      name={column}
      numeric={numeric}
      active={sort?.column === column}
      descending={sort?.descending ?? true}
      onSort={() => shared?.choose(next(sort, column, numeric))}
    />
  );
}

/** Numbers begin with the largest, words with a. */
function next(sort: Sort | null, column: string, numeric: boolean): Sort | null {
  if (sort?.column !== column) return { column, descending: numeric };
  return sort.descending === numeric ? { column, descending: !numeric } : null;
}

/** The rows of a DataTable, each with a key; in the order that its cells have on screen. */
export function Rows({ children }: { children: readonly VNode[] }) {
  const shared = useContext(Context);
  const order = useSignal<readonly unknown[] | null>(null);
  const sort = shared?.sort ?? null;
  const shown = inOrder(children, sort === null ? null : order.value);
  useLayoutEffect(() => {
    const table = shared?.table.current ?? null;
    if (sort === null || table === null) return;
    const wanted = sortedKeys(table, shown, sort);
    if (wanted.some((key, at) => key !== shown[at]?.key)) order.value = wanted;
  });
  return <>{shown}</>;
}

function inOrder(rows: readonly VNode[], order: readonly unknown[] | null): readonly VNode[] {
  if (order === null) return rows;
  const place = new Map(order.map((key, at) => [key, at]));
  return rows.toSorted((a, b) => (place.get(a.key) ?? rows.length) - (place.get(b.key) ?? rows.length));
}

/** Keys of `shown`, which the table has drawn in this order. */
function sortedKeys(table: HTMLTableElement, shown: readonly VNode[], { column, descending }: Sort): unknown[] {
  const heads = [...table.querySelectorAll<HTMLElement>("thead tr:last-child th")];
  const at = heads.findIndex((head) => head.dataset.head === column);
  const drawn = [...table.querySelectorAll<HTMLTableRowElement>("tbody tr")];
  const rows = shown.map((row, number) => ({ key: row.key as unknown, value: valueIn(drawn[number]?.cells[at]) }));
  return sorted(rows, ({ value }) => value, descending).map(({ key }) => key);
}

function valueIn(cell: HTMLTableCellElement | undefined): ColumnValue {
  const exact = cell?.dataset.valueUs ?? cell?.dataset.valueBytes ?? cell?.dataset.value;
  if (exact !== undefined && exact !== "") return Number(exact);
  const text = wordsOf(cell);
  if (text === "" || text === "–") return undefined;
  const share = /^([\d.,]+)%$/.exec(text)?.[1];
  return share === undefined ? text : Number(share.replaceAll(",", ""));
}
