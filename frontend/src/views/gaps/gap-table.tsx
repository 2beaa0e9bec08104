import type { Device, Gap } from "../../contract/report";
import { chooseTimeUnit, exactUs, formatCount, inUnit, plural, positionDecimals, positionIn, type TimeUnit } from "../../model/format";
import { causeWords } from "../../model/hover";
import { shareWords } from "../../model/summary";
import { aroundSpan } from "../../model/time-scale";
import { gapRows, gapSort, range, selectedGapUs, timeline } from "../../state/atoms";
import { Unknown } from "../../ui/numbers";
import { SortHeader } from "../../ui/sort-header";
import { Swatch } from "../../ui/swatch";

type Units = { readonly start: TimeUnit; readonly startDecimals: number; readonly duration: TimeUnit };

export function GapTable({ device, noWaitReason }: { device: Device; noWaitReason: string }) {
  const { gaps } = device;
  if (gaps.length === 0) return null;
  const { column, descending } = gapSort.value;
  const sorted = gaps.toSorted((a, b) => (descending ? -1 : 1) * (a[column] - b[column]));
  const rows = sorted.slice(0, gapRows.value);
  const start = chooseTimeUnit(gaps.map((gap) => gap.start_us));
  const units = {
    start,
    startDecimals: positionDecimals(rows.map((gap) => gap.start_us), start),
    duration: chooseTimeUnit(gaps.map((gap) => gap.duration_us)),
  };
  return (
    <section>
      <h2>Gaps</h2>
      <p class="muted">{coverWords(device)} Choose one to see it in the timeline.</p>
      <div class="scroll-x">
        <table class="gaps" data-testid="gap-table">
          <thead>
            <tr>
              <Head column="start_us" label="Start" unit={units.start} />
              <Head column="duration_us" label="Duration" unit={units.duration} />
              <th scope="col" class="num">of idle</th>
              <th scope="col" class="num" title="How much of the gap the training thread waited for data">Data wait<span class="unit">, {units.duration}</span></th>
              <th scope="col">Cause</th>
              <th scope="col">Stage</th>
              <th scope="col" class="num">Step</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((gap) => <GapLine key={gap.start_us} gap={gap} units={units} idleUs={device.idle_us} noWaitReason={noWaitReason} />)}
          </tbody>
        </table>
      </div>
      {rows.length < gaps.length && (
        <button type="button" class="link" data-testid="more-gaps" onClick={() => (gapRows.value = gaps.length)}>
          Show all {formatCount(gaps.length)}
        </button>
      )}
    </section>
  );
}

function coverWords({ gaps, gap_count, idle_us }: Device): string {
  if (gaps.length >= gap_count) return `All ${plural(gap_count, "gap")}.`;
  const listed = gaps.reduce((sum, gap) => sum + gap.duration_us, 0);
  return `The largest ${formatCount(gaps.length)} of ${plural(gap_count, "gap")}; they make up ${shareWords(listed, idle_us)} of the idle time.`;
}

function Head({ column, label, unit }: { column: "start_us" | "duration_us"; label: string; unit: TimeUnit }) {
  const { column: active, descending } = gapSort.value;
  const onSort = (): void => {
    gapSort.value = { column, descending: active === column ? !descending : column === "duration_us" };
  };
  return <SortHeader label={label} unit={unit} active={active === column} descending={descending} onSort={onSort} />;
}

function show(gap: Gap): void {
  selectedGapUs.value = gap.start_us;
  const window = timeline.value.whole?.window;
  if (window !== undefined) range.value = aroundSpan(gap.start_us, gap.duration_us, window);
  document.querySelector("[data-testid=timeline-panel]")?.scrollIntoView({ block: "nearest" });
}

type LineProps = { readonly gap: Gap; readonly units: Units; readonly idleUs: number; readonly noWaitReason: string };

function GapLine({ gap, units, idleUs, noWaitReason }: LineProps) {
  return (
    <tr
      class="choice"
      data-testid="gap-row"
      data-start-us={gap.start_us}
      data-duration-us={gap.duration_us}
      aria-current={selectedGapUs.value === gap.start_us ? "true" : undefined}
      onClick={() => show(gap)}
    >
      <td class="num" title={exactUs(gap.start_us)}>
        <button type="button" class="link tabular" aria-label={`Show the gap that starts at ${exactUs(gap.start_us)}`}>
          {positionIn(gap.start_us, units.start, units.startDecimals)}
        </button>
      </td>
      <td class="num" data-value-us={gap.duration_us} title={exactUs(gap.duration_us)}>{inUnit(gap.duration_us, units.duration)}</td>
      <td class="num">{shareWords(gap.duration_us, idleUs)}</td>
      {gap.data_wait_us === undefined ? (
        <td class="num"><Unknown reason={noWaitReason} /></td>
      ) : (
        <td class="num" data-value-us={gap.data_wait_us} title={exactUs(gap.data_wait_us)}>{inUnit(gap.data_wait_us, units.duration)}</td>
      )}
      <td title="The cause with the largest share of this gap"><Swatch token={`idle:${gap.cause || "unknown"}`} />{causeWords(gap.cause || "unknown")}</td>
      <td class="mono">{gap.stage === "" ? <Unknown reason="No stage is blamed: the training thread did not wait for data here, or the capture has no stages." /> : gap.stage}</td>
      <td class="num">{gap.step ?? <Unknown reason="The gap starts outside of all steps." />}</td>
    </tr>
  );
}
