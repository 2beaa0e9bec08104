// The predicted changes, a row for each.

import type { AtLeast, PredictedStep, Prediction, WhatIf } from "../../data/what-if";
import {
  type ByteUnit,
  chooseByteUnit,
  chooseTimeUnit,
  exactUs,
  formatPercent,
  inByteUnit,
  inUnit,
  significant,
  type TimeUnit,
  UNKNOWN,
} from "../../model/format";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Unknown } from "../../ui/numbers";
import { Prose } from "../../ui/prose";
import { Scroll } from "../../ui/scroll";

const NO_SAMPLES = "The number of samples per step is not known.";
const NO_MEMORY = "The size of a batch was not recorded, or no batch is kept ready.";
const CROWDED = "No CPU was free: see * below the table.";
const SAVES =
  "Share of the step as captured, or of its time per sample where a batch has another size; negative where it would take longer";
/** Tenths of a percent: what is less is nothing. */
const SAVED_DECIMALS = 3;
const AHEAD = "Memory of the batches that are kept ready";

/** `name`: of the change that it answers, which may have several rows. */
export type Answer = WhatIf & { readonly name: string };

/** Step, rate and waits with each change, the newest first; and what limits then. */
export function Predictions({ answers }: { answers: readonly Answer[] }) {
  const [first] = answers;
  if (first === undefined) return null;
  const predictions = eachOnce(answers.flatMap((answer) => answer.predictions));
  const { sentence } = answers.find((answer) => answer.predictions.some(({ step }) => "us" in step)) ?? first;
  const notes = [...new Set([...limitsOf(answers), first.basisText, ...predictions.flatMap((one) => one.notes)])];
  const unit = chooseTimeUnit(predictions.map(({ step }) => ("us" in step ? step.us.value : step.atLeastUs)));
  const bytes = chooseByteUnit(predictions.map(({ memoryBytes }) => memoryBytes ?? undefined));
  const has = {
    idle: predictions.some(({ step }) => "us" in step && step.idleShare !== null),
    memory: predictions.some(({ memoryBytes }) => memoryBytes !== null),
  };
  return (
    <>
      <p data-testid="what-if-now">
        <Prose text={sentence} />
      </p>
      {first.doubts.map((doubt) => (
        <p class="muted" key={doubt} data-testid="what-if-doubt">
          <Prose text={`Doubtful: ${doubt}`} />
        </p>
      ))}
      <Scroll label="What if">
        <DataTable name="What if" testId="what-if-table">
          <thead>
            <tr>
              <Th column="change" label="Change" numeric={false} />
              <Th column="step" label="Step" unit={unit} />
              <Th column="interval" label="90% interval" unit={unit} />
              <Th column="saved" label="Saves" title={SAVES} />
              <Th column="rate" label="Samples/s" />
              <Th column="wait" label="Data wait" />
              {has.idle && <Th column="idle" label="Device idle" />}
              {has.memory && <Th column="ahead" label="Memory ahead" unit={bytes.name} title={AHEAD} />}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {predictions.map((made) => (
                <PredictionLine key={made.name} made={made} unit={unit} bytes={bytes} has={has} />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </Scroll>
      {notes.map((note) => (
        <p class="muted" key={note} data-testid="what-if-note">
          <Prose text={note} />
        </p>
      ))}
    </>
  );
}

/** A change may be among several of another answer, too. */
function eachOnce(predictions: readonly Prediction[]): Prediction[] {
  return [...new Map(predictions.map((made) => [made.name, made])).values()];
}

/** Words about several rows name them where the table has others, too. */
function limitsOf(answers: readonly Answer[]): string[] {
  return answers.flatMap(({ name, limitTexts, predictions }) =>
    limitTexts.map((text) => (answers.length > 1 && predictions.length > 1 ? `${name}: ${text}` : text)),
  );
}

type PredictionProps = {
  readonly made: Prediction;
  readonly unit: TimeUnit;
  readonly bytes: ByteUnit;
  readonly has: { readonly idle: boolean; readonly memory: boolean };
};

function PredictionLine({ made, unit, bytes, has }: PredictionProps) {
  const { name, step, memoryBytes } = made;
  return (
    <tr>
      <th scope="row">{name}</th>
      {"us" in step ? (
        <Predicted step={step} unit={unit} hasIdle={has.idle} />
      ) : (
        <NoLess step={step} unit={unit} hasIdle={has.idle} />
      )}
      {has.memory && (
        <td class="num" data-value-bytes={memoryBytes ?? undefined}>
          {memoryBytes === null ? <Unknown reason={NO_MEMORY} /> : inByteUnit(memoryBytes, bytes)}
        </td>
      )}
    </tr>
  );
}

type CellsProps<Step> = { readonly step: Step; readonly unit: TimeUnit; readonly hasIdle: boolean };

function Predicted({ step, unit, hasIdle }: CellsProps<PredictedStep>) {
  const { us, savedShare, samplesPerS, waitShare, idleShare } = step;
  return (
    <>
      <td class="num" data-value-us={us.value} title={exactUs(us.value)}>
        {inUnit(us.value, unit)}
      </td>
      <td class="num" data-low-us={us.low} data-high-us={us.high}>
        {inUnit(us.low, unit)} to {inUnit(us.high, unit)}
      </td>
      <td class="num" data-value={savedShare?.value}>
        {savedShare === null ? UNKNOWN : savedWords(savedShare.value)}
      </td>
      <td class="num" data-value={samplesPerS?.value}>
        {samplesPerS === null ? <Unknown reason={NO_SAMPLES} /> : significant(samplesPerS.value)}
      </td>
      <td class="num" data-value={waitShare.value}>
        {formatPercent(waitShare.value)}
      </td>
      {hasIdle && (
        <td class="num" data-value={idleShare?.value}>
          {idleShare === null ? UNKNOWN : formatPercent(idleShare.value)}
        </td>
      )}
    </>
  );
}

function savedWords(share: number): string {
  const rounded = Number(share.toFixed(SAVED_DECIMALS));
  return rounded < 0 ? `slower by ${formatPercent(-rounded)}` : formatPercent(rounded);
}

/** A bound, and no prediction. */
function NoLess({ step: { atLeastUs }, unit, hasIdle }: CellsProps<AtLeast>) {
  const noValue = (
    <td class="num">
      <Unknown reason={CROWDED} />
    </td>
  );
  return (
    <>
      {noValue}
      <td class="num" data-low-us={atLeastUs} title={exactUs(atLeastUs)}>
        at least {inUnit(atLeastUs, unit)}
      </td>
      {noValue}
      {noValue}
      {noValue}
      {hasIdle && noValue}
    </>
  );
}
