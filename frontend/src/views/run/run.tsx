import { useEffect } from "preact/hooks";
import type { RunWithoutSteps, WholeRun, WholeRuns } from "../../contract/report";
import { isoTime, whenWords } from "../../model/captures";
import { formatCount, formatDuration, formatPercent, plural, significant } from "../../model/format";
import { capitalised } from "../../model/sentence";
import { clockOf, runName } from "../../model/whole-run";
import { chosenRank, chosenRun, entry, runs, wholeRuns, wholeRunsError } from "../../state/atoms";
import { loadWholeRuns } from "../../state/run-views";
import { FilesCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { asDuration, BigNumber, Exact, NumberRow, Unknown } from "../../ui/numbers";
import { allOf, PictureOf } from "../../ui/picture-menu";
import { Prose } from "../../ui/prose";
import { ErrorState, LoadingState, Problems, UnavailableState } from "../../ui/states";
import { OfAnother, OthersOnly } from "../shared/of-another";
import { CountCell, DurationCell } from "./run-cells";
import { RunChart } from "./run-chart";
import { RunLoaders } from "./run-loaders";
import { RunMarks } from "./run-marks";
import { RunWindows } from "./run-windows";

const TAKEN_ELSEWHERE = "another thread takes the batches";
const LACKS = "was not recorded with annotate.watch";

/** A program from its beginning to its end, as annotate.watch recorded it. */
export function WholeRunView() {
  const known = runs.value;
  useEffect(() => void loadWholeRuns(), [known]);
  const answer = wholeRuns.value;
  if (answer === null) {
    if (wholeRunsError.value !== null) return <ErrorState title="No whole run." message={wholeRunsError.value} />;
    return <LoadingState title="Looking for whole runs" />;
  }
  const run = shownRun(answer.runs);
  const without = answer.runs_without_steps;
  return (
    <div data-testid="whole-run" class="run-view">
      <Problems problems={answer.problem_texts} />
      {answer.runs.length === 0 ? (
        <Nothing answer={answer} />
      ) : run === undefined ? (
        <OthersOnly
          title={chosenRun.value === null ? "No whole run of this capture" : "No whole run"}
          lacks={lacksOf(chosenRun.value ?? entry.value?.run, without)}
          own={chosenRun.value ?? entry.value?.run}
          others={answer.runs.map((one) => ({ name: runName(one), show: () => chooseRun(one) }))}
        />
      ) : (
        <>
          <Choice all={answer.runs} without={without} run={run} />
          <OfAnother runs={answer.runs} shown={run.run} lacks={lacksOf(entry.value?.run, without)} />
          <PictureOf.Provider value={allOf(`Run ${runName(run)}`)}>
            <Shown run={run} />
          </PictureOf.Provider>
        </>
      )}
    </div>
  );
}

/** What a run lacks that has nothing to show. */
function lacksOf(name: string | undefined, without: readonly RunWithoutSteps[]): string {
  const reason = without.find(({ run }) => run === name)?.reason_text;
  return reason === undefined ? LACKS : `has nothing to show: no step was recorded (${reason})`;
}

function Nothing({ answer }: { answer: WholeRuns }) {
  const without = answer.runs_without_steps;
  if (without.length === 0) return <UnavailableState title="No whole run" reason={answer.hint_text} />;
  return (
    <UnavailableState title="No step was recorded" reason="What annotate.watch recorded here has nothing to show.">
      {without.map((one) => (
        <p key={runName(one)} data-testid="run-without-steps">
          {runName(one)}: {one.reason_text}.
        </p>
      ))}
    </UnavailableState>
  );
}

/** The chosen run, else that of the capture that the list marks: another one's numbers would be taken for its own. */
function shownRun(all: readonly WholeRun[]): WholeRun | undefined {
  const wanted = chosenRun.value ?? entry.value?.run;
  return (
    all.find((one) => one.run === wanted && (one.rank ?? null) === chosenRank.value) ??
    all.find((one) => one.run === wanted) ??
    (entry.value === null ? all[0] : undefined)
  );
}

function chooseRun(run: WholeRun | RunWithoutSteps | undefined): void {
  chosenRun.value = run?.run ?? null;
  chosenRank.value = run?.rank ?? null;
}

type ChoiceProps = {
  readonly all: readonly WholeRun[];
  readonly without: readonly RunWithoutSteps[];
  readonly run: WholeRun;
};

/** Runs without a step are offered too: whoever recorded one looks for it here. */
function Choice({ all, without, run }: ChoiceProps) {
  const offered = [...all, ...without];
  if (offered.length < 2) return <h2>Run: {runName(run)}</h2>;
  return (
    <label class="muted">
      Run{" "}
      <select
        data-testid="whole-run-choice"
        value={String(all.indexOf(run))}
        onChange={(event) => chooseRun(offered[Number(event.currentTarget.value)])}>
        {offered.map((one, index) => (
          <option key={runName(one)} value={String(index)}>
            {runName(one)}
            {index < all.length ? "" : " (no step was recorded)"}
          </option>
        ))}
      </select>
    </label>
  );
}

function Shown({ run }: { run: WholeRun }) {
  return (
    <>
      <p class="sentence" data-testid="run-sentence">
        <Prose text={run.sentence} />
      </p>
      <Numbers run={run} />
      <When run={run} />
      <RunChart key={runName(run)} run={run} />
      <RunMarks run={run} />
      <RunWindows run={run} />
      <More run={run} />
    </>
  );
}

/** Not one of the results. */
function When({ run }: { run: WholeRun }) {
  const beganMs = 1000 * run.began;
  return (
    <p class="muted" data-testid="run-began">
      Began{" "}
      <Exact value={run.began} title={isoTime(beganMs)}>
        {whenWords(beganMs, true)}
      </Exact>
      ; {endWords(run)}.
    </p>
  );
}

function Numbers({ run }: { run: WholeRun }) {
  return (
    <NumberRow>
      <BigNumber
        label="Data wait"
        testId="run-wait"
        value={run.data_wait_share}
        text={formatPercent(run.data_wait_share ?? 0)}
        note={run.data_wait_note}
        reason={{ title: TAKEN_ELSEWHERE, message: `${capitalised(run.data_wait_note)}.` }}
      />
      <BigNumber
        label="Mean step"
        testId="run-step"
        {...asDuration(run.step_us)}
        note={`p95 about ${formatDuration(run.p95_us)}, longest ${formatDuration(run.longest_us)}`}
      />
      <BigNumber
        label="Samples/s"
        testId="run-rate"
        value={run.samples_per_s}
        text={significant(run.samples_per_s)}
        note={run.samples_per_s_of}
      />
      {run.busy_share !== undefined && (
        <BigNumber
          label="DataLoader workers"
          testId="run-busy"
          value={run.busy_share}
          text={run.busy_text}
          note={run.ready_text ? `${run.busy_note}; ${run.ready_text}` : run.busy_note}
        />
      )}
      <BigNumber
        label="Steps"
        testId="run-steps"
        value={run.steps}
        text={formatCount(run.steps)}
        note={stepsNote(run)}
      />
      <BigNumber
        label="Epochs"
        testId="run-epochs"
        value={run.epochs}
        text={formatCount(run.epochs)}
        note={firstBatchWords(run)}
      />
      {run.outside !== undefined && (
        <BigNumber
          label="Outside of steps"
          testId="run-outside"
          value={run.outside.share}
          text={formatPercent(run.outside.share)}
          note={`of the run, ${formatDuration(run.outside.outside_us)}`}
        />
      )}
    </NumberRow>
  );
}

function stepsNote({ seconds, recording_text: text, processes }: WholeRun): string {
  const recorded = text ? `, ${text}` : "";
  return `in ${formatDuration(1e6 * seconds)}${recorded}${processes > 1 ? `, ${plural(processes, "process")}` : ""}`;
}

/** An average says nothing of one. Of epochs that a window was recorded beside it is not known. */
function firstBatchWords({ first_batch_us: us, epochs, first_batch_epochs: known }: WholeRun): string {
  if (us === undefined) return "";
  return `first batch ${formatDuration(us)}${known > 1 ? " on average" : ""}${known < epochs ? `, of ${formatCount(known)} of them` : ""}`;
}

function endWords({ ended, began, seconds }: WholeRun): string {
  if (!ended) return "runs still, or was killed";
  return `ended ${whenWords(1000 * (began + seconds), true)}`;
}

function More({ run }: { run: WholeRun }) {
  const notes = [
    ...(run.outside === undefined ? [] : [`Outside of steps: ${run.outside.text}.`]),
    ...(run.outside === undefined || run.outside.made_text === "" ? [] : [`${run.outside.made_text}.`]),
    ...(run.raised > 0 ? [`${plural(run.raised, "exception")} came to the loop in place of a batch.`] : []),
    ...run.growth.map((growth) => `Memory grows. ${growth.text}.`),
    ...run.phases
      .filter((phase) => phase.kind === "process")
      .map((phase) => `${clockOf(phase.from_s)}: ${phase.text}.`),
    ...(run.bad_lines > 0 ? [`${plural(run.bad_lines, "line")} of its files could not be read.`] : []),
  ];
  return (
    <>
      {notes.map((note) => (
        <p key={note} class="muted run-note" data-testid="run-note">
          <Prose text={note} />
        </p>
      ))}
      <RunLoaders run={run} />
      <Troubles run={run} />
      <SlowSamples run={run} />
      <Stages run={run} />
    </>
  );
}

function Stages({ run }: { run: WholeRun }) {
  if (run.stages.length === 0) return null;
  return (
    <section>
      <h2>Stages</h2>
      <p class="muted">On average, {run.stages_note}.</p>
      <DataTable name="Stages of the run" testId="run-stages">
        <thead>
          <tr>
            <Th column="stage" label="Stage" numeric={false} />
            <Th column="self" label="Self time per batch" />
          </tr>
        </thead>
        <tbody>
          <Rows>
            {run.stages.map((stage) => (
              <tr key={stage.name}>
                <th scope="row">{stage.name}</th>
                <DurationCell us={stage.self_us} />
              </tr>
            ))}
          </Rows>
        </tbody>
      </DataTable>
    </section>
  );
}

function samplesLooked({ measured_samples: measured, other_samples: others }: WholeRun): string {
  if (others === 0) return `In ${plural(measured, "measured sample")}.`;
  return `Of ${plural(measured + others, "sample")}; retries are of the ${formatCount(measured)} measured ones.`;
}

function Troubles({ run }: { run: WholeRun }) {
  if (run.troubles.length === 0) return null;
  return (
    <section>
      <h2>Failures and retries</h2>
      <p class="muted">{samplesLooked(run)}</p>
      <div class="scroll-x">
        <DataTable name="Failures and retries" testId="run-troubles">
          <thead>
            <tr>
              <Th column="stage" label="Stage" numeric={false} />
              <Th column="failures" label="Failures" />
              <Th column="samples" label="In samples" />
              <Th column="retries" label="Retries" />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {run.troubles.map((trouble) => (
                <tr key={trouble.stage}>
                  <th scope="row">{trouble.stage}</th>
                  <CountCell value={trouble.failures} />
                  <CountCell value={trouble.samples} />
                  <CountCell value={trouble.retries} />
                </tr>
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

const FILES = "The first paths that the sample was read from";
const NO_FILES = "No file was seen being read for this sample.";

function SlowSamples({ run }: { run: WholeRun }) {
  if (run.slow_samples.length === 0) return null;
  const withFiles = run.slow_samples.some(({ files }) => files.length > 0);
  const withWorker = run.slow_samples.some(({ worker }) => worker !== undefined);
  return (
    <section>
      <h2>Slowest samples</h2>
      <p class="muted">Of {plural(run.measured_samples + run.other_samples, "sample")} that were looked at.</p>
      <div class="scroll-x">
        <DataTable name="Slowest samples" testId="run-slow-samples">
          <thead>
            <tr>
              <Th column="index" label="Index" />
              <Th column="took" label="Took" />
              <Th column="epoch" label="Epoch" title="Where it took longest" />
              <Th column="batch" label="Batch" title="Where it took longest" />
              {withWorker && <Th column="worker" label="DataLoader worker" title="That made it there" />}
              <Th column="times" label="Intervals" title="Intervals of the run in which it was among the slowest" />
              {withFiles && <Th column="files" label="Files" numeric={false} title={FILES} />}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {run.slow_samples.map((sample) => (
                <tr key={sample.index}>
                  <th scope="row" class="num" data-value={sample.index}>
                    {String(sample.index)}
                  </th>
                  <DurationCell us={sample.took_us} />
                  <CountCell value={sample.epoch} />
                  <CountCell value={sample.batch} />
                  {withWorker && <Worker number={sample.worker} />}
                  <CountCell value={sample.times} />
                  {withFiles && <FilesCell files={sample.files} reason={NO_FILES} />}
                </tr>
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

function Worker({ number }: { number: number | undefined }) {
  return (
    <td class="num" data-value={number}>
      {number === undefined ? <Unknown reason="The training process made it." /> : number}
    </td>
  );
}
