import { useState } from "preact/hooks";
import type { CaptureRow } from "../../contract/report";
import { isoTime, shortName, whenOf } from "../../model/captures";
import {
  chooseTimeUnit,
  exactNumber,
  exactUs,
  formatDuration,
  formatPercent,
  inUnit,
  significant,
  type TimeUnit,
} from "../../model/format";
import { orderOf, orderWords } from "../../model/rows";
import { Breakable } from "../../ui/breakable";
import { ExportCell, ExportHead } from "../../ui/cells";
import { DataTable } from "../../ui/data-table";
import { Explained } from "../../ui/explained";
import { Unknown } from "../../ui/numbers";
import { Prose } from "../../ui/prose";
import { SortHeader } from "../../ui/sort-header";
import { useSort } from "../../ui/use-sort";
import { openCapture } from "../shared/open-capture";

const COLUMNS = {
  capture: (row: CaptureRow) => `${row.run}/${row.name}`,
  rank: (row: CaptureRow) => row.rank,
  when: (row: CaptureRow) => row.taken || undefined,
  idle: (row: CaptureRow) => row.idle_share,
  wait: (row: CaptureRow) => row.data_wait_share,
  step: (row: CaptureRow) => row.step_us,
  rate: (row: CaptureRow) => row.samples_per_s,
  verdict: (row: CaptureRow) => row.verdict || undefined,
  finding: (row: CaptureRow) => row.finding || undefined,
};

/** Rows drawn at first: a log directory may have thousands. */
const FIRST_ROWS = 50;
/** Of so many rows the sentences are whole; of more they are cut, so that the table can be looked over. */
const FEW_ROWS = 10;

type TableProps = {
  readonly rows: readonly CaptureRow[];
  readonly current: string | null;
  /** What they are narrowed to; "" where these are all. */
  readonly only: string;
};

export function RowTable({ rows: given, current, only }: TableProps) {
  const { rows, head, isChosen } = useSort("All captures", given, COLUMNS, orderOf(given));
  const order = orderWords(given);
  const [most, setMost] = useState(FIRST_ROWS);
  const hasRanks = given.some(({ rank }) => rank !== undefined);
  const unit = chooseTimeUnit(given.flatMap((row) => row.step_us ?? []));
  if (given.length === 0) return null; // the search says so
  const kind = rows.length > FEW_ROWS ? "rows rows-cut" : "rows";
  const line = (row: CaptureRow) => (
    <Row key={row.id} row={row} unit={unit} {...{ hasRanks }} current={row.id === current} />
  );
  return (
    <>
      {!isChosen && order !== "" && (
        <p class="muted" data-testid="row-order">
          {order}
        </p>
      )}
      <div class="scroll-x">
        <DataTable name="All captures" only={only} class={kind} testId="row-table" main allRows={() => rows.map(line)}>
          <thead>
            <tr>
              <SortHeader
                label="Capture"
                numeric={false}
                {...head("capture")}
                below={{ label: "When", ...head("when") }}
              />
              {hasRanks && <SortHeader label="Rank" {...head("rank")} />}
              <SortHeader label="When" numeric={false} {...head("when")} />
              <SortHeader label="Device idle" unit="% of window" {...head("idle")} />
              <SortHeader label="Data wait" unit="% of window" {...head("wait")} />
              <SortHeader label="Mean step" unit={unit} {...head("step")} />
              <SortHeader label="Samples/s" {...head("rate")} />
              <SortHeader label="Verdict" numeric={false} {...head("verdict")} />
              <SortHeader label="Leading finding" numeric={false} {...head("finding")} />
              <ExportHead label="Device idle: note" />
              <ExportHead label="Data wait: note" />
              <ExportHead label="Doubtful" />
            </tr>
          </thead>
          <tbody>{rows.slice(0, most).map(line)}</tbody>
        </DataTable>
      </div>
      {rows.length > most && (
        <button type="button" onClick={() => setMost(most + 10 * FIRST_ROWS)}>
          Show more ({rows.length - most} not shown)
        </button>
      )}
    </>
  );
}

type RowProps = {
  readonly row: CaptureRow;
  readonly unit: TimeUnit;
  readonly hasRanks: boolean;
  readonly current: boolean;
};

