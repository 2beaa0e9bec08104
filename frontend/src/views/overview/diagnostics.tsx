import type { Diagnostic } from "../../contract/report";
import { formatCount } from "../../model/format";

export function Diagnostics({ diagnostics }: { diagnostics: readonly Diagnostic[] }) {
  if (diagnostics.length === 0) return null;
  return (
    <details class="diagnostics" data-testid="diagnostics">
      <summary>
        What this capture cannot tell <span class="muted">({formatCount(diagnostics.length)})</span>
      </summary>
      <ul>
        {diagnostics.map((item) => (
          <li key={item.code} data-testid="diagnostic" data-code={item.code}>
            {item.message}
            {item.count > 1 && <span class="muted"> ({formatCount(item.count)} times)</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}
