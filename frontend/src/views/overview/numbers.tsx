import type { Capture, Throughput } from "../../contract/report";
import { exactUs, formatDuration, formatPercent, plural, sig3 } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { share, shareWords } from "../../model/shares";
import { BigNumber, Exact, NumberRow } from "../../ui/numbers";

export function OverviewNumbers({ capture }: { capture: Capture }) {
  return (
    <NumberRow>
      <IdleNumber capture={capture} />
      <WaitNumber capture={capture} />
      <ExposedNumber capture={capture} />
      <ThroughputNumber capture={capture} />
      <StepNumber capture={capture} />
    </NumberRow>
  );
}

function ofWindow(us: number, windowUs: number | undefined) {
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

/** The share when the window is known, else the time alone. */
function shareText(us: number | undefined, windowUs: number | undefined): string {
  if (us === undefined) return "";
  const part = share(us, windowUs);
  return part === undefined ? formatDuration(us) : formatPercent(part);
}

function IdleNumber({ capture }: { capture: Capture }) {
  const device = capture.devices[0];
  const others = capture.devices.length - 1;
  return (
    <BigNumber
      label={others > 0 ? `Device ${device?.id ?? 0} idle` : "Device idle"}
      testId="number-idle"
      value={device?.idle_us}
      text={shareText(device?.idle_us, capture.window_us)}
      exact={device === undefined ? "" : exactUs(device.idle_us)}
      note={
        device === undefined ? (
          ""
        ) : (
          <>
            {ofWindow(device.idle_us, capture.window_us)}
            {others > 0 && `; ${others} more in Idle gaps`}
          </>
        )
      }
      reason={reasonFor(capture, "device")}
    />
  );
}

function WaitNumber({ capture }: { capture: Capture }) {
  const waitUs = capture.loader?.wait_us;
  return (
    <BigNumber
      label="Data wait"
      testId="number-data-wait"
      value={waitUs}
      text={shareText(waitUs, capture.window_us)}
      exact={waitUs === undefined ? "" : exactUs(waitUs)}
      note={waitUs === undefined ? "" : ofWindow(waitUs, capture.window_us)}
      reason={reasonFor(capture, "loader")}
    />
  );
}

function ExposedNumber({ capture }: { capture: Capture }) {
  const exposedUs = capture.loader?.exposed_wait_us;
  const waitUs = capture.loader?.wait_us ?? 0;
  return (
    <BigNumber
      label="Exposed wait"
      testId="number-exposed-wait"
      value={exposedUs}
      text={exposedUs === undefined ? "" : formatDuration(exposedUs)}
      exact={exposedUs === undefined ? "" : exactUs(exposedUs)}
      note={exposedUs === undefined ? "" : `${shareWords(exposedUs, waitUs)} of the data wait left the device idle`}
      reason={reasonFor(capture, capture.loader === undefined ? "loader" : "device")}
    />
  );
}

function samplesNote(throughput: Throughput | undefined): string {
  return throughput?.samples === undefined
    ? "over the window"
    : `${plural(Math.round(throughput.samples), "sample")} in the window`;
}

function ThroughputNumber({ capture }: { capture: Capture }) {
  const rate = capture.throughput?.samples_per_s;
  return (
    <BigNumber
      label="Throughput"
      testId="number-throughput"
      value={rate}
      text={rate === undefined ? "" : `${sig3(rate)}\u00a0samples/s`}
      exact={rate === undefined ? "" : `${rate} samples per second`}
      note={samplesNote(capture.throughput)}
      reason={reasonFor(capture, "throughput")}
    />
  );
}

function StepNumber({ capture }: { capture: Capture }) {
  const { steps } = capture;
  return (
    <BigNumber
      label="Mean step"
      testId="number-step-mean"
      value={steps?.mean_us}
      text={steps === undefined ? "" : formatDuration(steps.mean_us)}
      exact={steps === undefined ? "" : exactUs(steps.mean_us)}
      note={
        steps === undefined
          ? ""
          : `${plural(steps.count, "step")}; p50 ${formatDuration(steps.p50_us)}, p95 ${formatDuration(steps.p95_us)}`
      }
      reason={reasonFor(capture, "steps")}
    />
  );
}
