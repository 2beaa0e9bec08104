import type { Capture } from "../../contract/report";
import { asSentence, ruleWords } from "../../model/findings";
import { formatCount } from "../../model/format";

/** Rules without an answer, each with its reason; then what was odd in the trace or missing from it. */
export function CannotTell({ capture: { abstained, diagnostics } }: { capture: Capture }) {
  if (abstained.length === 0 && diagnostics.length === 0) return null;
  return (
    <section class="cannot-tell" aria-labelledby="cannot-tell-title">
      <h2 id="cannot-tell-title">What this capture cannot tell</h2>
      {diagnostics.length > 0 && (
        <ul class="diagnostics" data-testid="diagnostics">
          {diagnostics.map((item) => (
            <li key={item.code} data-testid="diagnostic" data-code={item.code}>
              {asSentence(item.message)}
              {item.count > 1 && <span class="muted"> ({formatCount(item.count)} times)</span>}
            </li>
          ))}
        </ul>
      )}
      {abstained.length > 0 && (
        <table class="abstained" data-testid="abstained">
          <thead>
            <tr>
              <th scope="col">Rule that cannot tell</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {abstained.map(({ rule, reason }) => (
              <tr key={rule} data-testid="abstention" data-rule={rule}>
                <th scope="row">{ruleWords(rule)}</th>
                <td>{asSentence(reason)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
