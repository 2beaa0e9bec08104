import type { Capture } from "../../contract/report";
import { STAGE_KINDS } from "../../contract/words";
import { exactUs, formatCount } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { shareWords } from "../../model/shares";
import { stageName } from "../../model/stage-tree";
import { labelOf } from "../../model/words";
import { printing, runs, shownStage } from "../../state/atoms";
import { Code } from "../../ui/code";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";
import { PictureMenu } from "../../ui/picture-menu";
import { Prose } from "../../ui/prose";
import { snippet, UnavailableState } from "../../ui/states";
import { fillClass, fillStyle, Swatch } from "../../ui/swatch";
import { StagePage } from "../stage/stage-page";
import { StageTable } from "./stage-table";

export function Stages({ capture, id }: { capture: Capture; id: string }) {
  const name = shownStage.value;
  if (capture.stages.length === 0) {
    return (
      <UnavailableState title="This capture has no stage data." reason={reasonFor(capture, "stages").message}>
        <p class="muted">Put these lines around your training loop and capture again:</p>
        <Code text={snippet(runs.value?.logdir ?? "")} testId="stages-code" />
      </UnavailableState>
    );
  }
  const isKnown = name !== null && capture.stages.some((stage) => stageName(stage) === name);
  if (isKnown && !printing.value) return <StagePage capture={capture} id={id} name={name} />;
  return (
    <>
      {name !== null && !isKnown && (
        <p class="muted" role="status" data-testid="stage-unknown">
          This capture has no stage {name}. These are its stages:
        </p>
      )}
      <p class="sentence" data-testid="stages-sentence">
        <Prose text={capture.stage_summary?.sentence ?? ""} />
      </p>
      <StageNumbers capture={capture} />
      <KindStrip byKind={capture.stage_summary?.self_by_kind_us ?? {}} />
      <StageTable capture={capture} />
      {capture.stage_summary?.note_texts.map((note) => (
        <p key={note} class="muted" data-testid="stage-note">
          {note}.
        </p>
      ))}
    </>
  );
}

function StageNumbers({ capture }: { capture: Capture }) {
  const { stage_summary: summary, loader } = capture;
  return (
    <NumberRow>
      <BigNumber
        label="Stage time"
        testId="number-stage-time"
        {...asDuration(summary?.self_us)}
        note={summary?.self_text}
        reason={reasonFor(capture, "stages")}
      />
      <BigNumber
        label="Samples"
        testId="number-samples"
        value={summary?.samples}
        text={formatCount(summary?.samples ?? 0)}
        note="calls of the dataset that started in the window"
        reason={reasonFor(capture, "throughput")}
      />
      <BigNumber
        label="Data wait"
        testId="number-stages-wait"
        {...asDuration(loader?.wait_us)}
        note={summary?.wait_text}
        reason={reasonFor(capture, "loader")}
      />
    </NumberRow>
  );
}

function kindLabel(kind: string): string {
  return labelOf(STAGE_KINDS, kind);
}

/** Self time by kind as one strip: how the work divides, before the table names names. */
function KindStrip({ byKind }: { byKind: Readonly<Record<string, number>> }) {
  const kinds = Object.entries(byKind)
    .filter(([, us]) => us > 0)
    .sort((a, b) => b[1] - a[1]);
  const sum = kinds.reduce((total, [, us]) => total + us, 0);
  if (sum === 0) return null;
  return (
    <figure class="strip-figure">
      <figcaption>
        <h2>Self time by stage kind</h2>
        <PictureMenu name="Self time by stage kind" />
      </figcaption>
      <div
        class="strip"
        role="img"
        aria-label={kinds.map(([kind, us]) => `${kindLabel(kind)} ${shareWords(us, sum)}`).join(", ")}>
        {kinds.map(([kind, us]) => (
          <span
            key={kind}
            class={fillClass(kind)}
            style={{ ...fillStyle(kind), width: `${(100 * us) / sum}%` }}
            title={`${kindLabel(kind)}: ${exactUs(us)}`}
          />
        ))}
      </div>
      <ul class="legend">
        {kinds.map(([kind, us]) => (
          <li key={kind}>
            <Swatch token={kind} />
            {kindLabel(kind)} <span class="tabular muted">{shareWords(us, sum)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
