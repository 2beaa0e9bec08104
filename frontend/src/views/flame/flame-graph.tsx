import type { Capture } from "../../contract/report";
import {
  chosenMeasure,
  chosenPart,
  type FlamePart,
  flameParts,
  linesBy,
  type Measure,
  shareOf,
} from "../../model/flame-parts";
import { formatPercent } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { showFlame, showStage } from "../../state/actions";
import { flameMeasure, flameScope } from "../../state/atoms";
import { Prose } from "../../ui/prose";
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
  const measure = chosenMeasure(part, flameMeasure.value);
  return (
    <>
      <p class="sentence" data-testid="flame-sentence">
        <Prose text={sentenceOf(part, measure)} />
      </p>
      <div class="actions">
        <PartSelect parts={parts} part={part} />
        {part.key.includes("::") && (
          <button type="button" class="link" data-testid="to-stage" onClick={() => showStage(part.key)}>
            All about this stage
          </button>
        )}
      </div>
      <WhyNotFirst parts={parts} part={part} />
      <FlamePanel part={part} />
      <HotLines lines={lines} measure={measure} />
      <p class="muted">
        <Prose text={[capture.lines.sentence, ...capture.lines.unseen.map((each) => `${each}.`)].join(" ")} />
      </p>
    </>
  );
}

/** Where nobody chose a part, and the first one has too few samples: that this is another one. */
function WhyNotFirst({ parts, part }: { parts: readonly FlamePart[]; part: FlamePart }) {
  const [first] = parts;
  if (first === undefined || first === part || flameScope.value === part.key) return null;
  return (
    <p class="muted" data-testid="flame-why">
      {`${first.label}: ${first.lines.text}.`}
    </p>
  );
}

const OF: Readonly<Record<Exclude<Measure, "all">, string>> = {
  wait: "the data wait that it caused",
  idle: "its time while a device was idle",
};

/** The report's own of all time; of less the line with most of it, as the table below has it. */
function sentenceOf({ label, lines }: FlamePart, measure: Measure): string {
  const [line] = linesBy(lines, measure);
  const share = line === undefined ? undefined : shareOf(line, measure);
  if (measure === "all" || line === undefined || share === undefined)
    return lines.sentence || `${label}: ${lines.text}.`;
  return `${label}: of ${OF[measure]}, ${formatPercent(share)} is in ${line.text}.`;
}

function PartSelect({ parts, part }: { parts: readonly FlamePart[]; part: FlamePart }) {
  return (
    <label>
      Flame graph of{" "}
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