function Row({ row, unit, hasRanks, current }: RowProps) {
  const { start, end } = shortName(row.name);
  const when = whenOf({ taken: row.taken, takenBy: row.taken_by });
  return (
    <tr data-testid="capture-row" data-id={row.id} data-state={row.state} aria-current={current ? "true" : undefined}>
      <th scope="row" data-values={row.id}>
        {row.run !== "." && (
          <span class="muted">
            <Breakable name={row.run} /> /{" "}
          </span>
        )}
        <button type="button" class="link" title={row.name} onClick={() => openCapture(row.id)}>
          <Breakable name={`${start}${end}`} />
        </button>
        {row.doubtful && (
          <>
            {" "}
            <span class="row-doubt" data-testid="row-doubt">
              doubtful{row.doubt_text === "" ? "" : `: ${row.doubt_text}`}
            </span>
          </>
        )}
        {when !== null && (
          <span class="capture-note" aria-hidden="true">
            {when.words}
          </span>
        )}
      </th>
      {hasRanks && <td class="num row-rank">{row.rank ?? <Unknown reason="It is of no rank." />}</td>}
      <td
        class="muted nowrap row-when"
        data-values={when === null ? undefined : isoTime(when.unixMs)}
        title={when === null ? undefined : when.title}>
        {when === null ? <Unknown reason="The page does not know when." /> : when.words}
      </td>
      {row.state === "ready" ? <Known row={row} unit={unit} /> : <NotReady row={row} />}
      <ExportCell text={row.idle_note} />
      <ExportCell text={row.loop_wait} />
      <ExportCell text={row.doubtful ? row.doubt_text || "yes" : ""} />
    </tr>
  );
}

function Known({ row, unit }: { row: CaptureRow; unit: TimeUnit }) {
  return (
    <>
      <Share
        value={row.idle_share}
        name="idle"
        why="The capture has no device activity."
        note={row.idle_note}
        brief={row.idle_note.replace(/:.*/, "")}
      />
      <Share
        value={row.data_wait_share}
        name="wait"
        why="The capture has no span of a loader."
        note={row.loop_wait}
        brief={row.loop_wait.replace(/ without .*/, " of the loop")}
      />
      <td class="num" data-value-us={row.step_us} title={row.step_us === undefined ? "" : exactUs(row.step_us)}>
        {row.step_us === undefined ? <Unknown reason="The capture has no steps." /> : inUnit(row.step_us, unit)}
      </td>
      <td class="num" data-value={row.samples_per_s}>
        {row.samples_per_s === undefined ? (
          <Unknown reason="The number of samples is not known." />
        ) : (
          significant(row.samples_per_s)
        )}
      </td>
      <td class="words" title={row.verdict}>
        <p>
          <Prose text={row.verdict} />
        </p>
      </td>
      <td class="words" title={row.finding === "" ? "" : `${row.finding}\n${row.gain_text}`}>
        <p>
          <Prose text={row.finding} />
        </p>
        {row.finding !== "" && <p class="muted gain-brief">{gainWords(row)}</p>}
      </td>
    </>
  );
}

/** In one line: captures are compared by it. The rest is on hover. */
function gainWords({ gain_us_per_step: us, gain_step_share: share, gain_text: text, gains_of: of }: CaptureRow) {
  if (us === undefined) return text;
  if (!share) return `up to ${formatDuration(us)} per step`;
  if (of) return `up to ${formatDuration(us)} per step (${formatPercent(share)} of ${of})`;
  const [step, unit] = [us / share, chooseTimeUnit([us / share])];
  return `up to ${inUnit(us, unit)} of ${inUnit(step, unit)} ${unit} per step (${formatPercent(share)})`;
}

type ShareProps = {
  readonly value: number | undefined;
  readonly name: string;
  readonly why: string;
  /** To be said beside it, and what of that there is room for; "" where nothing is. */
  readonly note: string;
  readonly brief: string;
};

function Share({ value, name, why, note, brief }: ShareProps) {
  if (value === undefined)
    return (
      <td class="num" data-column={name}>
        <Unknown reason={why} />
      </td>
    );
  return (
    <td class="num" data-column={name} data-value={value} title={`${exactNumber(100 * value)}% of the window`}>
      {formatPercent(value).replace("%", "")}
      {note !== "" && (
        <div class="loop-wait">
          <Explained text={`${note}.`}>{brief}</Explained>
        </div>
      )}
    </td>
  );
}

const STATE_WORDS: Readonly<Record<string, string>> = {
  queued: "not analysed yet",
  loading: "being analysed",
};

function NotReady({ row }: { row: CaptureRow }) {
  return (
    <td colSpan={6} class={row.state === "error" ? "error-line" : "muted"}>
      {row.state === "error" ? <Prose text={row.error} /> : (STATE_WORDS[row.state] ?? row.state)}
    </td>
  );
}
