import type { Finding } from "../../contract/report";
import { exactUs, formatDuration } from "../../model/format";
import { Code } from "../../ui/code";
import { Exact } from "../../ui/numbers";

export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <section aria-labelledby="findings-title">
      <h2 id="findings-title">What to do</h2>
      {findings.length === 0 ? (
        <p class="muted" data-testid="no-findings">No rule found anything to change in this capture.</p>
      ) : (
        <ol class="findings">
          {findings.map((finding) => <FindingItem key={`${finding.rule} ${finding.stage} ${finding.title}`} finding={finding} />)}
        </ol>
      )}
    </section>
  );
}

function FindingItem({ finding }: { finding: Finding }) {
  const gain = finding.gain_us_per_step;
  return (
    <li class="finding" data-testid="finding" data-rule={finding.rule} data-severity={finding.severity}>
      <div class="finding-side">
        <p class="severity" data-severity={finding.severity}>{finding.severity}</p>
        <p class="muted">
          {gain === undefined ? "gain cannot be bounded" : (
            <>at most <Exact value={gain} title={exactUs(gain)}>{formatDuration(gain)}</Exact> per step</>
          )}
        </p>
      </div>
      <div>
        <h3>{finding.title}</h3>
        {finding.stage !== "" && <p class="mono muted">{finding.stage}</p>}
        <p>{finding.advice}</p>
        {finding.code !== "" && <Code text={finding.code} />}
        {finding.evidence.length > 0 && (
          <ul class="evidence">
            {finding.evidence.map((line) => <li key={line}>{line}</li>)}
          </ul>
        )}
      </div>
    </li>
  );
}
