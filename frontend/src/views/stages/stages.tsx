import type { Capture } from "../../contract/report";
import { chooseTimeUnit, exactUs, formatCount, formatDuration, inUnit } from "../../model/format";
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
      {capture.workers.length > 0 && <WorkerTable capture={capture} />}
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

function WorkerTable({ capture }: { capture: Capture }) {
  const unit = chooseTimeUnit(capture.workers.map((worker) => worker.busy_us));
  return (
    <table class="workers" data-testid="workers">
      <caption>DataLoader workers</caption>
      <thead>
        <tr>
          <th scope="col">DataLoader worker</th>
          <th scope="col" class="num">Process</th>
          <th scope="col" class="num">Batches</th>
          <th scope="col" class="num">Busy<span class="unit">, {unit}</span></th>
          <th scope="col" class="num">Busy, of its time</th>
        </tr>
      </thead>
      <tbody>
        {capture.workers.map((worker) => (
          <tr key={worker.pid} data-testid="worker-row">
            <th scope="row">DataLoader worker {worker.worker}</th>
            <td class="num">{worker.pid}</td>
            <td class="num" data-value={worker.batches}>{formatCount(worker.batches)}</td>
            <td class="num" data-value-us={worker.busy_us} title={exactUs(worker.busy_us)}>{inUnit(worker.busy_us, unit)}</td>
            <td class="num">{shareWords(worker.busy_us, worker.busy_us + worker.idle_us)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
