import type { ComponentChildren } from "preact";
import type { RunMark, WholeRun } from "../../contract/report";
import { exactUs, formatCount, formatDuration } from "../../model/format";
import { clockOf } from "../../model/whole-run";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Unknown } from "../../ui/numbers";
import { Prose } from "../../ui/prose";
import { captureCalled, openCapture } from "../shared/open-capture";

const USUALLY =
  "Usually: the median of the latest 200 steps that were not slow, or of those so far. " +
  "Slow: most of ten turns (steps, as many as there are DataLoader workers), or whole intervals of the recording beside " +
  "the others, above that by half of it, by four deviations and by 2 ms. A stall: one step far longer.";

export function RunMarks({ run }: { run: WholeRun }) {
  if (run.marks.length === 0)
    return <p class="muted">No stall, and no time that was slow beside the steps around it.</p>;
  const withLasted = run.marks.some((mark) => lastedOf(mark, run) !== undefined);
  return (
    <section>
      <h2>Stalls and slow times</h2>
      <p class="muted">{USUALLY}</p>
      {run.mark_count > run.marks.length && (
        <p class="muted">
          The first {formatCount(run.marks.length)} of {formatCount(run.mark_count)}.
        </p>
      )}
      <div class="scroll-x">
        <DataTable name="Stalls and slow times" testId="run-marks">
          <thead>
            <tr>
              <Th column="after" label="After" unit="h:min:s" />
              <Th column="what" label="What" numeric={false} />
              {withLasted && <Th column="lasted" label="Lasted" title="How long it went on" />}
              <Th column="of" label="Of what" numeric={false} />
              <Th column="took" label="Took" title="The wait or the step of a stall; the mean one of a slow time" />
              <Th column="where" label="What happened" numeric={false} />
              <Th column="capture" label="Capture" numeric={false} />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {run.marks.map((mark) => (
                <MarkRow
                  key={`${mark.at_s} ${mark.what}`}
                  mark={mark}
                  run={run.run}
                  lastedS={withLasted ? lastedOf(mark, run) : null}
                />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

/** The slow time that begins with the mark; undefined for a single stall. */
function lastedOf({ at_s: at, change }: RunMark, { phases }: WholeRun): number | undefined {
  const phase =
    change === "slow"
      ? phases.find(({ kind, from_s, to_s }) => kind === "slow" && from_s <= at && at < to_s)
      : undefined;
  return phase === undefined ? undefined : phase.to_s - phase.from_s;
}

type MarkProps = {
  readonly mark: RunMark;
  readonly run: string;
  /** null where no mark has one. */
  readonly lastedS: number | undefined | null;
};

function MarkRow({ mark, run, lastedS }: MarkProps) {
  return (
    <tr data-testid="run-mark">
      <td class="num" data-value-us={1e3 * Math.round(1e3 * mark.at_s)}>
        {clockOf(mark.at_s)}
      </td>
      <th scope="row">{mark.change}</th>
      {lastedS !== null && (
        <td class="num" data-value-us={lastedS === undefined ? undefined : 1e6 * lastedS}>
          {lastedS === undefined ? <Unknown reason="A single one." /> : formatDuration(1e6 * lastedS)}
        </td>
      )}
      <td>{mark.what}</td>
      <td class="num" data-value-us={mark.took_us} title={exactUs(mark.took_us)}>
        {formatDuration(mark.took_us)}
      </td>
      <td class="words">
        <Prose text={mark.sentence} />
      </td>
      <td>{captureCell(run, mark.capture)}</td>
    </tr>
  );
}

function captureCell(run: string, name: string): ComponentChildren {
  if (name === "") return <span class="muted">none</span>;
  const item = captureCalled(run, name);
  if (item === undefined) return <span class="muted">{name} (not here)</span>;
  return (
    <button type="button" class="link" data-testid="open-mark" onClick={() => openCapture(item.id)}>
      {name}
    </button>
  );
}
