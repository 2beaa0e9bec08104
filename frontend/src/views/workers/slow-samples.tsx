import type { Batch, SlowSample } from "../../contract/report";
import { chooseTimeUnit, exactUs, formatDuration, inUnit, type TimeUnit } from "../../model/format";
import { itemOf, itemsOf } from "../../model/items";
import { stageToken } from "../../model/parts";
import { share } from "../../model/shares";
import { type LoaderSamples, sampleKey } from "../../model/workers";
import { selectedSample } from "../../state/atoms";
import { FilesCell, NotCounted, ShareCell, TimeCell } from "../../ui/cells";
import { Code } from "../../ui/code";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Unknown } from "../../ui/numbers";
import { StageRef } from "../../ui/stage-ref";
import { Swatch } from "../../ui/swatch";
import { showBatch, showSample } from "./show-batch";

const FILES_TITLE = "The first paths that the sample was read from";
const NO_FILES = "The recorder saw no file being read for this sample.";

type Props = { readonly of: LoaderSamples | null; readonly batches: readonly Batch[] };

/** Of one DataLoader, and what loads them again, alone. */
export function SlowSamples({ of, batches }: Props) {
  if (of === null || of.slowSamples.length === 0) return null;
  const { slowSamples: samples, replayCommand, replayCode, name } = of;
  const withIndex = samples.some(({ index }) => index >= 0);
  const withFiles = samples.some(({ files }) => files.length > 0);
  const withBatch = samples.some(({ worker }) => worker >= 0);
  const unit = chooseTimeUnit(samples.map((sample) => sample.duration_us));
  const [item, items] = [itemOf(of), itemsOf(of)];
  return (
    <section>
      <h2>
        Slowest {items}
        {name !== "" && ` of ${name}`}
      </h2>
      <div class="scroll-x">
        <DataTable name={`Slowest ${items}`} class="slow-samples" testId="slow-samples">
          <thead>
            <tr>
              {withIndex && (
                <Th
                  column="index"
                  label="Dataset index"
                  title="Index in the dataset: dataset[index] gives the sample"
                />
              )}
              <Th column="duration" label="Duration" unit={unit} />
              {withBatch && <Th column="worker" label="DataLoader worker" />}
              {withBatch && <Th column="batch" label="Batch" />}
              {withBatch && <Th column="epoch" label="Epoch" />}
              <Th
                column="stage"
                label="Slowest stage"
                numeric={false}
                title={`The stage with the highest self time in this ${item}`}
              />
              <Th column="stage_us" label="Stage" unit={unit} title="That stage's self time" />
              <Th column="share" label={`of ${item}`} title={`That stage's self time as a share of the ${item}`} />
              {withFiles && <Th column="files" label="Files" numeric={false} title={FILES_TITLE} />}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {samples.map((sample) => (
                <SampleLine
                  key={`${sample.index} ${sample.epoch} ${sample.batch} ${sample.duration_us}`}
                  sample={sample}
                  unit={unit}
                  batches={batches}
                  withIndex={withIndex}
                  withBatch={withBatch}
                  withFiles={withFiles}
                />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
      {replayCommand !== "" && (
        <div class="replay">
          <p>To see whether they are slow in themselves, load them again, alone:</p>
          <Code text={replayCommand} testId="replay-command" />
          <p>
            MODULE:MAKE_LOADER is {name === "" ? "your DataLoader" : name}, or a function that returns it
            (train.py:make_loader). In a notebook:
          </p>
          <Code text={replayCode} testId="replay-code" />
        </div>
      )}
    </section>
  );
}

function sampleWords({ index }: SlowSample): string {
  return index < 0 ? "this sample" : `sample ${index}`;
}

type LineProps = {
  readonly sample: SlowSample;
  readonly unit: TimeUnit;
  readonly batches: readonly Batch[];
  /** Where no sample has one, an iterable dataset is loaded. */
  readonly withIndex: boolean;
  /** Whether it is known which DataLoader worker made them, for which batch. */
  readonly withBatch: boolean;
  readonly withFiles: boolean;
};

function SampleLine({ sample, unit, batches, withIndex, withBatch, withFiles }: LineProps) {
  const { index, batch: number, epoch, worker, stage } = sample;
  const batch = batches.find((item) => item.number === number && item.epoch === epoch && item.worker === worker);
  return (
    <tr
      class="choice"
      data-testid="slow-sample-row"
      data-index={index}
      data-start-us={sample.start_us}
      aria-current={selectedSample.value === sampleKey(sample) ? "true" : undefined}
      onClick={() => showSample(sample, batch)}>
      {withIndex && (
        <td class="num" data-column="index" data-value={index < 0 ? undefined : index}>
          {index < 0 ? <Unknown reason="An iterable dataset has no index." /> : index}
        </td>
      )}
      <td class="num" data-column="duration_us" data-value-us={sample.duration_us} title={exactUs(sample.duration_us)}>
        <button
          type="button"
          class="link tabular"
          data-testid="slow-sample-link"
          aria-label={`${inUnit(sample.duration_us, unit)} ${unit}: show ${sampleWords(sample)} in the timeline`}>
          {inUnit(sample.duration_us, unit)}
        </button>
      </td>
      {withBatch && <BatchCells sample={sample} batch={batch} />}
      <td class="mono">
        {stage === "" ? (
          <Unknown reason="No stage was recorded inside this sample." />
        ) : (
          <>
            <Swatch token={stageToken(stage)} />
            <StageRef name={stage} />
          </>
        )}
        {sample.begun_before && (
          <div class="muted" data-testid="begun-before">
            begun before the window
          </div>
        )}
        {sample.first && (
          <div class="muted" data-testid="first-of-iterator">
            the first of its iterator, which may fill a buffer or open files
          </div>
        )}
        {sample.collected_us > 0 && (
          <div class="muted" data-testid="collected">
            of it {formatDuration(sample.collected_us)} Python's garbage collector
          </div>
        )}
        <NotCounted spanUs={sample.span_us} durationUs={sample.duration_us} />
      </td>
      <TimeCell column="stage_us" us={sample.stage_us} unit={unit} reason="" />
      <ShareCell share={share(sample.stage_us, sample.duration_us)} />
      {withFiles && <FilesCell files={sample.files} reason={NO_FILES} />}
    </tr>
  );
}

/** Who made it, and for which batch. */
function BatchCells({ sample, batch }: { sample: SlowSample; batch: Batch | undefined }) {
  const { worker, batch: number, epoch } = sample;
  return (
    <>
      <td class="num" data-column="worker" data-value={worker}>
        {worker}
      </td>
      <td class="num" data-column="batch" data-value={number}>
        {batch === undefined ? (
          number
        ) : (
          <button
            type="button"
            class="link tabular"
            aria-label={`Show batch ${number} in the timeline`}
            onClick={(event) => {
              event.stopPropagation();
              showBatch(batch);
            }}>
            {number}
          </button>
        )}
      </td>
      <td class="num" data-column="epoch" data-value={epoch}>
        {epoch}
      </td>
    </>
  );
}
