import type { Capture } from "../../contract/report";
import { exactUs, formatCount, formatDuration } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { isWork, selfByKind } from "../../model/stage-tree";
import { shareWords, stagesSentence } from "../../model/summary";
import { BigNumber, NumberRow } from "../../ui/numbers";
import { UnavailableState } from "../../ui/states";
import { fillClass, fillStyle, Swatch } from "../../ui/swatch";
import { StageTable } from "./stage-table";

export function Stages({ capture }: { capture: Capture }) {
  if (capture.stages.length === 0) {
    return <UnavailableState title="This capture tells nothing of the loader's stages." reason={reasonFor(capture, "stages")} />;
  }
  return (
    <>
      <p class="sentence" data-testid="stages-sentence">{stagesSentence(capture)}</p>
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
      <BigNumber label="Stage time" testId="number-stage-time" value={sum} text={formatDuration(sum)} exact={exactUs(sum)}
        note={capture.workers.length > 0 ? `summed over ${capture.workers.length} DataLoader workers` : "self time of all stages"} reason="" />
      <BigNumber label="Samples" testId="number-samples" value={samples === 0 ? undefined : samples} text={formatCount(samples)}
        note="calls of the dataset that start in the window" reason={reasonFor(capture, "throughput")} />
      <BigNumber label="Data wait" testId="number-stages-wait" value={waitUs} text={waitUs === undefined ? "" : formatDuration(waitUs)}
        exact={waitUs === undefined ? "" : exactUs(waitUs)} note="what the Blame column divides" reason={reasonFor(capture, "loader")} />
    </NumberRow>
  );
}

/** Self time by kind as one strip: how the work divides, before the table names names. */
function KindStrip({ capture }: { capture: Capture }) {
  const kinds = [...selfByKind(capture.stages)];
  const sum = kinds.reduce((total, [, us]) => total + us, 0);
  if (sum === 0) return null;
  return (
    <figure class="strip-figure">
      <figcaption><h2>Self time by kind of stage</h2></figcaption>
      <div class="strip" role="img" aria-label={kinds.map(([kind, us]) => `${kind} ${shareWords(us, sum)}`).join(", ")}>
        {kinds.map(([kind, us]) => (
          <span key={kind} class={fillClass(kind)} style={{ ...fillStyle(kind), width: `${(100 * us) / sum}%` }} title={`${kind}: ${exactUs(us)}`} />
        ))}
      </div>
      <ul class="legend">
        {kinds.map(([kind, us]) => (
          <li key={kind}><Swatch token={kind} />{kind} <span class="tabular muted">{shareWords(us, sum)}</span></li>
        ))}
      </ul>
    </figure>
  );
}
