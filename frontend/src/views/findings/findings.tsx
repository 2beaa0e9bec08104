import type { Capture } from "../../contract/report";
import { findingKey } from "../../model/findings";
import { formatCount } from "../../model/format";
import type { Reason } from "../../model/reasons";
import { FindingItem } from "../../ui/finding";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";
import { Prose } from "../../ui/prose";
import { GainsSentence } from "../shared/gains-sentence";
import { MissingData } from "./missing-data";

/** All that should be changed, in the report's order, which is by gain; then what data is missing. */
export function Findings({ capture }: { capture: Capture }) {
  const testId = capture.findings.length === 0 ? "no-findings" : "findings-sentence";
  return (
    <>
      <p class="sentence" data-testid={testId}>
        <Prose text={capture.findings_sentence} />
      </p>
      <GainsSentence capture={capture} />
      <FindingNumbers capture={capture} />
      <h2 class="offscreen">What to change</h2>
      <ol class="findings">
        {capture.findings.map((finding, place) => (
          <FindingItem key={findingKey(finding)} finding={finding} number={place + 1} level="full" />
        ))}
      </ol>
      <MissingData capture={capture} />
    </>
  );
}

const NOT_CHECKED = "no check could run";
const NO_FINDINGS: Reason = { title: "No findings", message: "There are no findings, so there is nothing to gain." };
const NO_GAIN: Reason = { title: "Gain unknown", message: "No finding's gain can be bounded from this capture." };

/** Without a data wait or a device there is next to nothing that checks are about. */
function canCheck({ loader, devices, findings }: Capture): boolean {
  return loader !== undefined || devices.length > 0 || findings.length > 0;
}

function FindingNumbers({ capture }: { capture: Capture }) {
  const { findings, abstained } = capture;
  const measured = findings.filter((finding) => finding.confidence === "measured").length;
  const gains = findings.filter((finding) => finding.gain_us_per_step !== undefined);
  const [largest] = gains.toSorted((a, b) => (b.gain_us_per_step ?? 0) - (a.gain_us_per_step ?? 0));
  return (
    <NumberRow>
      <BigNumber
        label="Findings"
        testId="number-findings"
        value={findings.length}
        text={formatCount(findings.length)}
        note={
          findings.length > 0
            ? `${formatCount(measured)} of them measured`
            : canCheck(capture)
              ? "no check found anything"
              : NOT_CHECKED
        }
      />
      <BigNumber
        label="Largest gain"
        testId="number-largest-gain"
        {...asDuration(largest?.gain_us_per_step)}
        note={["per step, upper bound", largest?.gain_share_text].filter(Boolean).join("; ")}
        reason={findings.length === 0 ? NO_FINDINGS : NO_GAIN}
      />
      <BigNumber
        label="Inconclusive checks"
        testId="number-abstained"
        value={abstained.length}
        text={formatCount(abstained.length)}
        note={
          abstained.length > 0
            ? "their reasons are at the end"
            : canCheck(capture)
              ? "all checks were conclusive"
              : NOT_CHECKED
        }
      />
    </NumberRow>
  );
}
