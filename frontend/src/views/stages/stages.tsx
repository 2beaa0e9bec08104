import type { Capture } from "../../contract/report";
import { exactUs, formatCount, formatDuration, plural } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { shareWords } from "../../model/shares";
import { isWork, selfByKind } from "../../model/stage-tree";
import { stagesSentence } from "../../model/summary";
import { runs } from "../../state/atoms";
import { Code } from "../../ui/code";
import { BigNumber, NumberRow } from "../../ui/numbers";
import { snippet, UnavailableState } from "../../ui/states";
import { fillClass, fillStyle, Swatch } from "../../ui/swatch";
import { StageTable } from "./stage-table";

export function Stages({ capture }: { capture: Capture }) {
  if (capture.stages.length === 0) {
    return (
      <UnavailableState
        title="This capture tells nothing of the loader's stages."
        reason={reasonFor(capture, "stages")}>
        <p class="muted">With these lines around the training loop the next capture has them:</p>
        <Code text={snippet(runs.value?.logdir ?? "")} testId="stages-code" />
      </UnavailableState>
    );
  }
  return (
    <>
      <p class="sentence" data-testid="stages-sentence">
        {stagesSentence(capture)}
      </p>
      <StageNumbers capture={capture} />
      <KindStrip capture={capture} />
      <StageTable capture={capture} />
    </>
  );
}

function StageNumbers({ capture }: { capture: Capture }) {
  const work = capture.stages.filter(isWork);
  const sum = work.reduce((total, stage) => total + stage.self_us, 0);
  const samples = work.filter((stage) => stage.kind === "sample").reduce((total, stage) => total + stage.count, 0);
  const waitUs = capture.loader?.wait_us;
  return (
    <NumberRow>
      <BigNumber
        label="Stage time"
        testId="number-stage-time"
        value={sum}
        text={formatDuration(sum)}
        exact={exactUs(sum)}
        note={
          capture.workers.length > 0
            ? `summed over ${plural(capture.workers.length, "DataLoader worker")}`
            : "self time of all stages"
        }
        reason=""
      />
      <BigNumber
        label="Samples"
        testId="number-samples"
        value={samples === 0 ? undefined : samples}
        text={formatCount(samples)}
        note="calls of the dataset that start in the window"
        reason={reasonFor(capture, "throughput")}
      />
      <BigNumber
        label="Data wait"
        testId="number-stages-wait"
        value={waitUs}
        text={waitUs === undefined ? "" : formatDuration(waitUs)}
        exact={waitUs === undefined ? "" : exactUs(waitUs)}
        note={blameNote(capture)}
        reason={reasonFor(capture, "loader")}
      />
    </NumberRow>
  );
}

/** How much of the wait the Blame column has, and what the rest is: waits that no stage is to blame for. */
function blameNote({ stages, loader }: Capture): string {
  const { wait_us: waitUs = 0, wait_by_stage_us: byStage = {} } = loader ?? {};
  if (waitUs === 0 || stages.every((stage) => stage.blame_us === undefined)) return "by the training thread";
  const inStages = stages.reduce((sum, stage) => sum + (stage.blame_us ?? 0), 0);
  const rest = Object.entries(byStage)
    .filter(([name, us]) => us > 0 && !name.includes("::"))
    .sort((a, b) => b[1] - a[1]);
  return [
    `${shareWords(inStages, waitUs)} in stages, see Blame`,
    ...rest.map(([name, us]) => `${shareWords(us, waitUs)} ${name}`),
  ].join("; ");
}

/** Self time by kind as one strip: how the work divides, before the table names names. */
function KindStrip({ capture }: { capture: Capture }) {
  const kinds = [...selfByKind(capture.stages)];
  const sum = kinds.reduce((total, [, us]) => total + us, 0);
  if (sum === 0) return null;
  return (
    <figure class="strip-figure">
      <figcaption>
        <h2>Self time by kind of stage</h2>
      </figcaption>
      <div class="strip" role="img" aria-label={kinds.map(([kind, us]) => `${kind} ${shareWords(us, sum)}`).join(", ")}>
        {kinds.map(([kind, us]) => (
          <span
            key={kind}
            class={fillClass(kind)}
            style={{ ...fillStyle(kind), width: `${(100 * us) / sum}%` }}
            title={`${kind}: ${exactUs(us)}`}
          />
        ))}
      </div>
      <ul class="legend">
        {kinds.map(([kind, us]) => (
          <li key={kind}>
            <Swatch token={kind} />
            {kind} <span class="tabular muted">{shareWords(us, sum)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
