import type { Capture } from "../../contract/report";
import { findingKey } from "../../model/findings";
import { formatCount } from "../../model/format";
import { selectView } from "../../state/actions";
import { FindingItem } from "../../ui/finding";
import { Prose } from "../../ui/prose";
import { GainsSentence } from "../shared/gains-sentence";

const BEST = 3;

/** The findings to look at first, and the way to the others. */
export function BestFindings({ capture }: { capture: Capture }) {
  const { findings, abstained, diagnostics } = capture;
  return (
    <section aria-labelledby="findings-title">
      <div class="table-head">
        <h2 id="findings-title">What to change</h2>
        <button type="button" class="link" data-testid="all-findings" onClick={() => selectView("findings")}>
          {linkWords(findings.length, abstained.length + diagnostics.length)}
        </button>
      </div>
      {findings.length === 0 ? (
        <p class="muted" data-testid="no-findings">
          <Prose text={capture.findings_sentence} />
        </p>
      ) : (
        <>
          <GainsSentence capture={capture} />
          <ol class="findings">
            {findings.slice(0, BEST).map((finding, place) => (
              <FindingItem key={findingKey(finding)} finding={finding} number={place + 1} level="brief" />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function linkWords(findings: number, notes: number): string {
  const all = findings > BEST ? `All ${formatCount(findings)} findings` : "All details";
  return notes === 0 ? all : `${all}, missing data and warnings (${formatCount(notes)})`;
}
