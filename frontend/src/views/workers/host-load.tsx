import type { LoadRow } from "../../contract/report";
import { valueWords } from "../../model/counters";
import { exactNumber } from "../../model/format";
import { Scroll } from "../../ui/scroll";

type Column = "mean" | "low" | "high";
const COLUMNS: readonly Column[] = ["mean", "low", "high"];

/** How loaded the machine was while the window was open; the timeline has the same as lines. */
export function HostLoad({ rows }: { rows: readonly LoadRow[] }) {
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>Host and device load</h2>
      <Scroll label="Host and device load">
        <table class="host-load" data-testid="host-load">
          <thead>
            <tr>
              <th scope="col">Over the window</th>
              <th scope="col" class="num">
                Mean
              </th>
              <th scope="col" class="num">
                Min
              </th>
              <th scope="col" class="num">
                Max
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.title} data-testid="load-row" data-counter={row.counter}>
                <th scope="row">{row.title}</th>
                {COLUMNS.map((column) => (
                  <td
                    key={column}
                    class="num"
                    data-column={column}
                    data-value={row[column]}
                    title={`${exactNumber(row[column])} ${row.unit}`}>
                    {valueWords(row[column], row.unit)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
