import type { Capture } from "../../contract/report";
import { exactUs, formatCount, formatDuration, formatPercent, plural } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { share, shareWords } from "../../model/shares";
import { batchesMade, type LoaderPart, loaderNumbers, workerTotals } from "../../model/workers";
import { BigNumber, NumberRow } from "../../ui/numbers";

const NO_STARVED =
  "It is not known when the DataLoader workers had no index to work on: the capture does not tell when indices were put into their queues.";
const NO_OWN_WAIT =
  "Which part of the data wait is this DataLoader's, only all of its batches would tell; the report lists some of them.";
const NO_STARTUP = "No DataLoader worker was started within the window.";
const NO_BLOCKED = "No finished batch was seen behind one that the training thread waited for.";

type Shown = { readonly value: number | undefined; readonly text: string; readonly exact: string };

function asDuration(us: number | undefined): Shown {
  return { value: us, text: us === undefined ? "" : formatDuration(us), exact: us === undefined ? "" : exactUs(us) };
}

/** The share of the window; without a window the time alone. */
function asShare(us: number | undefined, windowUs: number | undefined): Shown {
  const part = us === undefined ? undefined : share(us, windowUs);
  return part === undefined ? asDuration(us) : { ...asDuration(us), text: formatPercent(part) };
}

/** "5.87 s of the 10.3 s window". */
function ofWindow(us: number | undefined, windowUs: number | undefined): string {
  if (us === undefined) return "";
  return windowUs === undefined
    ? formatDuration(us)
    : `${formatDuration(us)} of the ${formatDuration(windowUs)} window`;
}

export function WorkerNumbers({ capture, part }: { capture: Capture; part: LoaderPart }) {
  const { window_us: windowUs } = capture;
  const { count, busyUs, starvedUs, waitUs, blockedUs, startupUs } = workerTotals(capture, part);
  const each = count === 1 ? "" : " each, on average";
  const processes = part.workers.length === count ? "" : `${plural(part.workers.length, "process", "processes")}, `;
  return (
    <NumberRow>
      <BigNumber
        label="DataLoader workers"
        testId="number-workers"
        value={count}
        text={formatCount(count)}
        note={`${processes}${plural(batchesMade(part.workers), "batch", "batches")}`}
        reason=""
      />
      <BigNumber
        label="Busy"
        testId="number-workers-busy"
        {...asShare(busyUs, windowUs)}
        note={`${ofWindow(busyUs, windowUs)}${each}`}
        reason=""
      />
      <BigNumber
        label="Starved"
        testId="number-workers-starved"
        {...asShare(starvedUs, windowUs)}
        note={starvedUs === undefined ? "" : `${formatDuration(starvedUs)}${each}, without an index to work on`}
        reason={NO_STARVED}
      />
      <BigNumber
        label="Data wait"
        testId="number-workers-wait"
        {...asShare(waitUs, windowUs)}
        note={waitUs === undefined ? "" : `${ofWindow(waitUs, windowUs)}, on the training thread`}
        reason={loaderNumbers(capture).length > 1 ? NO_OWN_WAIT : reasonFor(capture, "loader")}
      />
      <BigNumber
        label="Head of line"
        testId="number-head-of-line"
        {...asDuration(blockedUs)}
        note={`summed over batches: ready while an earlier one was waited for${coverWords(capture)}`}
        reason={NO_BLOCKED}
      />
      <BigNumber
        label="Longest start-up"
        testId="number-startup"
        {...asDuration(startupUs)}
        note={startupWords(startupUs, windowUs)}
        reason={NO_STARTUP}
      />
    </NumberRow>
  );
}

function startupWords(us: number | undefined, windowUs: number | undefined): string {
  if (us === 0) return "in the window all were ready from the start";
  return us === undefined || share(us, windowUs) === undefined
    ? ""
    : `${shareWords(us, windowUs)} of the window, before the slowest was ready`;
}

function coverWords({ batches, batch_count = 0 }: Capture): string {
  return batches.length >= batch_count
    ? ""
    : `; in the first ${formatCount(batches.length)} of ${formatCount(batch_count)} batches`;
}
