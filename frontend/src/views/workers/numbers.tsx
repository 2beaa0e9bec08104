import type { Capture } from "../../contract/report";
import { formatCount, formatDuration, plural } from "../../model/format";
import { type Reason, reasonFor } from "../../model/reasons";
import { share, shareWords } from "../../model/shares";
import type { LoaderPart } from "../../model/workers";
import { asDuration, asShare, BigNumber, NumberRow } from "../../ui/numbers";

const NO_STARVED: Reason = {
  title: "Not recorded",
  message: "The capture does not record when indices were put into the DataLoader workers' queues.",
};
const NO_OWN_WAIT: Reason = {
  title: "Unknown for a single DataLoader",
  message: "Several DataLoaders share the data wait; the part of this one is unknown.",
};
const NO_STARTUP: Reason = {
  title: "None started in the window",
  message: "No DataLoader worker was started in the window.",
};
const NO_HEAD_OF_LINE: Reason = {
  title: "Not recorded",
  message: "The capture has no record of finished batches that were held back by an earlier one.",
};

/** "5.87 s of the 10.3 s window". */
function ofWindow(us: number | undefined, windowUs: number | undefined): string {
  if (us === undefined) return "";
  return windowUs === undefined
    ? formatDuration(us)
    : `${formatDuration(us)} of the ${formatDuration(windowUs)} window`;
}

export function WorkerNumbers({ capture, part: { summary } }: { capture: Capture; part: LoaderPart }) {
  const { window_us: windowUs, worker_summaries: loaders } = capture;
  const { workers, processes, batches, busy_us, alive_us, starved_us, epoch_over_us: overUs } = summary;
  const { wait_us, head_of_line_us, startup_us } = summary;
  const each = workers === 1 ? "" : " each, on average";
  return (
    <NumberRow>
      <BigNumber
        label="DataLoader workers"
        testId="number-workers"
        value={workers}
        text={formatCount(workers)}
        note={`${processes === workers ? "" : `${plural(processes, "process")}, `}${plural(batches, "batch")} finished in the window`}
      />
      <BigNumber
        label="Busy"
        testId="number-workers-busy"
        {...asShare(busy_us, alive_us)}
        note={`${formatDuration(busy_us)} of a lifetime of ${formatDuration(alive_us)}${each}`}
      />
      <BigNumber
        label="Starved"
        testId="number-workers-starved"
        {...asShare(starved_us, alive_us)}
        note={`${formatDuration(starved_us ?? 0)}${each}, without an index in the queue, while there were more to come`}
        reason={NO_STARVED}
      />
      {(overUs ?? 0) > 0 && (
        <BigNumber
          label="Epoch over"
          testId="number-workers-over"
          {...asShare(overUs, alive_us)}
          note={`${formatDuration(overUs ?? 0)}${each}, before an epoch's first index or after its last`}
        />
      )}
      <BigNumber
        label="Data wait"
        testId="number-workers-wait"
        {...asShare(wait_us, windowUs)}
        note={waitNote(capture, wait_us)}
        reason={loaders.length > 1 ? NO_OWN_WAIT : reasonFor(capture, "loader")}
      />
      <BigNumber
        label="Head-of-line wait"
        testId="number-head-of-line"
        {...asDuration(head_of_line_us)}
        note="summed over finished batches, while the training thread waited for an earlier one"
        reason={NO_HEAD_OF_LINE}
      />
      {startup_us !== 0 && (
        <BigNumber
          label="Longest startup"
          testId="number-startup"
          {...asDuration(startup_us)}
          note={startupWords(startup_us, windowUs)}
          reason={NO_STARTUP}
        />
      )}
    </NumberRow>
  );
}

/** Overview's data wait is all of it: for other DataLoaders too, and while DataLoader workers are shut down. */
function waitNote({ loader, window_us }: Capture, us: number | undefined): string {
  const words = ofWindow(us, window_us);
  if (us === undefined || loader === undefined || us === loader.wait_us) return `${words}, on the training thread`;
  return `${words}, for this DataLoader's batches; all data wait: ${formatDuration(loader.wait_us)}`;
}

function startupWords(us: number | undefined, windowUs: number | undefined): string {
  if (us === undefined || share(us, windowUs) === undefined) return "";
  return `${shareWords(us, windowUs)} of the window, until the slowest was running`;
}
