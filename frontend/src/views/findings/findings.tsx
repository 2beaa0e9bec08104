import type { Capture } from "../../contract/report";
import { bySeverity, findingsSentence, gainOf, type SeverityGroup } from "../../model/findings";
import { exactUs, formatCount, formatDuration, plural } from "../../model/format";
import { shareWords } from "../../model/shares";
import { FindingItem } from "../../ui/finding";
import { BigNumber, NumberRow } from "../../ui/numbers";
import { CannotTell } from "./cannot-tell";

/** All that should be changed, most severe first; then what the capture cannot tell. */
export function Findings({ capture }: { capture: Capture }) {
  return (
    <>
      <p class="sentence" data-testid={capture.findings.length === 0 ? "no-findings" : "findings-sentence"}>
        {findingsSentence(capture)}
      </p>
      <FindingNumbers capture={capture} />
      {bySeverity(capture.findings).map((group) => (
        <Group key={group.severity} group={group} capture={capture} />
      ))}
      <CannotTell capture={capture} />
    </>
  );
}

function FindingNumbers({ capture }: { capture: Capture }) {
  const { findings, steps, abstained } = capture;
  const gains = findings.flatMap((finding) => gainOf(finding, capture)?.perStepUs ?? []);
  const largest = gains.length === 0 ? undefined : Math.max(...gains);
  const measured = findings.filter((finding) => finding.confidence === "measured").length;
  return (
    <NumberRow>
      <BigNumber
        label="Findings"
        testId="number-findings"
        value={findings.length}
        text={formatCount(findings.length)}
        note={findings.length === 0 ? "no rule found anything" : `${formatCount(measured)} of them measured`}
        reason=""
      />
      <BigNumber
        label="Largest gain"
        testId="number-largest-gain"
        value={largest}
        text={largest === undefined ? "" : formatDuration(largest)}
        exact={largest === undefined ? "" : exactUs(largest)}
        note={`per step, at most${steps === undefined || largest === undefined ? "" : `; ${shareWords(largest, steps.mean_us)} of the mean step`}`}
        reason={
          findings.length === 0
            ? "There is nothing to gain where nothing was found."
            : "No finding's gain can be bounded from this capture."
        }
      />
      <BigNumber
        label="Rules that cannot tell"
        testId="number-abstained"
        value={abstained.length}
        text={formatCount(abstained.length)}
        note={abstained.length === 0 ? "every rule that ran had an answer" : "their reasons are at the end"}
        reason=""
      />
    </NumberRow>
  );
}

const MEANING: Readonly<Record<string, string>> = {
  high: "worth doing first",
  medium: "worth a try",
  low: "good to know",
};

function Group({ group: { severity, findings }, capture }: { group: SeverityGroup; capture: Capture }) {
  const id = `severity-${severity}`;
  return (
    <section aria-labelledby={id} data-testid="finding-group" data-severity={severity}>
      <h2 id={id} class="severity">
        {severity}{" "}
        <span class="muted note">
          {plural(findings.length, "finding")}
          {MEANING[severity] === undefined ? "" : `, ${MEANING[severity]}`}
        </span>
      </h2>
      <ol class="findings">
        {findings.map((finding) => (
          <FindingItem
            key={`${finding.rule} ${finding.stage} ${finding.title}`}
            finding={finding}
            capture={capture}
            level="full"
          />
        ))}
      </ol>
    </section>
  );
}
