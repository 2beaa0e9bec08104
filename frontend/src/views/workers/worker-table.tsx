import type { Worker } from "../../contract/report";
import { chooseTimeUnit, exactNumber, formatCount, formatRatio, type TimeUnit } from "../../model/format";
import { shareWords } from "../../model/shares";
import type { LoaderPart } from "../../model/workers";
import { TimeCell } from "../../ui/cells";
import { Explained } from "../../ui/explained";
import { Unknown } from "../../ui/numbers";

type Column = "busy_us" | "idle_us" | "starved_us" | "startup_us";

const ABSENT: Readonly<Record<Column, string>> = {
  busy_us: "",
  idle_us: "",
  starved_us: "Whether it had an index in its queue was not recorded.",
  startup_us: "It was not started in the window.",
};

export function WorkerTable({ part }: { part: LoaderPart }) {
  const { workers } = part;
  const unit = chooseTimeUnit(workers.flatMap((worker) => [worker.busy_us, worker.idle_us]));
  const withUnit = <span class="unit">, {unit}</span>;
  return (
    <section>
      <h2>DataLoader workers</h2>
      <div class="scroll-x">
        <table class="workers" data-testid="workers">
          <thead>
            <tr>
              <th scope="col">DataLoader worker</th>
              <th scope="col" class="num">
                Process
              </th>
              <th scope="col" class="num">
                <Explained text="Batches it finished in the window">Batches</Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="From a batch's start to its finish">Busy{withUnit}</Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="Busy, as a share of its lifetime in the window">of lifetime</Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="The rest of its lifetime in the window">Idle{withUnit}</Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="Part of idle: it had no index in its queue">Starved{withUnit}</Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="Part of idle: the process was not running yet">Startup{withUnit}</Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="Its busy share over that of all of this DataLoader's workers; 1.0x is even">
                  Skew
                </Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="Spans beyond its limit; its stage times are too low by that much">
                  Dropped spans
                </Explained>
              </th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <WorkerLine key={`${worker.worker} ${worker.pid}`} worker={worker} unit={unit} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function WorkerLine({ worker, unit }: { worker: Worker; unit: TimeUnit }) {
  const time = (column: Column) => <TimeCell column={column} us={worker[column]} unit={unit} reason={ABSENT[column]} />;
  const { skew, dropped_spans: dropped } = worker;
  return (
    <tr data-testid="worker-row" data-worker={worker.worker} data-pid={worker.pid}>
      <th scope="row">DataLoader worker {worker.worker}</th>
      <td class="num" data-column="pid" data-value={worker.pid} title={worker.pids.join(", ")}>
        {worker.pids.length > 1 ? `${formatCount(worker.pids.length)} processes` : worker.pid}
      </td>
      <td class="num" data-column="batches" data-value={worker.batches}>
        {formatCount(worker.batches)}
      </td>
      {time("busy_us")}
      <td class="num">{shareWords(worker.busy_us, worker.busy_us + worker.idle_us)}</td>
      {time("idle_us")}
      {time("starved_us")}
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
