import type { Capture } from "../../contract/report";
import { chosenMeasure, chosenPart, type FlamePart, flameParts } from "../../model/flame-parts";
import { reasonFor } from "../../model/reasons";
import { showFlame, showStage } from "../../state/actions";
import { flameMeasure, flameScope } from "../../state/atoms";
import { UnavailableState } from "../../ui/states";
import { FlamePanel } from "./flame-panel";
import { HotLines } from "./hot-lines";

/** The sampled stacks of the whole pipeline, of one stage, or of the training thread. */
export function FlameGraph({ capture }: { capture: Capture }) {
  const parts = flameParts(capture);
  const part = chosenPart(parts, flameScope.value);
  if (capture.lines === undefined || part === undefined)
    return (
      <UnavailableState title="This capture has no flame graph." reason={reasonFor(capture, "lines").message}>
        {capture.lines !== undefined && <p class="muted">{capture.lines.sentence}</p>}
      </UnavailableState>
    );
  const { lines } = part;
  const isOfLess = chosenMeasure(part, flameMeasure.value) !== "all";
  return (
    <>
      <p class="sentence" data-testid="flame-sentence">
        {isOfLess && "Of all time: "}
        {lines.sentence || `${part.label}: ${lines.text}.`}
      </p>
      <div class="actions">
        <PartSelect parts={parts} part={part} />
        {part.key.includes("::") && (
          <button type="button" class="link" data-testid="to-stage" onClick={() => showStage(part.key)}>
            All about this stage
          </button>
        )}
      </div>
      <FlamePanel part={part} />
      <HotLines lines={lines} ofAllTime={isOfLess} />
      <p class="muted">{capture.lines.sentence}</p>
    </>
  );
}

function PartSelect({ parts, part }: { parts: readonly FlamePart[]; part: FlamePart }) {
  return (
    <label>
      Of{" "}
      <select data-testid="flame-part" value={part.key} onChange={(event) => showFlame(event.currentTarget.value)}>
        {parts.map(({ key, label, lines }) => (
          <option key={key} value={key} disabled={lines.tree === undefined && key !== part.key}>
            {label}
            {lines.tree === undefined ? " (too few samples for a picture)" : ""}
          </option>
        ))}
      </select>
    </label>
  );
}
