import type { Capture, Finding } from "../contract/report";
import { confidenceWords, type Gain, gainOf, speedupOf } from "../model/findings";
import { exactUs, formatDuration, ratioWords } from "../model/format";
import { shareWords } from "../model/shares";
import { showStage } from "../state/actions";
import { Code } from "./code";
import { Exact } from "./numbers";

const NO_GAIN = "What this may gain cannot be bounded from this capture.";

type Props = { readonly finding: Finding; readonly capture: Capture; readonly level: "full" | "brief" };

/** What was seen, what to change, what it may gain and how sure that is. */
export function FindingItem({ finding, capture, level }: Props) {
  const sure = confidenceWords(finding);
  return (
    <li class="finding" data-testid="finding" data-rule={finding.rule} data-severity={finding.severity}>
      <div class="finding-side">
        <GainNote gain={gainOf(finding, capture)} capture={capture} />
        <p class="muted">
          {level === "brief" && (
            <span class="severity" data-severity={finding.severity}>
              {finding.severity}
            </span>
          )}
          {level === "brief" && finding.confidence !== "" && ", "}
          {level === "brief" && finding.confidence !== "" && <span title={sure}>{finding.confidence}</span>}
        </p>
      </div>
      <div class="finding-body">
        <h3>{finding.title}</h3>
        {finding.stage !== "" && <StageLink name={finding.stage} capture={capture} />}
        <dl class="finding-parts">
          {finding.evidence.length > 0 && (
            <Part name="Seen">
              <Evidence lines={finding.evidence} />
            </Part>
          )}
          <Part name="Change">
            <p>{finding.advice}</p>
            {finding.code !== "" && <Code text={finding.code} testId="finding-code" />}
          </Part>
          {level === "full" && sure !== "" && (
            <Part name="How sure">
              <p data-testid="finding-confidence">{sure}</p>
            </Part>
          )}
        </dl>
      </div>
    </li>
  );
}

function Part({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Evidence({ lines }: { lines: readonly string[] }) {
  return (
    <ul class="seen">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

/** A stage that the Stages view lists is a link to its row. */
function StageLink({ name, capture }: { name: string; capture: Capture }) {
  const known = capture.stages.some((stage) => `${stage.kind}::${stage.label}` === name);
  if (!known) return <p class="mono muted">{name}</p>;
  return (
    <p>
      <button
        type="button"
        class="link mono"
        data-testid="finding-stage"
        title="Show it in Stages"
        onClick={() => showStage(name)}>
        {name}
      </button>
    </p>
  );
}

/** The bound, and as a bar how much of a step it is. */
function GainNote({ gain, capture: { steps } }: { gain: Gain | null; capture: Capture }) {
  if (gain === null)
    return (
      <p class="gain muted">
        <abbr title={NO_GAIN}>gain not bounded</abbr>
      </p>
    );
  const { perStepUs, ofStep, windowUs, ofWindow } = gain;
  const speedup = speedupOf(ofStep);
  return (
    <div class="gain" title="An upper bound: the blamed time, all of it gone and nothing else changed (Amdahl)">
      <p class="gain-head">
        <span class="muted">at most </span>
        <span class="gain-value tabular" data-testid="finding-gain" data-value={perStepUs} title={exactUs(perStepUs)}>
          {formatDuration(perStepUs)}
        </span>
      </p>
      {ofStep !== undefined && steps !== undefined && (
        <div class="gain-bar" aria-hidden="true">
          <span style={{ width: `${Math.min(100, 100 * ofStep)}%` }} />
        </div>
      )}
      <p class="muted">
        per step{ofStep !== undefined && steps !== undefined && <>, {shareWords(perStepUs, steps.mean_us)} of it</>}
      </p>
      {speedup !== undefined && speedup >= 1.05 && <p class="muted">{ratioWords(speedup)} as fast at best</p>}
      {windowUs !== undefined && ofWindow !== undefined && (
        <p class="muted">
          <Exact value={windowUs} title={exactUs(windowUs)}>
            {formatDuration(windowUs)}
          </Exact>{" "}
          of the window
        </p>
      )}
    </div>
  );
}
