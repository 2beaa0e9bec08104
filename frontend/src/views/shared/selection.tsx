// Which steps all numbers are about, and the way back to all of them.

import type { Capture } from "../../contract/report";
import { type StepRange, writtenSteps } from "../../model/step-range";
import { selectSteps } from "../../state/actions";
import type { View } from "../../state/atoms";
import { Prose } from "../../ui/prose";

const OF_WHOLE: Partial<Readonly<Record<View, string>>> = {
  compare: "Compare is about whole captures.",
  captures: "All captures is about whole captures.",
  ranks: "Ranks is about whole captures.",
  run: "The whole run has all steps.",
  trace: "The trace has all steps.",
};

/** All that were recorded are no choice. */
export function chooseSteps(steps: StepRange, recorded: StepRange): void {
  const isAll = steps.first <= recorded.first && steps.last >= recorded.last;
  selectSteps(isAll ? null : writtenSteps(steps));
}

/** Above every view while steps are chosen. */
export function Selection({ capture: { selection }, view, live }: { capture: Capture; view: View; live: boolean }) {
  if (selection === undefined) return null;
  // A report of chosen steps has them for all captures.
  const ofWhole = live ? OF_WHOLE[view] : undefined;
  if (ofWhole !== undefined)
    return (
      <p class="selection muted" data-testid="selection" role="status">
        {ofWhole} Elsewhere: <Prose text={selection.sentence} /> <AllSteps />
      </p>
    );
  return (
    <p class="selection" data-testid="selection" role="status">
      <strong>
        <Prose text={selection.sentence} />
      </strong>{" "}
      {live && <AllSteps />}
    </p>
  );
}

/** The way back. */
export function AllSteps() {
  return (
    <button type="button" class="link" data-testid="all-steps" onClick={() => selectSteps(null)}>
      All steps
    </button>
  );
}
