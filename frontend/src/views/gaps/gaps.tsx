import { useSignal } from "@preact/signals";
import type { Capture, Device, Gap } from "../../contract/report";
import { type Cause, causeToken } from "../../model/causes";
import { chainRows, gapOfBox, gapsOfCause, type Place, whyNotChosen } from "../../model/chain";
import { exactUs, formatCount, formatDuration } from "../../model/format";
import type { BoxInfo } from "../../model/hover";
import { deviceOfLane } from "../../model/lanes";
import { reasonFor } from "../../model/reasons";
import { shareWords } from "../../model/shares";
import { deviceName, gapsSentence } from "../../model/summary";
import { causeFilter, chainLink, deviceIndex, gapRows, range, selectedGapUs } from "../../state/atoms";
import { CauseBar } from "../../ui/cause-bar";
import { BigNumber, NumberRow } from "../../ui/numbers";
import { TimelinePanel } from "../../ui/timeline-panel";
import { GapDetail } from "./gap-detail";
import { GapTable } from "./gap-table";
import { chooseGap } from "./show-gap";

const LABEL =
  "Timeline of steps, data waits, stages and device activity. The table of gaps below has the same gaps as text.";

/** A click that chose no gap; what it says holds until another is chosen. */
type Missed = { readonly why: string; readonly before: number | null };

export function Gaps({ capture, id }: { capture: Capture; id: string }) {
  const device = capture.devices[deviceIndex.value] ?? capture.devices[0];
  const missed = useSignal<Missed | null>(null);
  if (device === undefined) return <NoDevice capture={capture} id={id} />;
  const cause = causeFilter.value;
  const gaps = gapsOfCause(device.gaps, cause);
  const gap = chosenGap(gaps);
  const pick = (box: BoxInfo | null): void => {
    const gapBox = box !== null && box.lane.kind === "gaps" ? box : null;
    const found = gapBox === null ? null : gapOfBox(gaps, gapBox);
    if (found !== null) chooseGap(found);
    const why = gapBox === null || found !== null ? null : whyNotChosen(device.gaps, device.gap_count, gapBox);
    missed.value = why === null ? null : { why, before: selectedGapUs.value };
  };
  return (
    <>
      <p class="sentence" data-testid="gaps-sentence">
        {gapsSentence(device, capture.window_us)}
      </p>
      {capture.devices.length > 1 && <DeviceSelect devices={capture.devices} />}
      <GapNumbers device={device} windowUs={capture.window_us} />
      <CauseBar device={device} windowUs={capture.window_us} chosen={cause} choose={chooseCause} />
      <TimelinePanel
        id={id}
        label={LABEL}
        keep={(lane) => (deviceOfLane(lane) ?? device.id) === device.id}
        keepKey={`device ${device.id}`}
        selected={gap === null ? null : { startUs: gap.start_us, endUs: gap.start_us + gap.duration_us }}
        marked={gap === null ? null : placeOf(gap, device)}
        only={cause === null ? null : causeToken(cause)}
        onPick={pick}
        pickWords="a click on a gap tells what led to it"
        below={
          missed.value?.before === selectedGapUs.value && (
            <p class="muted" role="status" data-testid="gap-missed">
              {missed.value?.why}
            </p>
          )
        }
      />
      {gap !== null && <GapDetail capture={capture} device={device} gaps={gaps} gap={gap} />}
      <GapTable device={device} cause={cause} chosen={gap} />
    </>
  );
}

function NoDevice({ capture, id }: { capture: Capture; id: string }) {
  return (
    <>
      <section data-testid="unavailable-state">
        <p class="sentence">Idle time cannot be told: this capture has no device activity.</p>
        <p class="muted reason">{reasonFor(capture, "device")}</p>
        <p class="muted">The timeline still shows steps, waits and stages.</p>
      </section>
      <TimelinePanel id={id} label={LABEL} keep={() => true} keepKey="no device" />
    </>
  );
}

/** The one that was chosen; else the longest, so that the view does not change its shape when one is. */
function chosenGap(gaps: readonly Gap[]): Gap | null {
  return gaps.find((gap) => gap.start_us === selectedGapUs.value) ?? gaps[0] ?? null;
}

function placeOf(gap: Gap, device: Device): Place | null {
  const key = selectedGapUs.value === gap.start_us ? chainLink.value : null;
  return chainRows(gap, device).find((row) => row.key === key)?.place ?? null;
}

function chooseCause(cause: Cause | null): void {
  causeFilter.value = cause;
  gapRows.value = 50;
}

function DeviceSelect({ devices }: { devices: readonly Device[] }) {
  const choose = (index: number): void => {
    deviceIndex.value = index;
    selectedGapUs.value = null;
    chainLink.value = null;
    causeFilter.value = null;
    gapRows.value = 50;
    range.value = null;
  };
  return (
    <p>
      <label>
        Device{" "}
        <select
          data-testid="device-select"
          value={deviceIndex.value}
          onChange={(event) => choose(Number(event.currentTarget.value))}>
          {devices.map((device, index) => (
            <option key={device.id} value={index}>
              {deviceName(device)}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}

function GapNumbers({ device, windowUs }: { device: Device; windowUs: number | undefined }) {
  const mean = device.gap_count === 0 ? undefined : device.idle_us / device.gap_count;
  return (
    <NumberRow>
      <BigNumber
        label="Idle"
        testId="number-gaps-idle"
        value={device.idle_us}
        text={formatDuration(device.idle_us)}
        exact={exactUs(device.idle_us)}
        note={`${shareWords(device.idle_us, windowUs)} of the window`}
        reason=""
      />
      <BigNumber
        label="Gaps"
        testId="number-gap-count"
        value={device.gap_count}
        text={formatCount(device.gap_count)}
        note={mean === undefined ? "" : `${formatDuration(mean)} each on average`}
        reason=""
      />
      <BigNumber
        label="Longest gap"
        testId="number-longest-gap"
        value={device.longest_gap_us}
        text={formatDuration(device.longest_gap_us)}
        exact={exactUs(device.longest_gap_us)}
        note={`${shareWords(device.longest_gap_us, device.idle_us)} of the idle time`}
        reason=""
      />
      <BigNumber
        label="Busy"
        testId="number-busy"
        value={device.busy_us}
        text={formatDuration(device.busy_us)}
        exact={exactUs(device.busy_us)}
        note={`${shareWords(device.busy_us, windowUs)} of the window${device.kernel_busy_us === undefined ? "" : `; kernels alone ${formatDuration(device.kernel_busy_us)}`}`}
        reason=""
      />
    </NumberRow>
  );
}
