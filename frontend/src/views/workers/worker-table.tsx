import type { Worker } from "../../contract/report";
import { chooseTimeUnit, exactNumber, exactUs, formatCount, formatRatio, type TimeUnit } from "../../model/format";
import { share } from "../../model/shares";
import type { LoaderPart } from "../../model/workers";
import { ShareCell, TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Explained } from "../../ui/explained";
import { Unknown } from "../../ui/numbers";
import { fillClass, fillStyle } from "../../ui/swatch";

type Column = "busy_us" | "idle_us" | "starved_us" | "epoch_over_us" | "startup_us" | Build;
type Build = "mean_build_us" | "longest_build_us";

const ABSENT: Readonly<Record<Column, string>> = {
  busy_us: "",
  idle_us: "",
  starved_us: "Whether it had an index in its queue was not recorded.",
  epoch_over_us: "Whether its DataLoader had indices left was not recorded.",
  startup_us: "It was not started in the window.",
  mean_build_us: "It finished no batch in the window.",
  longest_build_us: "It finished no batch in the window.",
};

const LIFE =
  "Its lifetime in the window as a bar: busy, then starved and startup; blank before an epoch's first index and after its last.";
const STARVED = "Part of idle: it had no index in its queue, while its DataLoader had more to give";
const OVER = "Part of idle: before an epoch's first index, or after its last";

export function WorkerTable({ part }: { part: LoaderPart }) {
  const { workers } = part;
  const unit = chooseTimeUnit(workers.flatMap((worker) => [worker.busy_us, worker.idle_us]));
  const perBatch = chooseTimeUnit(workers.map((worker) => worker.longest_build_us ?? 0));
  return (
    <section>
      <h2>DataLoader workers</h2>
      <div class="scroll-x">
        <DataTable name="DataLoader workers" class="workers" testId="workers">
          <thead>
            <tr>
              <Th column="worker" label="DataLoader worker" numeric={false} />
              <th scope="col" class="bar-head">
                <Explained text={LIFE}>Lifetime</Explained>
              </th>
              <Th column="pid" label="Process" />
              <Th column="batches" label="Batches" title="Batches it finished in the window" />
              <Th
                column="build"
                label="Mean build time"
                unit={perBatch}
                title="Of the batches it finished in the window"
              />
              <Th column="slowest" label="Slowest batch" unit={perBatch} title="The longest of these build times" />
              <Th column="busy" label="Busy" unit={unit} title="From a batch's start to its finish" />
              <Th column="lifetime" label="of lifetime" title="Busy, as a share of its lifetime in the window" />
              <Th column="idle" label="Idle" unit={unit} title="The rest of its lifetime in the window" />
              <Th column="starved" label="Starved" unit={unit} title={STARVED} />
              <Th column="over" label="Epoch over" unit={unit} title={OVER} />
              <Th column="startup" label="Startup" unit={unit} title="Part of idle: the process was not running yet" />
              <Th
                column="skew"
                label="Skew"
                title="Its busy share over that of all of this DataLoader's workers; 1.0x: as busy as the others, however long its batches take"
              />
              <Th
                column="dropped"
                label="Dropped spans"
                title="Spans beyond its limit; its stage times are too low by that much"
              />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {workers.map((worker) => (
                <WorkerLine key={`${worker.worker} ${worker.pid}`} worker={worker} unit={unit} perBatch={perBatch} />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

type LineProps = { readonly worker: Worker; readonly unit: TimeUnit; readonly perBatch: TimeUnit };

function WorkerLine({ worker, unit, perBatch }: LineProps) {
  const time = (column: Column, of = unit) => (
    <TimeCell column={column} us={worker[column]} unit={of} reason={ABSENT[column]} />
  );
  const { skew, dropped_spans: dropped } = worker;
  return (
    <tr data-testid="worker-row" data-worker={worker.worker} data-pid={worker.pid}>
      <th scope="row">DataLoader worker {worker.worker}</th>
      <td class="stage-bars">
        <Life worker={worker} />
      </td>
      <ProcessCell worker={worker} />
      <td class="num" data-column="batches" data-value={worker.batches}>
        {formatCount(worker.batches)}
      </td>
      {time("mean_build_us", perBatch)}
      {time("longest_build_us", perBatch)}
      {time("busy_us")}
      <ShareCell share={share(worker.busy_us, worker.busy_us + worker.idle_us)} />
      {time("idle_us")}
      {time("starved_us")}
      {time("epoch_over_us")}
      {time("startup_us")}
      <td
        class="num"
        data-column="skew"
        data-value={skew}
        title={skew === undefined ? undefined : `${exactNumber(skew)} times the share of all`}>
        {skew === undefined ? (
          <Unknown reason="There is no other DataLoader worker to compare with." />
        ) : (
          formatRatio(skew)
        )}
      </td>
      <td class="num" data-column="dropped_spans" data-value={dropped}>
        {dropped === undefined ? (
          <Unknown reason="Whether spans were dropped was not recorded." />
        ) : (
          formatCount(dropped)
        )}
      </td>
    </tr>
  );
}

/** One after the other where each epoch starts its own. */
function ProcessCell({ worker: { pid, pids } }: { worker: Worker }) {
  const isOne = pids.length <= 1;
  return (
    <td
      class="num"
      data-column="pid"
      data-value={pid}
      data-values={isOne ? undefined : pids.join(" ")}
      title={pids.join(", ")}>
      {isOne ? pid : `${formatCount(pids.length)} processes`}
    </td>
  );
}

/** How its lifetime divides; blank is what it has no work for: before an epoch and after it. */
function Life({ worker }: { worker: Worker }) {
  const parts = [
    { name: "busy", token: "batch", us: worker.busy_us },
    { name: "starved", token: "starved", us: worker.starved_us ?? 0 },
    { name: "startup", token: "startup", us: worker.startup_us ?? 0 },
  ];
  return (
    <div class="life-bar" aria-hidden="true">
      {parts.map(({ name, token, us }) => (
        <span
          key={name}
          class={fillClass(token)}
          style={{ ...fillStyle(token), width: `${(100 * us) / worker.alive_us}%` }}
          title={`${name}: ${exactUs(us)}`}
        />
      ))}
    </div>
  );
}
