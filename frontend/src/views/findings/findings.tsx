import type { Capture } from "../../contract/report";
import { SEVERITIES } from "../../contract/words";
import { bySeverity, findingKey, type SeverityGroup } from "../../model/findings";
import { formatCount, formatPercent, plural } from "../../model/format";
import type { Reason } from "../../model/reasons";
import { meaningOf } from "../../model/words";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";
import { Finding } from "../shared/finding";
import { MissingData } from "./missing-data";

/** All that should be changed, most severe first; then what data is missing. */
export function Findings({ capture }: { capture: Capture }) {
  const testId = capture.findings.length === 0 ? "no-findings" : "findings-sentence";
  return (
    <>
      <p class="sentence" data-testid={testId}>
        {capture.findings_sentence}
      </p>
      <FindingNumbers capture={capture} />
      {bySeverity(capture.findings).map((group) => (
        <Group key={group.severity} group={group} capture={capture} />
      ))}
      <MissingData capture={capture} />
    </>
  );
}

const NO_FINDINGS: Reason = { title: "No findings", message: "There are no findings, so there is nothing to gain." };
const NO_GAIN: Reason = { title: "Gain unknown", message: "No finding's gain can be bounded from this capture." };

function FindingNumbers({ capture: { findings, abstained } }: { capture: Capture }) {
  const measured = findings.filter((finding) => finding.confidence === "measured").length;
  const gains = findings.filter((finding) => finding.gain_us_per_step !== undefined);
  const [largest] = gains.toSorted((a, b) => (b.gain_us_per_step ?? 0) - (a.gain_us_per_step ?? 0));
  const share = largest?.gain_step_share;
  return (
    <NumberRow>
      <BigNumber
        label="Findings"
        testId="number-findings"
        value={findings.length}
        text={formatCount(findings.length)}
        note={findings.length === 0 ? "no check found anything" : `${formatCount(measured)} of them measured`}
      />
      <BigNumber
        label="Largest gain"
        testId="number-largest-gain"
        {...asDuration(largest?.gain_us_per_step)}
        note={`per step, upper bound${share === undefined ? "" : `; ${formatPercent(share)} of the mean step`}`}
        reason={findings.length === 0 ? NO_FINDINGS : NO_GAIN}
      />
      <BigNumber
        label="Inconclusive checks"
        testId="number-abstained"
        value={abstained.length}
        text={formatCount(abstained.length)}
        note={abstained.length === 0 ? "all checks were conclusive" : "their reasons are at the end"}
      />
    </NumberRow>
  );
}

function Group({ group: { severity, findings }, capture }: { group: SeverityGroup; capture: Capture }) {
  const id = `severity-${severity}`;
  const meaning = meaningOf(SEVERITIES, severity);
  return (
    <section aria-labelledby={id} data-testid="finding-group" data-severity={severity}>
      <h2 id={id} class="severity">
        {severity}{" "}
        <span class="muted note">
          {plural(findings.length, "finding")}
          {meaning !== "" && `, ${meaning}`}
        </span>
      </h2>
      <ol class="findings">
        {findings.map((finding) => (
          <Finding key={findingKey(finding)} finding={finding} capture={capture} level="full" />
        ))}
      </ol>
    </section>
  );
}
