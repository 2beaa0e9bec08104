import { batch, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Capture, Device, Gap } from "../../contract/report";
import { type Cause, causeToken } from "../../model/causes";
import { chainRows, gapBeside, gapOfBox, gapsOfCause, type Place, whyNotChosen } from "../../model/chain";
import { formatCount, formatDuration } from "../../model/format";
import type { BoxInfo } from "../../model/hover";
import { deviceName } from "../../model/parts";
import { reasonFor } from "../../model/reasons";
import { asSentence } from "../../model/sentence";
import { shareWords } from "../../model/shares";
import type { TimeRange } from "../../model/time-scale";
import {
  causeFilter,
  chainLink,
  deviceIndex,
  FIRST_ROWS,
  gapRows,
  range,
  selectedGapUs,
  timeline,
} from "../../state/atoms";
import { CauseBar } from "../../ui/cause-bar";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";
import { Prose } from "../../ui/prose";
import { ThreadLimits } from "../../ui/thread-limits";
import { TimelinePanel } from "../shared/timeline-panel";
import { GapDetail } from "./gap-detail";
import { GapTable } from "./gap-table";
import { chooseGap, showGap, turnToGap } from "./show-gap";

const LABEL = "Timeline of steps, data waits, stages and device activity. The table of gaps below lists the same gaps.";

export function Gaps({ capture, id }: { capture: Capture; id: string }) {
  const device = capture.devices[deviceIndex.value] ?? capture.devices[0];
  if (device === undefined) return <NoDevice capture={capture} id={id} />;
  return <DeviceGaps capture={capture} id={id} device={device} />;
}

function NoDevice({ capture, id }: { capture: Capture; id: string }) {
  return (
    <>
      <section data-testid="unavailable-state">
        <p class="sentence">Idle time is unknown.</p>
        <p class="muted reason">
          <Prose text={asSentence(reasonFor(capture, "device").message)} />
        </p>
      </section>
      <TimelinePanel id={id} label={LABEL} />
    </>
  );
}

type DeviceProps = { readonly capture: Capture; readonly id: string; readonly device: Device };

/** A click that chose no gap; what it says holds until another is chosen. */
type Missed = { readonly why: string; readonly before: number | null };

function DeviceGaps({ capture, id, device }: DeviceProps) {
  const missed = useSignal<Missed | null>(null);
  const cause = causeFilter.value;
  const gaps = gapsOfCause(device.gaps, cause);
  const gap = chosenGap(gaps);
  const laneId = gapLaneId(device);
  const selected = useMemo(() => (gap === null ? null : rangeOf(gap)), [gap]);
  const link = gap !== null && selectedGapUs.value === gap.start_us ? chainLink.value : null;
  const marked = useMemo<Place | null>(
    () => (gap === null ? null : (chainRows(gap, laneId).find(({ key }) => key === link)?.place ?? null)),
    [gap, laneId, link],
  );
  const scope = useMemo(() => ({ device: device.id }), [device.id]);
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
        <Prose text={device.sentence} />
      </p>
      {capture.devices.length > 1 && <DeviceSelect devices={capture.devices} />}
      <GapNumbers device={device} windowUs={capture.window_us} />
      <CauseBar
        device={device}
        windowUs={capture.window_us}
        chosen={cause}
        choose={(next) => filterBy(next, device.gaps)}
      />
      <ThreadLimits capture={capture} device={device} />
      <TimelinePanel
        id={id}
        label={LABEL}
        scope={scope}
        selected={selected}
        marked={marked}
        only={cause === null ? null : causeToken(cause)}
        onPick={pick}
        turnGap={(shown, turn) => {
          const chosen = gaps.find((item) => item.start_us === selectedGapUs.value) ?? null;
          const next = gapBeside(gaps, chosen, shown, turn);
          if (next !== null) turnToGap(next);
          return next !== null;
        }}
        pickWords={
          <>
            click a gap to see its chain of causes, <kbd>l</kbd> goes to the next shorter one
          </>
        }
        below={missed.value?.before === selectedGapUs.value && <MissedLine why={missed.value.why} />}
      />
      {gap !== null && <GapDetail {...{ capture, gaps, gap, laneId, marked }} />}
      <GapTable device={device} cause={cause} chosen={gap} />
    </>
  );
}

function MissedLine({ why }: { why: string }) {
  return (
    <p class="muted" role="status" data-testid="gap-missed">
      {why}
    </p>
  );
}

/** The one that was chosen; else the longest, so that the view does not change its shape when one is. */
function chosenGap(gaps: readonly Gap[]): Gap | null {
  return gaps.find((gap) => gap.start_us === selectedGapUs.value) ?? gaps[0] ?? null;
}

/** "" until the timeline is there. */
function gapLaneId(device: Device): string {
  const lanes = timeline.value.whole?.lanes ?? [];
  return lanes.find((lane) => lane.kind === "gaps" && lane.device === device.id)?.id ?? "";
}

function rangeOf({ start_us, duration_us }: Gap): TimeRange {
  return { startUs: start_us, endUs: start_us + duration_us };
}

function chooseCause(cause: Cause | null): void {
  causeFilter.value = cause;
  gapRows.value = FIRST_ROWS;
}

/** A chosen gap that the filter leaves out gives way to the longest that it lets through, in the timeline too. */
function filterBy(cause: Cause | null, all: readonly Gap[]): void {
  const gaps = gapsOfCause(all, cause);
  const [first] = gaps;
  batch(() => {
    chooseCause(cause);
    if (selectedGapUs.value === null || gaps.some(({ start_us }) => start_us === selectedGapUs.value)) return;
    if (first === undefined) selectedGapUs.value = chainLink.value = null;
    else showGap(first);
  });
}

function DeviceSelect({ devices }: { devices: readonly Device[] }) {
  const choose = (index: number): void => {
    deviceIndex.value = index;
    selectedGapUs.value = null;
    chainLink.value = null;
    range.value = null;
    chooseCause(null);
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

/** Gaps differ by orders of magnitude: a mean would be like none of them. */
const FEW = 10;

function longestShare({ gaps, idle_us }: Device): string {
  const longest = gaps.map((gap) => gap.duration_us).toSorted((a, b) => b - a);
  return shareWords(
    longest.slice(0, FEW).reduce((sum, us) => sum + us, 0),
    idle_us,
  );
}

function GapNumbers({ device, windowUs }: { device: Device; windowUs: number | undefined }) {
  const { idle_us, busy_us, gap_count, longest_gap_us, kernel_busy_us: kernelsUs } = device;
  const kernels = kernelsUs === undefined ? "" : `; kernels alone ${formatDuration(kernelsUs)}`;
  return (
    <NumberRow>
      <BigNumber
        label="Idle"
        testId="number-gaps-idle"
        {...asDuration(idle_us)}
        note={`${shareWords(idle_us, windowUs)} of the window${device.idle_note && `; ${device.idle_note}`}`}
      />
      <BigNumber
        label="Gaps"
        testId="number-gap-count"
        value={gap_count}
        text={formatCount(gap_count)}
        note={gap_count <= FEW ? "" : `the ${FEW} longest have ${longestShare(device)} of the idle time`}
      />
      <BigNumber
        label="Longest gap"
        testId="number-longest-gap"
        {...asDuration(longest_gap_us)}
        note={`${shareWords(longest_gap_us, idle_us)} of the idle time`}
      />
      <BigNumber
        label="Busy"
        testId="number-busy"
        {...asDuration(busy_us)}
        note={`${shareWords(busy_us, windowUs)} of the window${kernels}`}
      />
    </NumberRow>
  );
}
