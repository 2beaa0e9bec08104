import type { Capture } from "../../contract/report";
import { formatCount } from "../../model/format";
import { asSentence } from "../../model/sentence";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Prose } from "../../ui/prose";

/** Data that the trace lacks and warnings about it; then the checks that stayed inconclusive, each with its reason. */
export function MissingData({ capture: { abstained, diagnostics } }: { capture: Capture }) {
  if (abstained.length === 0 && diagnostics.length === 0) return null;
  return (
    <section class="missing-data" aria-labelledby="missing-data-title">
      <h2 id="missing-data-title">Missing data and warnings</h2>
      {diagnostics.length > 0 && (
        <ul class="diagnostics" data-testid="diagnostics">
          {diagnostics.map(({ code, message, count }) => (
            <li key={code} data-testid="diagnostic" data-code={code}>
              <Prose text={asSentence(message)} />
              {count > 1 && <span class="muted"> ({formatCount(count)} times)</span>}
            </li>
          ))}
        </ul>
      )}
      {abstained.length > 0 && (
        <DataTable name="Inconclusive checks" class="abstained" testId="abstained">
          <thead>
            <tr>
              <Th column="check" label="Inconclusive check" numeric={false} />
              <Th column="why" label="Why" numeric={false} />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {abstained.map(({ rule, title, reason }) => (
                <tr key={rule} data-testid="abstention" data-rule={rule}>
                  <th scope="row">
                    <Prose text={title} />
                  </th>
                  <td>
                    <Prose text={asSentence(reason)} />
                  </td>
                </tr>
              ))}
            </Rows>
          </tbody>
        </DataTable>
      )}
    </section>
  );
}
