import type { Capture, Finding } from "../../contract/report";
import { exactUs, formatDuration } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { Code } from "../../ui/code";
import { Exact } from "../../ui/numbers";

export function Findings({ capture }: { capture: Capture }) {
  const { findings } = capture;
  return (
    <section aria-labelledby="findings-title">
      <h2 id="findings-title">What to change</h2>
      {findings.length === 0 ? (
        <p class="muted" data-testid="no-findings">{noFindings(capture)}</p>
      ) : (
        <ol class="findings">
          {findings.map((finding) => <FindingItem key={`${finding.rule} ${finding.stage} ${finding.title}`} finding={finding} />)}
        </ol>
      )}
    </section>
  );
}

/** Nothing found is good news only where something could be looked at. */
function noFindings(capture: Capture): string {
  const blind = capture.loader === undefined && (capture.verdict?.bound ?? "unknown") === "unknown";
  if (!blind) return "No rule found anything to change in this capture.";
  return `This capture cannot tell whether there is anything to change. ${sentence(reasonFor(capture, "loader"))}`;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function FindingItem({ finding }: { finding: Finding }) {
  const gain = finding.gain_us_per_step;
  return (
    <li class="finding" data-testid="finding" data-rule={finding.rule} data-severity={finding.severity}>
      <div class="finding-side">
        <p class="severity" data-severity={finding.severity}>{finding.severity}</p>
        {gain !== undefined && (
          <p class="muted">gains at most <Exact value={gain} title={exactUs(gain)}>{formatDuration(gain)}</Exact> per step</p>
        )}
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
