import type { Batch, Capture } from "../../contract/report";
import { type BatchColumn, batchKey, sortBatches } from "../../model/batches";
import { chooseTimeUnit, formatCount, plural, type TimeUnit } from "../../model/format";
import type { LoaderPart } from "../../model/workers";
import { batchRows, batchSort, selectedBatch } from "../../state/atoms";
import { TimeCell } from "../../ui/cells";
import { DataTable } from "../../ui/data-table";
import { SortHeader } from "../../ui/sort-header";
import { TimelineWay } from "../shared/timeline-way";
import { showBatch } from "./show-batch";

const MORE_ROWS = 200;

type TimeColumn = Exclude<BatchColumn, "number" | "epoch" | "worker">;
type Column = { readonly column: TimeColumn; readonly label: string; readonly title: string; readonly absent: string };

const NOT_RECEIVED = "The training thread did not receive this batch in the window.";
const TIMES: readonly Column[] = [
  {
    column: "build_us",
    label: "Build time",
    title: "From its start in the DataLoader worker to its finish",
    absent: "Its start or its finish lies outside the window.",
  },
  {
    column: "wait_us",
    label: "Data wait",
    title: "How long the training thread waited for it",
    absent: NOT_RECEIVED,
  },
  {
    column: "in_queue_us",
    label: "Time in queue",
    title:
      "Finished and not yet asked for; 0 when it was asked for before it was finished. One that is on its way is waited for all the same",
    absent: NOT_RECEIVED,
  },
  {
    column: "head_of_line_us",
    label: "Head-of-line wait",
    title: "Part of the time in queue in which the training thread waited for an earlier batch, which was not finished",
    absent: NOT_RECEIVED,
  },
];

export function BatchTable({ capture, part }: { capture: Capture; part: LoaderPart }) {
  const { batches } = part;
  if (batches.length === 0) return null;
  const sorted = sortBatches(batches, batchSort.value);
  const rows = sorted.slice(0, batchRows.value);
  const unit = chooseTimeUnit(batches.flatMap((batch) => TIMES.map(({ column }) => batch[column])));
  const left = sorted.length - rows.length;
  const line = (batch: Batch) => <BatchLine key={batchKey(batch)} batch={batch} unit={unit} />;
  return (
    <section>
      <h2>Batches</h2>
      <p class="muted">
        {coverWords(capture, part)}{" "}
        {left > 0 && <span class="on-paper">The first {formatCount(rows.length)} of them: </span>}
        <span class="on-screen">
          Choose one to see who built it and who waited for it in the <TimelineWay />.
        </span>
      </p>
      <div class="scroll-x">
        <DataTable name="Batches" class="gaps batches" testId="batch-table" main allRows={() => sorted.map(line)}>
          <thead>
            <tr>
              <Head column="number" label="Batch" />
              <Head column="epoch" label="Epoch" />
              <Head column="worker" label="DataLoader worker" />
              {TIMES.map(({ column, label, title }) => (
                <Head key={column} column={column} label={label} title={title} unit={unit} />
              ))}
            </tr>
          </thead>
          <tbody>{rows.map(line)}</tbody>
        </DataTable>
      </div>
      {left > 0 && (
        <button type="button" class="link" data-testid="more-batches" onClick={() => (batchRows.value += MORE_ROWS)}>
          {left > MORE_ROWS ? `Show ${MORE_ROWS} more of ${formatCount(left)}` : `Show ${formatCount(left)} more`}
        </button>
      )}
    </section>
  );
}

function coverWords({ batches, batch_count = 0 }: Capture, part: LoaderPart): string {
  if (batches.length >= batch_count)
    return `All ${plural(part.batches.length, "batch")} that the window touches: drawn, begun, finished or received in it.`;
  return `${plural(part.batches.length, "batch")}; the report lists the first ${formatCount(batches.length)} of ${formatCount(batch_count)}.`;
}

type HeadProps = {
  readonly column: BatchColumn;
  readonly label: string;
  readonly unit?: TimeUnit;
  readonly title?: string;
};

function Head({ column, ...rest }: HeadProps) {
  const { column: active, descending } = batchSort.value;
  const onSort = (): void => {
    batchSort.value = {
      column,
      descending: active === column ? !descending : TIMES.some((time) => time.column === column),
    };
  };
  return <SortHeader {...rest} {...{ descending, onSort }} name={column} active={active === column} />;
}

function BatchLine({ batch, unit }: { batch: Batch; unit: TimeUnit }) {
  const name = batch.number < 0 ? "?" : String(batch.number);
  return (
    <tr
      class="choice"
      data-testid="batch-row"
      data-number={batch.number}
      data-epoch={batch.epoch}
      aria-current={selectedBatch.value === batchKey(batch) ? "true" : undefined}
      onClick={() => showBatch(batch)}>
      <td class="num" title={batch.number < 0 ? "Its number is unknown." : undefined}>
        <button type="button" class="link tabular" aria-label={`Show batch ${name} of epoch ${batch.epoch}`}>
          {name}
        </button>
      </td>
      <td class="num">{batch.epoch}</td>
      <td class="num">{batch.worker}</td>
      {TIMES.map(({ column, absent }) => (
        <TimeCell key={column} column={column} us={batch[column]} unit={unit} reason={absent} />
      ))}
    </tr>
  );
}
