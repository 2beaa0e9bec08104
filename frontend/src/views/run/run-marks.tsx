import type { RunMark, WholeRun } from "../../contract/report";
import { formatCount } from "../../model/format";
import { meaningOfTerm } from "../../model/terms";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Explained } from "../../ui/explained";
import { Prose } from "../../ui/prose";
import { AfterCell, CaptureWay, CountCell, DurationCell } from "./run-cells";

const BY_INTERVALS = "Seen in the recorded intervals, not step by step.";
const AFTER = "After: from the run's start to a stall's end, or to a slow time's beginning.";
const USUALLY = "Usual: the median of the latest 200 steps that were not slow.";

export function RunMarks({ run }: { run: WholeRun }) {
  if (run.marks.length === 0)
    return <p class="muted">No stall, and no time that was slow beside the steps around it.</p>;
  const withLasted = run.marks.some((mark) => lastedOf(mark, run) !== undefined);
  const withNote = run.marks.some(({ note }) => note !== "");
  return (
    <section>
      <h2>Stalls and slow times</h2>
      <p class="muted">
        {USUALLY} Slow: {meaningOfTerm("slow")} Stall: {meaningOfTerm("stall")} {AFTER}
      </p>
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
              {withLasted && (
                <Th
                  column="lasted"
                  label="Lasted"
                  title="How long it went on, with what recording a window took of it"
                />
              )}
              <Th column="of" label="Of what" numeric={false} />
              <Th column="took" label="Took" title="The wait or the step of a stall; the mean one of a slow time" />
              <Th column="usual" label="Usual" title="The median before; of an epoch's first batch: a step's" />
              <Th column="epoch" label="Epoch" />
              <Th column="batch" label="Batch" />
              {withNote && <Th column="note" label="Note" numeric={false} />}
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
                  withNote={withNote}
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
  readonly withNote: boolean;
};

function MarkRow({ mark, run, lastedS, withNote }: MarkProps) {
  return (
    <tr data-testid="run-mark">
      <AfterCell atS={mark.at_s} />
      <th scope="row">
        <Change of={mark.change} />
      </th>
      {lastedS !== null && (
        <DurationCell us={lastedS === undefined ? undefined : 1e6 * lastedS} reason="A single one." />
      )}
      <td>{mark.what}</td>
      <DurationCell us={mark.took_us} />
      <DurationCell us={mark.usual_us} />
      <CountCell value={mark.by_intervals ? undefined : mark.epoch} reason={BY_INTERVALS} />
      <CountCell value={mark.by_intervals ? undefined : mark.batch} reason={BY_INTERVALS} />
      {withNote && (
        <td class="words">
          <Prose text={mark.note} />
        </td>
      )}
      <td data-text={mark.capture} data-copied={mark.capture === "" ? whyNot(mark) : undefined}>
        <Recorded run={run} mark={mark} />
      </td>
    </tr>
  );
}

function Change({ of }: { of: string }) {
  const meaning = meaningOfTerm(of);
  return meaning === undefined ? <>{of}</> : <Explained text={meaning}>{of}</Explained>;
}

/** The name of a capture would take the room of the note. */
function whyNot({ missed }: RunMark): string {
  return missed === "" ? "" : `Not recorded: ${missed}`;
}

function Recorded({ run, mark }: { run: string; mark: RunMark }) {
  const { capture, missed, captured_after: isAfter } = mark;
  if (capture === "")
    return <Explained text={`${missed === "" ? "Nothing was recorded" : whyNot(mark)}.`}>none</Explained>;
  return (
    <CaptureWay run={run} capture={capture} label={isAfter ? "open the steps after it" : "open"} testId="open-mark" />
  );
}
