import type { ComponentChildren } from "preact";
import type { Finding } from "../contract/report";
import { SEVERITIES } from "../contract/words";
import { confidenceWords } from "../model/findings";
import { exactUs, formatDuration, formatRatio } from "../model/format";
import { meaningOf } from "../model/words";
import { Code } from "./code";
import { Explained } from "./explained";
import { Exact } from "./numbers";
import { Prose } from "./prose";
import { StageRef } from "./stage-ref";

type Props = {
  readonly finding: Finding;
  /** Its place in the capture's list, from 1: the same on every page, in the terminal, and for `verify --finding`. */
  readonly number: number;
  readonly level: "full" | "brief";
};

/** What was seen, what to do, what it may gain and how far that can be trusted. */
export function FindingItem({ finding, number, level }: Props) {
  const confidence = confidenceWords(finding);
  const stage = finding.title_stage || finding.stage;
  return (
    <li class="finding" data-testid="finding" data-rule={finding.rule} data-severity={finding.severity}>
      <div class="finding-side">
        <Gain finding={finding} />
        <p class="muted">
          <span class="severity" data-severity={finding.severity}>
            <Explained text={meaningOf(SEVERITIES, finding.severity)}>{finding.severity}</Explained>
          </span>
          {finding.confidence !== "" && (
            <>
              , <Explained text={confidence}>{finding.confidence}</Explained>
            </>
          )}
        </p>
      </div>
      <div class="finding-body">
        <h3 data-number={number}>
          <Prose text={finding.title} />
        </h3>
        {!finding.title.includes(stage) && (
          <p class="mono muted" data-testid="finding-stage">
            <StageRef name={stage} />
          </p>
        )}
        <dl class="finding-parts">
          {finding.evidence.length > 0 && (
            <Part name="Evidence">
              <ul class="seen">
                {finding.evidence.map(({ text }) => (
                  <li key={text}>
                    <Prose text={text} />
                  </li>
                ))}
              </ul>
            </Part>
          )}
          <Part name="What to do">
            <p>
              <Prose text={finding.advice} />
            </p>
            {finding.code !== "" && <Code text={finding.code} testId="finding-code" />}
          </Part>
          {level === "full" && confidence !== "" && (
            <Part name="Confidence">
              <p data-testid="finding-confidence">
                <Prose text={confidence} />
              </p>
            </Part>
          )}
        </dl>
      </div>
    </li>
  );
}

function Part({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="finding-part">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const BOUND = "An upper bound (Amdahl's law): if its cost were gone and nothing else changed.";

/** The bound, and as a bar how much of a step it is, with other DataLoaders: bars of one list are of the same step. */
function Gain({ finding }: { finding: Finding }) {
  const { gain_us_per_step: perStepUs, gain_step_share: ofStep, gain_us: windowUs, gain_text: text, speedup } = finding;
  if (perStepUs === undefined) return <p class="gain muted">{text}</p>;
  const times = speedup === undefined ? "" : formatRatio(speedup);
  const bar = speedup === undefined ? ofStep : 1 - 1 / speedup;
  return (
    <div class="gain" title={`${text}. ${BOUND}`}>
      <p class="gain-head">
        <span class="muted">saves up to </span>
        <span class="gain-value tabular" data-testid="finding-gain" data-value={perStepUs} title={exactUs(perStepUs)}>
          {formatDuration(perStepUs)}
        </span>
      </p>
      {bar !== undefined && (
        <div class="gain-bar" aria-hidden="true">
          <span style={{ width: `${Math.min(100, 100 * bar)}%` }} />
        </div>
      )}
      <p class="muted">{["per step", finding.gain_share_text].filter(Boolean).join(", ")}</p>
      {times !== "" && times !== "1.0x" && <p class="muted">{times} as fast</p>}
      {windowUs !== undefined && (
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
