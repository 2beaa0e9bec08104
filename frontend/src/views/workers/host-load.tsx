import type { LoadRow } from "../../contract/report";
import { valueWords } from "../../model/counters";
import { exactNumber } from "../../model/format";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Scroll } from "../../ui/scroll";

type Column = "mean" | "low" | "high";
const COLUMNS: readonly Column[] = ["mean", "low", "high"];

const isZero = ({ mean, low, high }: LoadRow): boolean => mean === 0 && low === 0 && high === 0;

/** How loaded the machine was while the window was open; the timeline has the same as lines. */
export function HostLoad({ rows }: { rows: readonly LoadRow[] }) {
  const zero = rows.filter(isZero);
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>Host and device load</h2>
      <Scroll label="Host and device load">
        <DataTable name="Host and device load" class="host-load" testId="host-load" allRows={() => rows.map(line)}>
          <thead>
            <tr>
              <Th column="title" label="Over the window" numeric={false} />
              <Th column="mean" label="Mean" />
              <Th column="low" label="Min" />
              <Th column="high" label="Max" />
            </tr>
          </thead>
          <tbody>
            <Rows>{rows.filter((row) => !isZero(row)).map(line)}</Rows>
          </tbody>
        </DataTable>
      </Scroll>
      {zero.length > 0 && (
        <p class="muted" data-testid="load-zero">
          0 throughout: {zero.map(({ title }) => title).join("; ")}.
        </p>
      )}
    </section>
  );
}

function line(row: LoadRow) {
  return (
    <tr key={row.title} data-testid="load-row" data-counter={row.counter}>
      <th scope="row">{row.title}</th>
      {COLUMNS.map((column) => (
        <td
          key={column}
          class="num"
          data-column={column}
          data-value={row[column]}
          data-unit={unitOf(row)}
          title={`${exactNumber(row[column])} ${row.unit}`}>
          {valueWords(row[column], row.unit)}
        </td>
      ))}
    </tr>
  );
}

/** As in the other tables that are copied. */
function unitOf({ unit }: LoadRow): string {
  return unit.replace(/^bytes/, "B").replace(/^us/, "µs");
}
