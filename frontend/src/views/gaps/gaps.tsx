import type { Capture, Device } from "../../contract/report";
import { exactUs, formatCount, formatDuration } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { deviceName, gapsSentence, shareWords } from "../../model/summary";
import { deviceOfLane } from "../../model/lanes";
import type { TimeRange } from "../../model/time-scale";
import { deviceIndex, gapRows, range, selectedGapUs } from "../../state/atoms";
import { BigNumber, NumberRow } from "../../ui/numbers";
import { TimelinePanel } from "../../ui/timeline-panel";
import { GapTable } from "./gap-table";

const LABEL = "Timeline of steps, data waits, stages and device activity. The table of gaps below has the same gaps as text.";

export function Gaps({ capture, id }: { capture: Capture; id: string }) {
  const device = capture.devices[deviceIndex.value] ?? capture.devices[0];
  return (
    <>
      {device === undefined ? (
        <section data-testid="unavailable-state">
          <p class="sentence">Idle time cannot be told: this capture has no device activity.</p>
          <p class="muted reason">{reasonFor(capture, "device")}</p>
          <p class="muted">The timeline still shows steps, waits and stages.</p>
        </section>
      ) : (
        <>
          <p class="sentence" data-testid="gaps-sentence">{gapsSentence(device, capture.window_us)}</p>
          {capture.devices.length > 1 && <DeviceSelect devices={capture.devices} />}
          <GapNumbers device={device} windowUs={capture.window_us} />
        </>
      )}
      <TimelinePanel
        id={id}
        label={LABEL}
        keep={(lane) => device === undefined || (deviceOfLane(lane) ?? device.id) === device.id}
        keepKey={`device ${device?.id}`}
        selected={selectedRange(device)}
      />
      {device !== undefined && <GapTable device={device} noWaitReason={reasonFor(capture, "loader")} />}
    </>
  );
}

function selectedRange(device: Device | undefined): TimeRange | null {
  const start = selectedGapUs.value;
  const gap = start === null ? undefined : device?.gaps.find((item) => item.start_us === start);
  return gap === undefined ? null : { startUs: gap.start_us, endUs: gap.start_us + gap.duration_us };
}

function DeviceSelect({ devices }: { devices: readonly Device[] }) {
  const choose = (index: number): void => {
    deviceIndex.value = index;
    selectedGapUs.value = null;
    gapRows.value = 50;
    range.value = null;
  };
  return (
    <p>
      <label>
        Device{" "}
        <select data-testid="device-select" value={deviceIndex.value} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {devices.map((device, index) => <option key={device.id} value={index}>{deviceName(device)}</option>)}
        </select>
      </label>
    </p>
  );
}

function GapNumbers({ device, windowUs }: { device: Device; windowUs: number | undefined }) {
  const mean = device.gap_count === 0 ? undefined : device.idle_us / device.gap_count;
  return (
    <NumberRow>
      <BigNumber label="Idle" testId="number-gaps-idle" value={device.idle_us} text={formatDuration(device.idle_us)}
        exact={exactUs(device.idle_us)} note={`${shareWords(device.idle_us, windowUs)} of the window`} reason="" />
      <BigNumber label="Gaps" testId="number-gap-count" value={device.gap_count} text={formatCount(device.gap_count)}
        note={mean === undefined ? "" : `${formatDuration(mean)} each on average`} reason="" />
      <BigNumber label="Longest gap" testId="number-longest-gap" value={device.longest_gap_us} text={formatDuration(device.longest_gap_us)}
        exact={exactUs(device.longest_gap_us)} note={`${shareWords(device.longest_gap_us, device.idle_us)} of the idle time`} reason="" />
      <BigNumber label="Busy" testId="number-busy" value={device.busy_us} text={formatDuration(device.busy_us)}
        exact={exactUs(device.busy_us)} note={`${shareWords(device.busy_us, windowUs)} of the window; kernels alone ${formatDuration(device.kernel_busy_us)}`} reason="" />
    </NumberRow>
  );
}
