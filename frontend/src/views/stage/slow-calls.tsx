import { batch } from "@preact/signals";
import type { StageCall, StageDetail } from "../../contract/report";
import { callKey } from "../../model/calls";
import { chooseTimeUnit, formatCount, formatDuration, inUnit, type TimeUnit } from "../../model/format";
import { selectedCall } from "../../state/atoms";
import { FilesCell, NotCounted, TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Unknown } from "../../ui/numbers";
import { Prose } from "../../ui/prose";
import { goTo, goToTimeline } from "../shared/go-to";

const LINE = "The line that most of the stacks sampled in this call were in";
const FILES_TITLE = "The first paths that the sample was read from";
const NO_FILES = "Kept for the slowest samples of each process only, or the recorder saw no file being read.";
const NO_INDEX = "Not recorded, or the dataset is iterable.";

/** The longest calls; a click frames one in the timeline below. */
export function SlowCalls({ detail }: { detail: StageDetail }) {
  const calls = detail.slowest;
  const unit = chooseTimeUnit(calls.map((call) => call.duration_us));
  const withFiles = calls.some(({ files }) => files.length > 0);
  const withLine = calls.some(({ line }) => line !== "");
  return (
    <section>
      <h2>Slowest calls</h2>
      <div class="scroll-x">
        <DataTable name="Slowest calls" class="slow-samples" testId="slow-calls">
          <thead>
            <tr>
              <Th column="duration" label="Duration" unit={unit} />
              <Th column="self" label="Self" unit={unit} />
              <Th column="epoch" label="Epoch" />
              <Th column="batch" label="Batch" />
              <Th column="index" label="Dataset index" />
              <Th column="run_by" label="Run by" numeric={false} />
              {withLine && <Th column="line" label="Line" numeric={false} title={LINE} />}
              {withFiles && <Th column="files" label="Files" numeric={false} title={FILES_TITLE} />}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {calls.map((call) => (
                <CallLine key={callKey(call)} call={call} unit={unit} withFiles={withFiles} withLine={withLine} />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

type LineProps = {
  readonly call: StageCall;
  readonly unit: TimeUnit;
  readonly withFiles: boolean;
  readonly withLine: boolean;
};

function CallLine({ call, unit, withFiles, withLine }: LineProps) {
  const words = `the call of ${formatDuration(call.duration_us)}`;
  return (
    <tr
      class="choice"
      data-testid="slow-call"
      data-start-us={call.start_us}
      aria-current={selectedCall.value === callKey(call) ? "true" : undefined}
      onClick={() => showCall(call)}>
      <td class="num" data-column="duration_us" data-value-us={call.duration_us}>
        <button type="button" class="link tabular" aria-label={`Show ${words} in the timeline`}>
          {inUnit(call.duration_us, unit)}
        </button>
      </td>
      <TimeCell column="self_us" us={call.self_us} unit={unit} reason="" />
      <NumberCell value={call.epoch} reason="Not recorded." />
      <NumberCell value={call.batch} reason="Not recorded." />
      <NumberCell value={call.index} reason={NO_INDEX} />
      <td class="nowrap">
        {makerWords(call)}
        <NotCounted spanUs={call.span_us} durationUs={call.duration_us} />
      </td>
      {withLine && <LineCell call={call} />}
      {withFiles && <FilesCell files={call.files} reason={NO_FILES} />}
    </tr>
  );
}

function LineCell({ call }: { call: StageCall }) {
  const { line, line_samples, samples } = call;
  const reason = `${formatCount(samples)} stacks were sampled in this call: too few to name a line.`;
  return (
    <td>
      {line === "" ? (
        <Unknown reason={reason} />
      ) : (
        <>
          <span class="line-text">
            <Prose text={line} />
          </span>{" "}
          <span class="muted nowrap">
            {formatCount(line_samples)} of {formatCount(samples)} samples
          </span>
        </>
      )}
    </td>
  );
}

function NumberCell({ value, reason }: { value: number | undefined; reason: string }) {
  return (
    <td class="num" data-value={value}>
      {value === undefined ? <Unknown reason={reason} /> : value}
    </td>
  );
}

function makerWords({ worker, training_thread: isTraining }: StageCall): string {
  if (worker !== undefined) return `DataLoader worker ${worker}`;
  return isTraining ? "training thread" : "another thread";
}

function showCall(call: StageCall): void {
  batch(() => {
    selectedCall.value = callKey(call);
    goTo(call.start_us, call.start_us + call.span_us);
  });
  goToTimeline();
}
