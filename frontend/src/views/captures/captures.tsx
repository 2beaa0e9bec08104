import { Fragment } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { CaptureRow } from "../../contract/report";
import { plural } from "../../model/format";
import {
  courseOf,
  programsWithCourse,
  rowsShown,
  runsOfRows,
  runsWithCourse,
  subjectOf,
  withRowNames,
} from "../../model/rows";
import { selectCapture } from "../../state/actions";
import { captureRows, captureSearch, chosenRun, entry, rowsError } from "../../state/atoms";
import { listingKey, loadRows } from "../../state/listing";
import { onlyWith } from "../../ui/data-table";
import { Prose } from "../../ui/prose";
import { SearchField } from "../../ui/search-field";
import { ErrorState, LoadingState } from "../../ui/states";
import { RowTable } from "./row-table";
import { Trend } from "./trend";

/** One line per capture, the worst first, and how a run went from capture to capture. */
export function Captures() {
  const key = listingKey.value;
  useEffect(() => void loadRows(), [key]);
  const listing = captureRows.value;
  if (listing === null) {
    if (rowsError.value !== null) return <ErrorState title="No list of captures." message={rowsError.value} />;
    return <LoadingState title="Listing captures" />;
  }
  const isOneRun = listing.rows.some(({ run }) => run === chosenRun.value);
  const sentence = isOneRun ? (listing.run_sentences[chosenRun.value ?? ""] ?? "") : listing.sentence;
  return (
    <div data-testid="all-captures" class="all-captures">
      {sentence !== "" && (
        <p class="sentence" data-testid="captures-sentence">
          <Prose text={withRowNames(sentence, listing.rows)} />
        </p>
      )}
      {listing.waiting > 0 && (
        <p class="muted" role="status" data-testid="rows-waiting">
          {plural(listing.waiting, "capture")} not analysed yet; they come in as they are.
        </p>
      )}
      <Listed rows={listing.rows} />
    </div>
  );
}

function Listed({ rows }: { rows: readonly CaptureRow[] }) {
  const names = runsOfRows(rows);
  // A link may name a run that is gone.
  const run = names.find((name) => name === chosenRun.value) ?? null;
  const shown = rowsShown(rows, run, captureSearch.value);
  const only = [run === null ? "" : runLabel(run), onlyWith(captureSearch.value)].filter(Boolean).join(", ");
  const trendRun = run ?? entry.value?.run ?? ".";
  const course = courseOf(rows, trendRun, entry.value?.id ?? null);
  return (
    <>
      {course === null ? <NoTrend rows={rows} run={trendRun} /> : <Trend run={trendRun} course={course} />}
      <section>
        <div class="table-head">
          <h2>Captures</h2>
          <RunChoice names={names} run={run} />
          <SearchField label="Search this table" text={captureSearch} shown={shown.length} all={rows.length} />
        </div>
        <RowTable rows={shown} current={entry.value?.id ?? null} only={only} />
      </section>
    </>
  );
}

/** Captures and runs that are offered by name; the choice below has all runs. */
const OFFERED = 5;

/** What it takes, where the run has several captures, or other programs or runs have a trend: which ones. */
function NoTrend({ rows, run }: { rows: readonly CaptureRow[]; run: string }) {
  const others = useMemo(() => runsWithCourse(rows).filter((name) => name !== run), [rows, run]);
  const programs = useMemo(() => programsWithCourse(rows, run), [rows, run]);
  const offers = others.length > 0 || programs.length > 0;
  if (!offers && rows.filter((row) => row.run === run).length < 2) return null;
  const subject = programs.length > 0 ? subjectOf(rows, run, entry.value?.id ?? null) : undefined;
  return (
    <p class="muted" data-testid="no-trend">
      No trend of {runLabel(run)}
      {subject !== undefined && ` for the program of ${subject.name}`}: that takes two captures of one program, taken
      one after the other as far as their traces, names or files say.
      {programs.length > 0 && " Of another program in it, that of "}
      <Offered
        all={programs.map(({ id, name }) => ({ key: id, label: name, show: () => selectCapture(id) }))}
        end="."
      />
      {others.length > 0 && " Of another run: "}
      <Offered
        all={others.map((name) => ({ key: name, label: runLabel(name), show: () => (chosenRun.value = name) }))}
      />
    </p>
  );
}

type Offer = { readonly key: string; readonly label: string; readonly show: () => void };

/** `end`: after them, where there are any. */
function Offered({ all, end = "" }: { all: readonly Offer[]; end?: string }) {
  return (
    <>
      {all.slice(0, OFFERED).map(({ key, label, show }, at) => (
        <Fragment key={key}>
          {at > 0 && " "}
          <span class="nowrap">
            <button type="button" class="link" onClick={show}>
              {label}
            </button>
            {at < Math.min(all.length, OFFERED) - 1 ? "," : end}
          </span>
        </Fragment>
      ))}
    </>
  );
}

function runLabel(name: string): string {
  return name === "." ? "(log directory)" : name;
}

function RunChoice({ names, run }: { names: readonly string[]; run: string | null }) {
  if (names.length < 2) return null;
  return (
    <label class="muted">
      Run{" "}
      <select
        data-testid="run-choice"
        value={run ?? ""}
        onChange={(event) => {
          chosenRun.value = event.currentTarget.value || null;
        }}>
        <option value="">(all runs)</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {runLabel(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
