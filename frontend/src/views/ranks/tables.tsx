import type { RankRow, Ranks } from "../../contract/report";
import { PATTERNS, RANK_CAUSES } from "../../contract/words";
import {
  chooseTimeUnit,
  exactNumber,
  exactUs,
  formatDuration,
  formatPercent,
  formatRatio,
  inUnit,
  type TimeUnit,
} from "../../model/format";
import { captureOf, stagesAmong } from "../../model/ranks";
import { labelOf, meaningOf, type Term } from "../../model/words";
import { Breakable } from "../../ui/breakable";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Explained } from "../../ui/explained";
import { Unknown } from "../../ui/numbers";
import { SortHeader } from "../../ui/sort-header";
import { StageRef, StageWays } from "../../ui/stage-ref";
import { useSort } from "../../ui/use-sort";
import { captureWithId, openCapture, waysInto } from "../shared/open-capture";

const COLUMNS = {
  rank: (row: RankRow) => row.rank,
  host: (row: RankRow) => row.host,
  step: (row: RankRow) => row.step_us,
  wait: (row: RankRow) => row.data_wait_us,
  exposed: (row: RankRow) => row.exposed_wait_us,
  inherited: (row: RankRow) => row.inherited_us,
  owned: (row: RankRow) => row.owned_us,
  cause: (row: RankRow) => row.cause || undefined,
  capture: (row: RankRow) => row.capture,
};

const MOST_ROWS = 512;

export function RankTable({ ranks }: { ranks: Ranks }) {
  const { rows, head } = useSort("Ranks", ranks.rows, COLUMNS);
  const step = chooseTimeUnit(ranks.rows.flatMap((row) => [row.step_us, row.data_wait_us]));
  const lost = chooseTimeUnit(ranks.rows.flatMap((row) => [row.inherited_us, row.owned_us]));
  const hasExposed = ranks.rows.some((row) => row.exposed_wait_us !== undefined);
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>Ranks</h2>
      <p class="muted">
        Step and data wait: means per step. Inherited: lost waiting for others. Owned: what others lost waiting for it.
      </p>
      <div class="scroll-x">
        <DataTable name="Ranks" testId="rank-table">
          <thead>
            <tr>
              <SortHeader label="Rank" {...head("rank")} />
              <SortHeader label="Host" numeric={false} {...head("host")} />
              <SortHeader label="Mean step" unit={step} {...head("step")} />
              <SortHeader label="Data wait" unit={step} {...head("wait")} />
              {hasExposed && <SortHeader label="Exposed data wait" unit={step} {...head("exposed")} />}
              <SortHeader label="Inherited" unit={lost} {...head("inherited")} />
              <SortHeader label="Owned" unit={lost} {...head("owned")} />
              <SortHeader label="Cause" numeric={false} {...head("cause")} />
              <SortHeader label="Capture" numeric={false} {...head("capture")} />
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map((row) => (
              <Row key={row.rank} {...{ row, step, lost, hasExposed }} />
            ))}
          </tbody>
        </DataTable>
      </div>
      {rows.length > MOST_ROWS && <p class="muted">{rows.length - MOST_ROWS} more are in the JSON.</p>}
    </section>
  );
}

type RowProps = {
  readonly row: RankRow;
  readonly step: TimeUnit;
  readonly lost: TimeUnit;
  /** Whether any rank has a device. */
  readonly hasExposed: boolean;
};

function Row({ row, step, lost, hasExposed }: RowProps) {
  return (
    <tr data-testid="rank-row" data-rank={row.rank}>
      <th scope="row" class="num" data-value={row.rank}>
        {row.rank}
      </th>
      <td>{row.host}</td>
      <Time us={row.step_us} unit={step} why="The capture has no steps." />
      <Time us={row.data_wait_us} unit={step} why="The capture has no span of a loader." />
      {hasExposed && <Time us={row.exposed_wait_us} unit={step} why="The capture has no device activity." />}
      <Time us={row.inherited_us} unit={lost} why="" />
      <Time us={row.owned_us} unit={lost} why="" />
      <CauseCell cause={row.cause} capture={row.capture} />
      <td>
        <CaptureLink id={row.capture} />
      </td>
    </tr>
  );
}

function Time({ us, unit, why }: { us: number | undefined; unit: TimeUnit; why: string }) {
  return (
    <td class="num" data-value-us={us} title={us === undefined ? "" : exactUs(us)}>
      {us === undefined ? <Unknown reason={why} /> : inUnit(us, unit)}
    </td>
  );
}

