import type { RunLoader, WholeRun } from "../../contract/report";
import { ShareCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { CountCell, DurationCell } from "./run-cells";

const UNKNOWN_WAITS = "Without batches whose wait is not known: recorded, or after another DataLoader's";
const OWN = "Steps and their data wait above are those of the first one: most steps were made with it.";
const SHARED =
  "Steps above go from one batch of the first one to the next, and take batches of others too: their data wait is for all of these.";
const NOT_IN_STEPS = "The steps above take no batches of it.";
const NO_WORKERS = "How busy its DataLoader workers are is not known.";
const FED = "Unknown: another thread than the one that trains takes its batches.";
const NO_BETWEEN = "No epoch came before, nothing lay between, or an earlier version recorded this run.";
const BETWEEN = "On average, from the end of the epoch before, of any DataLoader";

/** Of a run with several DataLoaders, each: the numbers above are of one of them. */
export function RunLoaders({ run }: { run: WholeRun }) {
  if (run.loaders.length === 0) return null;
  const main = run.loaders.find((loader) => loader.is_main);
  const shared = run.loaders.some((loader) => loader.data_wait_part !== undefined);
  return (
    <section>
      <h2>DataLoaders</h2>
      {main !== undefined && <p class="muted">{shared ? SHARED : OWN}</p>}
      <div class="scroll-x">
        <DataTable name="DataLoaders of the run" testId="run-loaders">
          <thead>
            <tr>
              <Th column="loader" label="DataLoader" numeric={false} />
              <Th column="batches" label="Batches" />
              <Th column="epochs" label="Epochs" />
              <Th column="wait" label="Data wait" title={UNKNOWN_WAITS} />
              <Th column="share" label="Of the run" />
              <Th column="first" label="Of it, first batches" />
              <Th column="between" label="Outside of steps before an epoch" title={BETWEEN} />
              {shared && <Th column="part" label="Of the steps' data wait" />}
              {shared && <Th column="busy" label="DataLoader workers busy" />}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {run.loaders.map((loader) => (
                <Row key={`${loader.name} ${loader.text}`} loader={loader} shared={shared} />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

function Row({ loader, shared }: { loader: RunLoader; shared: boolean }) {
  return (
    <tr title={loader.text}>
      <th scope="row">
        {loader.name}
        {loader.is_main && <span class="muted"> (the steps above are its own)</span>}
      </th>
      <CountCell value={loader.batches} />
      <CountCell value={loader.epochs} />
      <DurationCell us={loader.data_wait_us} reason={FED} />
      <ShareCell
        share={loader.share}
        reason={loader.data_wait_us === undefined ? FED : "What the run spent outside of steps is not known."}
      />
      <DurationCell us={loader.first_waits_us} reason={FED} />
      <DurationCell us={loader.between_us} reason={NO_BETWEEN} />
      {shared && <ShareCell share={loader.data_wait_part} reason={NOT_IN_STEPS} />}
      {shared && <ShareCell share={loader.busy_share} reason={NO_WORKERS} />}
    </tr>
  );
}
