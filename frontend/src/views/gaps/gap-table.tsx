import type { Device, Gap } from "../../contract/report";
import { asCause, type Cause, causeLabel, causeParts } from "../../model/causes";
import { gapsOfCause } from "../../model/chain";
import {
  chooseTimeUnit,
  exactPosition,
  exactUs,
  formatCount,
  formatDuration,
  inUnit,
  plural,
  positionDecimals,
  positionIn,
  type TimeUnit,
} from "../../model/format";
import { type GapColumn, sortedGaps, turnedSort } from "../../model/gap-order";
import { share, shareWords } from "../../model/shares";
import { stageLabel } from "../../model/words";
import { gapRows, gapSort } from "../../state/atoms";
import { GapCauses } from "../../ui/cause-bar";
import { ExportCell, ExportHead, ShareCell } from "../../ui/cells";
import { DataTable } from "../../ui/data-table";
import { Unknown } from "../../ui/numbers";
import { SortHeader } from "../../ui/sort-header";
import { StageRef } from "../../ui/stage-ref";
import { Swatch } from "../../ui/swatch";
import { showGap } from "./show-gap";

type Units = { readonly start: TimeUnit; readonly startDecimals: number; readonly duration: TimeUnit };

const MAIN_CAUSE = "The cause with the largest share of this gap, and that share";
const STAGE = "The stage with the largest share of the gap's data wait, and that share of it";
const NO_STAGE = "None of this gap is data wait, or the capture has no stage data.";

type Props = { readonly device: Device; readonly cause: Cause | null; readonly chosen: Gap | null };

export function GapTable({ device, cause, chosen }: Props) {
  if (device.gaps.length === 0) return null;
  const gaps = gapsOfCause(device.gaps, cause);
  const sorted = sortedGaps(gaps, gapSort.value);
  const rows = sorted.slice(0, gapRows.value);
  const withStage = device.gaps.some(({ stage }) => stage !== "");
  const start = chooseTimeUnit(device.gaps.map((gap) => gap.start_us));
  const units = {
    start,
    startDecimals: positionDecimals(
      rows.map((gap) => gap.start_us),
      start,
    ),
    duration: chooseTimeUnit(device.gaps.map((gap) => gap.duration_us)),
  };
  const line = (gap: Gap) => (
    <GapLine
      key={gap.start_us}
      gap={gap}
      units={units}
      idleUs={device.idle_us}
      current={gap === chosen}
      withStage={withStage}
    />
  );
  return (
    <section>
      <h2>Gaps</h2>
      <p class="muted" data-testid="gap-cover">
        {coverWords(device, gaps, cause)}
      </p>
      <div class="scroll-x">
        <DataTable
          name="Idle gaps"
          only={cause === null ? "" : causeLabel(cause)}
          class={withStage ? "gaps" : "gaps unstaged"}
          testId="gap-table"
          main
          allRows={() => sorted.map(line)}>
          <thead>
            <tr>
              <Head column="start_us" label="Start" unit={units.start} />
              <Head column="duration_us" label="Duration" unit={units.duration} />
              <Head column="cause" label="Main cause" numeric={false} title={MAIN_CAUSE} />
              <Head column="idle_share" label="of idle" />
              <th scope="col">
                <span class="offscreen">Causes as a bar</span>
              </th>
              {withStage && <Head column="stage" label="Data wait for" numeric={false} title={STAGE} />}
              <Head column="step" label="Step" />
              <ExportHead label="Main cause alone" />
              {withStage && <ExportHead label="That stage's share of data wait" />}
            </tr>
          </thead>
          <tbody>{rows.map(line)}</tbody>
        </DataTable>
      </div>
      {rows.length < gaps.length && (
        <button type="button" class="link" data-testid="more-gaps" onClick={() => (gapRows.value = gaps.length)}>
          Show all {formatCount(gaps.length)}
        </button>
      )}
    </section>
  );
}

