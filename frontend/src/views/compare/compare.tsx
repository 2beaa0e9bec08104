import { batch } from "@preact/signals";
import type { Comparison, Quantity } from "../../contract/report";
import { type CaptureEntry, runOfRanks } from "../../data/runs";
import { formatCount, plural } from "../../model/format";
import { aloneText, type Side } from "../../model/sides";
import { chooseSide, chooseSides, forgetSides } from "../../state/actions";
import { comparesAnyway, comparison, entry, runs, sideAfter, sideBefore, suggestion } from "../../state/atoms";
import {
  absences,
  after,
  before,
  bothRuns,
  carriedPairs,
  comparisonKey,
  isCompared,
  sides,
} from "../../state/comparing";
import { Code } from "../../ui/code";
import { allOf, PictureOf } from "../../ui/picture-menu";
import { Prose } from "../../ui/prose";
import { ErrorState, LoadingState, UnavailableState } from "../../ui/states";
import { FlameDifference } from "../flame/flame-difference";
import { CompareNumbers } from "./numbers";
import { StageChangeTable } from "./stage-changes";
import { PartTable, SettingTable } from "./tables";
import { useComparison } from "./use-comparison";

/** Two captures, or two runs of several captures each, against each other. */
export function Compare() {
  if (sides.value.length < 2) {
    return (
      <UnavailableState
        title="There is nothing to compare with yet."
        reason={`This log directory holds ${aloneText(runs.value?.captures ?? [])}. Capture the run again after a change:`}>
        {absences.value.length > 0 && <p class="muted">{absenceText()}</p>}
        <Code
          text={"tb-dataplugin run -- python train.py    # or as you captured it before"}
          testId="compare-command"
        />
      </UnavailableState>
    );
  }
  return <Sides />;
}

function Sides() {
  const carried = carriedPairs();
  useComparison(carried === null); // a file has asked for it already
  return (
    <>
      {carried === null ? <Chooser /> : <Pairs pairs={carried} />}
      <PassedOver />
      <Result />
    </>
  );
}

/** Why the nearest run is not what the capture is compared with. */
function PassedOver() {
  const runs = suggestion.value?.passedOver ?? [];
  const isSuggested = (sideBefore.value ?? sideAfter.value) === null && before.value !== null;
  if (!isSuggested || suggestion.value?.id !== entry.value?.id || runs.length === 0) return null;
  return (
    <p class="muted" data-testid="passed-over">
      Nearer in time, but doubtful, and so not proposed: {runs.join(", ")}
    </p>
  );
}

function Chooser() {
  const swap = (): void => {
    const [first, second] = [before.value?.key ?? null, after.value?.key ?? null];
    batch(() => {
      sideBefore.value = second;
      sideAfter.value = first;
    });
  };
  return (
    <div class="actions compare-sides">
      <Choice label="Before" chosen={before.value} testId="side-before" onChoose={(key) => chooseSide("before", key)} />
      <Choice label="After" chosen={after.value} testId="side-after" onChoose={(key) => chooseSide("after", key)} />
      <button
        type="button"
        data-testid="swap-sides"
        disabled={before.value === null || after.value === null}
        onClick={swap}>
        Swap
      </button>
      {(sideBefore.value ?? sideAfter.value) !== null && (
        <button type="button" class="link" data-testid="suggested-sides" onClick={forgetSides}>
          Back to the suggestion
        </button>
      )}
      <BothRuns />
    </div>
  );
}

