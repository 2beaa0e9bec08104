import { batch } from "@preact/signals";
import type { Capture, Loader } from "../../contract/report";
import type { Cause } from "../../model/causes";
import { formatDuration, plural } from "../../model/format";
import { newEvidence, stageParts } from "../../model/parts";
import { reasonFor } from "../../model/reasons";
import { selectView } from "../../state/actions";
import { causeFilter, deviceIndex, printing } from "../../state/atoms";
import { CauseBar } from "../../ui/cause-bar";
import { PartsTable } from "../../ui/parts-table";
import { Prose } from "../../ui/prose";
import { ThreadLimits } from "../../ui/thread-limits";
import { BestFindings } from "./best-findings";
import { OverviewNumbers } from "./numbers";
import { RanksLine } from "./ranks-line";
import { Rates } from "./rates";
import { ReplayedSamples } from "./replayed-samples";
import { Settings } from "./settings";
import { StepChart } from "./step-chart";
import { hasWaitPicture, WaitPicture } from "./wait-picture";
import { WhatIfPanel } from "./what-if";

/** The gaps that have this cause, each with its chain. */
function showGapsOf(cause: Cause | null): void {
  batch(() => {
    causeFilter.value = cause;
    deviceIndex.value = 0;
    selectView("gaps");
  });
}

/** Sentence, numbers, what to change; then the pictures that prove it, and tables. */
export function Overview({ capture }: { capture: Capture }) {
  const [device] = capture.devices;
  const wait = capture.loader?.wait_sentence ?? "";
  return (
    <>
      <Verdict capture={capture} />
      <RanksLine capture={capture} />
      <Doubts capture={capture} />
      <OverviewNumbers capture={capture} />
      <WaitPicture capture={capture} />
      {wait !== "" && !hasWaitPicture(capture) && (
        <p class="relation muted" data-testid="wait-sentence">
          <Prose text={wait} />
        </p>
      )}
      {device !== undefined && <CauseBar device={device} windowUs={capture.window_us} choose={showGapsOf} />}
      <ReplayedSamples capture={capture} />
      <ThreadLimits capture={capture} device={device} />
      <div class="beside overview-parts">
        {!printing.value && <BestFindings capture={capture} />}
        <div class="stack">
          <Steps capture={capture} />
          <WhatIfPanel capture={capture} />
        </div>
        <Divisions capture={capture} />
        <Settings capture={capture} />
      </div>
    </>
  );
}

function Steps({ capture }: { capture: Capture }) {
  const { steps, loader, selection } = capture;
  if (steps !== undefined)
    return (
      <div>
        <StepChart steps={steps} waitKnown={loader !== undefined} selection={selection} />
        {loader !== undefined && <SingleWaits loader={loader} />}
      </div>
    );
  return (
    <section data-testid="steps-unavailable">
      <h2>Steps</h2>
      <p class="muted reason">
        <Prose text={reasonFor(capture, "steps").message} />
      </p>
    </section>
  );
}

function firstBatchWords(us: number, epochs: number, whose: string): string {
  return epochs === 1
    ? `for the first batch${whose} ${formatDuration(us)}`
    : `for the first batches of ${plural(epochs, "epoch")}${whose} ${formatDuration(us)} on average`;
}

/** A step may wait for several batches: its data wait is then longer than any of these. */
function SingleWaits({ loader }: { loader: Loader }) {
  const { wait_count: count, wait_p50_us: median, wait_max_us: longest, first_batch_wait_us: first } = loader;
  const whose = loader.first_batch_of === "" ? "" : ` of ${loader.first_batch_of}`;
  const epochs = Math.max(1, loader.first_batch_count ?? 0);
  const from = loader.has_iter === true ? ", with iter(loader)" : "";
  const words = [
    count > 1 && median !== undefined && longest !== undefined
      ? `${plural(count, "wait")}, p50 ${formatDuration(median)}, longest ${formatDuration(longest)}`
      : "",
    first === undefined ? "" : firstBatchWords(first / epochs, epochs, `${whose}${from}`),
  ].filter(Boolean);
  if (words.length === 0) return null;
  return (
    <p class="muted" data-testid="single-waits">
      Data wait of single batches: {words.join("; ")}.
    </p>
  );
}

/** Why the verdict and the numbers below may be wrong. */
function Doubts({ capture: { doubts } }: { capture: Capture }) {
  if (doubts.length === 0) return null;
  return (
    <section data-testid="doubts">
      <h2>Doubtful</h2>
      <ul class="evidence">
        {doubts.map(({ code, sentence }) => (
          <li key={code} data-code={code}>
            <Prose text={sentence} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Verdict({ capture }: { capture: Capture }) {
  const { verdict } = capture;
  const sentence = verdict?.sentence ?? "";
  const evidence = newEvidence(verdict);
  return (
    <section>
      <p class="sentence" data-testid="verdict" data-value={verdict?.bound}>
        <Prose text={sentence === "" ? "What limits this run is unknown." : sentence} />
      </p>
      {evidence.length > 0 && (
        <ul class="evidence" data-testid="verdict-evidence">
          {evidence.map(({ text }) => (
            <li key={text}>
              <Prose text={text} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function withApart(names = ""): string | undefined {
  return names === "" ? undefined : `Includes ${names}, which the verdict leaves out.`;
}

/** Where the data wait goes, and what each part could sustain alone. */
function Divisions({ capture }: { capture: Capture }) {
  const stages = stageParts(capture.loader?.wait_by_stage_us ?? {});
  return (
    <div class="columns">
      {capture.loader !== undefined && stages.length > 0 && (
        <PartsTable
          caption="Data wait by stage"
          parts={stages}
          wholeUs={capture.loader.wait_us}
          of={capture.loader.apart?.wait_us ? "of all data wait" : "of data wait"}
          note={withApart(capture.loader.apart?.wait_names)}
          testId="wait-by-stage"
        />
      )}
      <Rates capture={capture} />
    </div>
  );
}