function coverWords({ gaps: listed, gap_count, idle_us }: Device, gaps: readonly Gap[], cause: Cause | null): string {
  const us = gaps.reduce((sum, gap) => sum + gap.duration_us, 0);
  const all =
    listed.length >= gap_count
      ? `All ${plural(gap_count, "gap")}`
      : `The largest ${formatCount(listed.length)} of ${plural(gap_count, "gap")}`;
  const covered = `they make up ${shareWords(us, idle_us)} of the idle time`;
  if (cause !== null)
    return `${all}; of these the ${formatCount(gaps.length)} whose main cause is ${causeLabel(cause)}: ${covered}.`;
  return listed.length >= gap_count ? `${all}.` : `${all}; ${covered}.`;
}

type HeadProps = {
  readonly column: GapColumn;
  readonly label: string;
  readonly unit?: TimeUnit;
  readonly title?: string;
  readonly numeric?: boolean;
};

function Head({ column, ...rest }: HeadProps) {
  const { column: active, descending } = gapSort.value;
  const onSort = (): void => {
    gapSort.value = turnedSort(gapSort.value, column);
  };
  return <SortHeader {...rest} name={column} active={active === column} descending={descending} onSort={onSort} />;
}

type LineProps = {
  readonly gap: Gap;
  readonly units: Units;
  readonly idleUs: number;
  readonly current: boolean;
  readonly withStage: boolean;
};

/** A launch that had returned is none of the host's doing: the opposite is to be done. */
function mainWords({ queued_us: queuedUs, idle_by_cause_us: causes }: Gap, cause: Cause): string {
  const queued = cause === "launch" && 2 * queuedUs >= (causes?.launch ?? 0) && queuedUs > 0;
  return queued ? `${causeLabel(cause)}, not started` : causeLabel(cause);
}

/** The data wait may be a small part of the gap: how long it is belongs to a share of it. */
function stageTitle({ stage, stage_us: partUs, idle_by_cause_us: causes }: Gap): string {
  const label = stageLabel(stage);
  return causes?.data_wait === undefined
    ? label
    : `${label}: ${formatDuration(partUs)} of ${formatDuration(causes.data_wait)} data wait`;
}

function GapLine({ gap, units, idleUs, current, withStage }: LineProps) {
  const cause = asCause(gap.cause);
  const parts = causeParts(gap.idle_by_cause_us);
  const mainUs = gap.idle_by_cause_us?.[cause];
  const stageShare = gap.stage === "" ? undefined : share(gap.stage_us, gap.idle_by_cause_us?.data_wait);
  return (
    <tr
      class="choice"
      data-testid="gap-row"
      data-start-us={gap.start_us}
      data-duration-us={gap.duration_us}
      data-cause={cause}
      aria-current={current ? "true" : undefined}
      onClick={() => showGap(gap)}>
      <td class="num" data-value-us={gap.start_us} title={exactPosition(gap.start_us)}>
        <button
          type="button"
          class="link tabular"
          aria-label={`${positionIn(gap.start_us, units.start, units.startDecimals)} ${units.start}: show this gap`}>
          {positionIn(gap.start_us, units.start, units.startDecimals)}
        </button>
      </td>
      <td class="num" data-value-us={gap.duration_us} title={exactUs(gap.duration_us)}>
        {inUnit(gap.duration_us, units.duration)}
      </td>
      <td
        data-values={mainWords(gap, cause)}
        title={parts.map((part) => `${part.name} ${exactUs(part.us)}`).join("\n")}>
        <Swatch token={`idle:${cause}`} />
        {mainWords(gap, cause)}
        {mainUs !== undefined && <span class="muted tabular"> {shareWords(mainUs, gap.duration_us)}</span>}
      </td>
      <ShareCell share={share(gap.duration_us, idleUs)} />
      <td class="gap-causes">
        <GapCauses cause={cause} parts={parts} wholeUs={gap.duration_us} />
      </td>
      {withStage && (
        <td class="mono gap-stage" data-values={gap.stage === "" ? undefined : gap.stage}>
          {gap.stage === "" ? (
            <Unknown reason={NO_STAGE} />
          ) : (
            <span title={stageTitle(gap)}>
              <StageRef name={gap.stage} />
              <span class="muted tabular"> {shareWords(gap.stage_us, gap.idle_by_cause_us?.data_wait)}</span>
            </span>
          )}
        </td>
      )}
      <td class="num">{gap.step ?? <Unknown reason="The gap lies outside any step." />}</td>
      <ExportCell us={mainUs} />
      {withStage && <ExportCell share={stageShare} />}
    </tr>
  );
}
