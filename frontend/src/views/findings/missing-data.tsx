import type { Capture } from "../../contract/report";
import { formatCount } from "../../model/format";

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
              {message}
              {count > 1 && <span class="muted"> ({formatCount(count)} times)</span>}
            </li>
          ))}
        </ul>
      )}
      {abstained.length > 0 && (
        <table class="abstained" data-testid="abstained">
          <thead>
            <tr>
              <th scope="col">Inconclusive check</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {abstained.map(({ rule, title, reason }) => (
              <tr key={rule} data-testid="abstention" data-rule={rule}>
                <th scope="row">{title}</th>
                <td>{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