function CaptureLink({ id }: { id: string }) {
  const item = captureWithId(id);
  const name = id.slice(id.lastIndexOf("/") + 1);
  if (item === undefined)
    return (
      <span class="muted">
        <Breakable name={name} />
      </span>
    );
  return (
    <button type="button" class="link" data-testid="open-rank" onClick={() => openCapture(item.id)}>
      <Breakable name={name} />
    </button>
  );
}

const TIMES = "How many times as long a call of that stage takes on this rank as in the median of the others";
const LOST = "What all other ranks together lost waiting for it, for this reason";

export function Owners({ ranks }: { ranks: Ranks }) {
  if (ranks.owners.length === 0) return null;
  const unit = chooseTimeUnit(ranks.owners.map(({ lost_us }) => lost_us));
  return (
    <section>
      <h2>Who owns the lost time</h2>
      <p class="muted">
        Lost: by all other ranks, waiting for this one for that reason. Times others': how many times as long that
        stage's calls take here as in the median of the other ranks.
      </p>
      <div class="scroll-x">
        <DataTable name="Owners of lost time" testId="owner-table">
          <thead>
            <tr>
              <Th column="rank" label="Rank" />
              <Th column="cause" label="Cause" numeric={false} />
              <Th column="lost" label="Lost" unit={unit} title={LOST} />
              <Th
                column="share"
                label="of rank time"
                title="Of the time of all ranks together, from the first collective to the last"
              />
              <Th column="times" label="Times others'" title={TIMES} />
              <Th column="pattern" label="Pattern" numeric={false} />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {ranks.owners.slice(0, MOST_ROWS).map((owner) => (
                <tr key={`${owner.rank} ${owner.cause}`} data-testid="owner-row">
                  <th scope="row" class="num" data-value={owner.rank}>
                    {owner.rank}
                  </th>
                  <CauseCell cause={owner.cause} capture={captureOf(ranks, owner.rank)} />
                  <td class="num" data-value-us={owner.lost_us} title={exactUs(owner.lost_us)}>
                    {inUnit(owner.lost_us, unit)}
                  </td>
                  <td class="num" data-value={owner.share}>
                    {owner.share === undefined ? "–" : formatPercent(owner.share)}
                  </td>
                  <td class="num" data-value={owner.times_others}>
                    {owner.times_others === undefined ? (
                      <Unknown reason="It has no calls of its own, or the other ranks have none." />
                    ) : (
                      formatRatio(owner.times_others)
                    )}
                  </td>
                  <td>
                    <Word terms={PATTERNS} id={owner.pattern} />
                  </td>
                </tr>
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

/** A stage, which leads to its page in that rank's capture; any other cause with what it means. */
function CauseCell({ cause, capture }: { cause: string; capture: string }) {
  return (
    <td class="words">
      <StageWays.Provider value={waysInto(capture, stagesAmong([cause]))}>
        {cause === "" ? <Unknown reason="It owns no lost time." /> : <Word terms={RANK_CAUSES} id={cause} />}
      </StageWays.Provider>
    </td>
  );
}

function Word({ terms, id }: { terms: readonly Term[]; id: string }) {
  const meaning = meaningOf(terms, id);
  return meaning === "" ? <StageRef name={id} /> : <Explained text={meaning}>{labelOf(terms, id)}</Explained>;
}

/** Only where one was shifted: clocks of one host are the same. */
export function Clocks({ ranks }: { ranks: Ranks }) {
  const applied = ranks.clocks.filter((clock) => clock.applied);
  if (applied.length === 0) return null;
  return (
    <section>
      <h2>Clocks</h2>
      <DataTable name="Clocks" testId="clock-table">
        <thead>
          <tr>
            <Th column="rank" label="Rank" />
            <Th column="ahead" label={`Ahead of rank ${ranks.clocks[0]?.rank}`} />
            <Th column="error" label="95% interval, ±" />
          </tr>
        </thead>
        <tbody>
          <Rows>
            {applied.slice(0, MOST_ROWS).map((clock) => (
              <tr key={clock.rank}>
                <th scope="row" class="num" data-value={clock.rank}>
                  {exactNumber(clock.rank)}
                </th>
                <td class="num" data-value-us={clock.ahead_us} title={exactUs(clock.ahead_us)}>
                  {clock.ahead_us < 0 ? "−" : ""}
                  {formatDuration(Math.abs(clock.ahead_us))}
                </td>
                <td class="num" data-value-us={clock.error_us} title={exactUs(clock.error_us)}>
                  {formatDuration(clock.error_us)}
                </td>
              </tr>
            ))}
          </Rows>
        </tbody>
      </DataTable>
    </section>
  );
}