/** A file has the comparisons that were made for it. */
function Pairs({ pairs }: { pairs: readonly (readonly [Side, Side])[] }) {
  const place = pairs.findIndex(([first, second]) => first === before.value && second === after.value);
  const choose = (number: number): void => {
    const pair = pairs[number];
    if (pair !== undefined) chooseSides(pair[0].key, pair[1].key);
  };
  const [first, second] = pairs[place] ?? [];
  return (
    <div class="compare-sides">
      {first && second && (
        <p class="print-note">
          Before: {first.label}; after: {second.label}
        </p>
      )}
      <label class="compare-side carried">
        <span class="muted">Before → after</span>
        <select
          data-testid="carried-pair"
          value={place}
          onChange={(event) => choose(Number(event.currentTarget.value))}>
          {place === -1 && <option value={-1}>choose one</option>}
          {pairs.map(([first, second], number) => (
            <option key={`${first.key} ${second.key}`} value={number}>
              {first.label} → {second.label}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** Single captures stand beside repeated runs: what those show is more certain, if the captures are comparable at all. */
function BothRuns() {
  const runs = bothRuns.value;
  const state = comparison.value;
  if (runs === null || !isCompared.value || state.kind !== "ready") return null;
  if (state.value.outcome === "not_comparable") return null;
  const [first, second] = runs;
  return (
    <button type="button" class="link" data-testid="both-runs" onClick={() => chooseSides(first.key, second.key)}>
      Compare {first.label} with {second.label}
    </button>
  );
}

type ChoiceProps = {
  readonly label: string;
  readonly chosen: Side | null;
  readonly testId: string;
  readonly onChoose: (key: string) => void;
};

function Choice({ label, chosen, testId, onChoose }: ChoiceProps) {
  return (
    <label class="compare-side">
      <span class="muted">{label}</span>
      <select data-testid={testId} value={chosen?.key ?? ""} onChange={(event) => onChoose(event.currentTarget.value)}>
        {chosen === null && <option value="">choose one</option>}
        {sides.value.map((side) => (
          <option key={side.key} value={side.key}>
            {side.label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Result() {
  const key = comparisonKey.value;
  const state = comparison.value;
  if (absences.value.length > 0) return <Absent />;
  if (key === null) return <Unchosen />;
  if (state.kind === "failed" && state.key === key && carriedPairs() !== null)
    return <UnavailableState title="This file had no room for this comparison." reason={state.message} />;
  if (state.kind === "failed" && state.key === key)
    return <ErrorState title="These captures cannot be compared." message={state.message} />;
  if (state.kind !== "ready" || state.key !== key)
    return <LoadingState title="Comparing" detail="Captures that were not read yet are read first." />;
  return <Outcome comparison={state.value} />;
}

/** Nothing is compared in the place of what is not there. */
function Absent() {
  if (absences.value.some(({ reason }) => reason === null))
    return <LoadingState title="Looking for the chosen captures" detail="Not all captures were read yet." />;
  return <UnavailableState title="Nothing is compared: a chosen side is not available." reason={absenceText()} />;
}

function absenceText(): string {
  return absences.value.map(({ label, reason }) => `${label}: ${reason ?? "not found yet"}.`).join(" ");
}

const SAME_PROGRAM =
  "of training here is known to be of the same program (the same operators, stages or dataset); replays are not suggested.";
const NONE_ALIKE = `No other capture ${SAME_PROGRAM}`;
/** Where other ranks of its run are here. */
const NO_RUN_ALIKE = `No other run ${SAME_PROGRAM}`;
const ELSEWHERE = "In the terminal `tb-dataplugin compare BEFORE AFTER` compares any two.";

/** One of the sides is not chosen, and none suggests itself. */
function Unchosen() {
  if (suggestion.value?.pending === true && before.value === null)
    return <LoadingState title="Looking for another capture of the same program" />;
  const isFile = carriedPairs() !== null;
  const own = entry.value;
  const rank = own?.rank ?? null;
  const isBeside = (item: CaptureEntry): boolean => own !== null && runOfRanks(item) === runOfRanks(own);
  const hasOthers =
    rank !== null && (runs.value?.captures.some((item) => isBeside(item) && (item.rank ?? rank) !== rank) ?? false);
  const noneAlike = hasOthers ? NO_RUN_ALIKE : NONE_ALIKE;
  return (
    <UnavailableState
      title={isFile ? "This file has no comparison of this capture." : "Choose what to compare with."}
      reason={isFile ? `${noneAlike} ${ELSEWHERE}` : noneAlike}>
      {hasOthers && <p class="muted">The ranks of one run stand side by side in Ranks.</p>}
    </UnavailableState>
  );
}

export function Outcome({ comparison }: { comparison: Comparison }) {
  const { outcome, sentence, evidence } = comparison;
  const isComparable = outcome !== "not_comparable";
  return (
    <>
      <section>
        <p class="sentence" data-testid="compare-sentence" data-value={outcome}>
          <Prose text={sentence} />
        </p>
        {isComparable && evidence.length > 0 && (
          <ul class="evidence" data-testid="compare-evidence">
            {evidence.map(({ text }) => (
              <li key={text}>
                <Prose text={text} />
              </li>
            ))}
          </ul>
        )}
        {!isComparable && <Anyway unit={comparison.unit} />}
      </section>
      {(isComparable || comparesAnyway.value) && <Numbers comparison={comparison} />}
    </>
  );
}

/** Nothing follows from numbers of sides that are not comparable: they are shown to those who ask for them. */
function Anyway({ unit }: { unit: string }) {
  const isShown = comparesAnyway.value;
  return (
    <p class="anyway">
      <button
        type="button"
        data-testid="compare-anyway"
        aria-pressed={isShown}
        onClick={() => (comparesAnyway.value = !isShown)}>
        {isShown ? "Hide the numbers" : "Show it anyway"}
      </button>
      {isShown && (
        <span class="muted" data-testid="compare-anyway-note">
          {" "}
          {unit === ""
            ? "One side has neither steps nor samples, so there are no times to compare: only settings."
            : "The numbers of both sides, all the same. A change below says nothing of a cause."}
        </span>
      )}
    </p>
  );
}

function Numbers({ comparison }: { comparison: Comparison }) {
  const { unit } = comparison;
  const names = [before.value, after.value].map((side) => side?.label ?? "?");
  return (
    <PictureOf.Provider value={allOf(names.join(" → "))}>
      <CompareNumbers comparison={comparison} />
      <PartTable parts={ofThread(comparison)} title={`Training thread, per ${unit}`} />
      <PartTable
        parts={ofKind(comparison, "part").filter(isOwn)}
        title={`Rest of the step: what held the training thread up, by stack samples, per ${unit}`}
      />
      <PartTable parts={ofDevice(comparison)} title={`Device 0 in the same time, per ${unit}`} />
      <PartTable
        parts={comparison.other_loaders}
        title="Other DataLoaders: data wait per training step that iterates them"
        prefix="the "
      />
      <StageChangeTable comparison={comparison} />
      <FlameDifference comparison={comparison} />
      <PartTable
        parts={ofKind(comparison, "data_wait_by_stage")}
        title={`Data wait by stage, per ${unit}`}
        prefix="data wait: "
      />
      <SettingTable settings={comparison.settings} />
      <Sources comparison={comparison} />
    </PictureOf.Provider>
  );
}

function ofKind({ parts }: Comparison, kind: string): Quantity[] {
  return parts.filter((part) => part.kind === kind);
}

const THREAD: ReadonlySet<string> = new Set(["data_wait", "rest"]);

/** Data wait and the rest: together the whole time. */
function ofThread(comparison: Comparison): Quantity[] {
  return ofKind(comparison, "part").filter(({ name }) => THREAD.has(name));
}

/** What the training thread waited for outside the data wait. */
function isOwn({ name }: Quantity): boolean {
  return name.startsWith("rest:");
}

/** Busy, and idle by cause: the whole time once more, by what the device did. */
function ofDevice(comparison: Comparison): Quantity[] {
  return ofKind(comparison, "part").filter((part) => !THREAD.has(part.name) && !isOwn(part));
}

function Sources({ comparison: { diagnostics, before: first, after: second } }: { comparison: Comparison }) {
  return (
    <details class="diagnostics" data-testid="compare-diagnostics">
      <summary>
        Runs compared, missing data and warnings <span class="muted">({formatCount(diagnostics.length)})</span>
      </summary>
      <ul>
        <li>
          {plural(first.length, "run")} before: {first.map((run) => run.name).join(", ")}
        </li>
        <li>
          {plural(second.length, "run")} after: {second.map((run) => run.name).join(", ")}
        </li>
        {diagnostics.map((item) => (
          <li key={item.code} data-code={item.code}>
            <Prose text={item.message} />
          </li>
        ))}
      </ul>
    </details>
  );
}
