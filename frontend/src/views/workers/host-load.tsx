import type { CounterSummary } from "../../contract/report";
import { valueWords } from "../../model/counters";
import { loadRows } from "../../model/evidence";

/** How loaded the machine was while the window was open; the timeline has the same as lines. */
export function HostLoad({ load }: { load: readonly CounterSummary[] }) {
  if (load.length === 0) return null;
  return (
    <section>
      <h2>Load of the host and its devices</h2>
      <div class="scroll-x">
        <table class="host-load" data-testid="host-load">
          <thead>
            <tr>
              <th scope="col">Over the window</th>
              <th scope="col" class="num">
                Mean
              </th>
              <th scope="col" class="num">
                Least
              </th>
              <th scope="col" class="num">
                Most
              </th>
            </tr>
          </thead>
          <tbody>
            {loadRows(load).map(({ name, mean, low, high, unit }) => (
              <tr key={name} data-testid="load-row">
                <th scope="row">{name}</th>
                <td class="num" data-column="mean" data-value={mean} title={String(mean)}>
                  {valueWords(mean, unit)}
                </td>
                <td class="num" data-column="low" data-value={low} title={String(low)}>
                  {valueWords(low, unit)}
                </td>
                <td class="num" data-column="high" data-value={high} title={String(high)}>
                  {valueWords(high, unit)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
