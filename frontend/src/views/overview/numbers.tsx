import type { Capture, Headspace, SteadyState, Throughput } from "../../contract/report";
import { exactNumber, exactUs, formatDuration, formatPercent, plural, significant } from "../../model/format";
import { itemOf, itemsOf } from "../../model/items";
import { reasonFor } from "../../model/reasons";
import { shareWords } from "../../model/shares";
import { asDuration, asShare, BigNumber, Exact, NumberRow } from "../../ui/numbers";

/** Without a device there is neither idle nor exposed time: one card says so. */
export function OverviewNumbers({ capture }: { capture: Capture }) {
  return (
    <NumberRow>
      <IdleNumber capture={capture} />
      <WaitNumber capture={capture} />
      {capture.devices.length > 0 && <ExposedNumber capture={capture} />}
      <ThroughputNumber capture={capture} />
      <StepNumber capture={capture} />
      {capture.headspace !== undefined && <HeadspaceNumber headspace={capture.headspace} capture={capture} />}
    </NumberRow>
  );
}

/** "461 ms of the 838 ms window". */
function OfWindow({ us, windowUs }: { us: number | undefined; windowUs: number | undefined }) {
  if (us === undefined) return null;
  return (
    <>
      <Exact value={us} title={exactUs(us)}>
        {formatDuration(us)}
      </Exact>
      {windowUs !== undefined && (
        <>
          {" "}
          of the{" "}
          <Exact value={windowUs} title={exactUs(windowUs)}>
            {formatDuration(windowUs)}
          </Exact>{" "}
          window
        </>
      )}
    </>
  );
}

function IdleNumber({ capture }: { capture: Capture }) {
  const { devices, window_us: windowUs } = capture;
  const [device] = devices;
  const others = devices.length - 1;
  const note = (
    <>
      <OfWindow us={device?.idle_us} windowUs={windowUs} />
      {device?.idle_note && `; ${device.idle_note}`}
      {others > 0 && `; ${others} more in Idle gaps`}
    </>
  );
  return (
    <BigNumber
      label={others > 0 ? `Device ${device?.id ?? 0} idle` : "Device idle"}
      testId="number-idle"
      {...asShare(device?.idle_us, windowUs)}
      note={note}
      reason={reasonFor(capture, "device")}
    />
  );
}

function WaitNumber({ capture }: { capture: Capture }) {
  const { loader, window_us: windowUs } = capture;
  return (
    <BigNumber
      label="Data wait"
      testId="number-data-wait"
      {...asShare(loader?.wait_us, windowUs)}
      note={
        <>
          <OfWindow us={loader?.wait_us} windowUs={windowUs} />
          <SteadyShare steady={loader?.steady_state} without={loader?.apart?.names} />
        </>
      }
      reason={reasonFor(capture, "loader")}
    />
  );
}

/** Why the measured data wait is not that of a longer run. */
const QUEUE: Readonly<Record<string, string>> = {
  draining: "the queue of finished batches empties in the window, ",
  filling: "the queue of finished batches fills in the window, ",
};

/**
 * What the data wait is once the queue is neither draining nor filling: "; steady state 75.1% (70.0% to 80.2%)".
 * `without`: what it leaves out.
 */
function SteadyShare({ steady, without }: { steady: SteadyState | undefined; without: string | undefined }) {
  if (steady === undefined) return null;
  const { share, share_low: low, share_high: high, sentence } = steady;
  const why = QUEUE[steady.state] ?? "";
  if (share === undefined && why === "") return null;
  return (
    <span data-testid="steady-share" title={sentence || undefined}>
      ; {why}steady state{" "}
      {share === undefined ? (
        "unknown"
      ) : (
        <Exact value={share} title={`${exactNumber(100 * share)}%`}>
          {formatPercent(share)}
        </Exact>
      )}
      {low !== undefined && high !== undefined && ` (${formatPercent(low)} to ${formatPercent(high)})`}
      {without && ` without ${without}`}
    </span>
  );
}

function ExposedNumber({ capture }: { capture: Capture }) {
  const { wait_us: waitUs = 0, exposed_wait_us: exposedUs } = capture.loader ?? {};
  return (
    <BigNumber
      label="Exposed data wait"
      testId="number-exposed-wait"
      {...asDuration(exposedUs)}
      note={`${shareWords(exposedUs ?? 0, waitUs)} of the data wait: the device was idle`}
      reason={reasonFor(capture, capture.loader === undefined ? "loader" : "device")}
    />
  );
}

function samplesNote(throughput: Throughput | undefined): string {
  return throughput?.samples === undefined
    ? "over the window"
    : `${plural(Math.round(throughput.samples), itemOf(throughput))} in the window`;
}

function ThroughputNumber({ capture }: { capture: Capture }) {
  const { samples_per_s: rate } = capture.throughput ?? {};
  const items = itemsOf(capture.throughput);
  return (
    <BigNumber
      label="Throughput"
      testId="number-throughput"
      value={rate}
      text={`${significant(rate ?? 0)}\u00a0${items}/s`}
      exact={`${exactNumber(rate ?? 0)} ${items} per second`}
      note={samplesNote(capture.throughput)}
      reason={reasonFor(capture, "throughput")}
    />
  );
}

/** What the loop could do without its loader, as it was measured; the whole sentence on hover. */
function HeadspaceNumber({ headspace, capture }: { headspace: Headspace; capture: Capture }) {
  const { samples_per_s: rate, own_samples_per_s: own, step_us: step, own_step_us: ownStep, sentence } = headspace;
  const isRate = rate !== undefined && own !== undefined;
  const { value = 0, low = 0, high = 0 } = (isRate ? rate : step) ?? {};
  const shown = isRate ? significant : formatDuration;
  return (
    <BigNumber
      label="Without the loader"
      testId="number-headspace"
      value={value}
      text={isRate ? `${significant(value)}\u00a0samples/s` : formatDuration(value)}
      exact={sentence}
      note={`${shown((isRate ? own : ownStep)?.value ?? 0)} with it, right before. The loader stood still and used no CPU; 95% interval ${shown(low)} to ${shown(high)}`}
      reason={reasonFor(capture, "steps")}
    />
  );
}

function StepNumber({ capture }: { capture: Capture }) {
  const { count = 0, mean_us: meanUs, p50_us: p50 = 0, p95_us: p95 = 0, gains_of: gainsOf = "" } = capture.steps ?? {};
  const gains = gainsOf === "" ? "" : `; gains are of ${gainsOf}`;
  return (
    <BigNumber
      label="Mean step"
      testId="number-step-mean"
      {...asDuration(meanUs)}
      note={`${plural(count, "step")}; p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}${gains}`}
      reason={reasonFor(capture, "steps")}
    />
  );
}
