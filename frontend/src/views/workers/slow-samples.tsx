import type { SlowSample } from "../../contract/report";
import { chooseTimeUnit, formatDuration, type TimeUnit } from "../../model/format";
import { stageToken } from "../../model/parts";
import { shareWords } from "../../model/shares";
import type { LoaderPart } from "../../model/workers";
import { TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Unknown } from "../../ui/numbers";
import { Swatch } from "../../ui/swatch";
import { showBatch, showSample } from "./show-batch";

export function SlowSamples({ part }: { part: LoaderPart }) {
  const samples = part.slowSamples;
  if (samples.length === 0) return null;
  const unit = chooseTimeUnit(samples.map((sample) => sample.duration_us));
  return (
    <section>
      <h2>Slowest samples</h2>
      <div class="scroll-x">
        <DataTable name="Slowest samples" class="slow-samples" testId="slow-samples">
          <thead>
            <tr>
              <Th column="index" label="Dataset index" title="Index in the dataset: dataset[index] gives the sample" />
              <Th column="duration" label="Duration" unit={unit} />
              <Th column="worker" label="DataLoader worker" />
              <Th column="batch" label="Batch" />
              <Th column="epoch" label="Epoch" />
              <Th
                column="stage"
                label="Slowest stage"
                numeric={false}
                title="The stage with the highest self time in this sample"
              />
              <Th column="stage_us" label="Stage" unit={unit} title="That stage's self time" />
              <Th column="share" label="of sample" title="That stage's self time as a share of the sample" />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {samples.map((sample) => (
                <SampleLine
                  key={`${sample.index} ${sample.epoch} ${sample.batch} ${sample.duration_us}`}
                  sample={sample}
                  unit={unit}
                  part={part}
                />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

function sampleWords({ index, duration_us }: SlowSample): string {
  return index < 0 ? `the sample of ${formatDuration(duration_us)}` : `sample ${index}`;
}

function SampleLine({ sample, unit, part }: { sample: SlowSample; unit: TimeUnit; part: LoaderPart }) {
  const { index, batch: number, epoch, worker, stage } = sample;
  const batch = part.batches.find((item) => item.number === number && item.epoch === epoch && item.worker === worker);
  return (
    <tr
      class="choice"
      data-testid="slow-sample-row"
      data-index={index}
      data-start-us={sample.start_us}
      onClick={() => showSample(sample, batch)}>
      <td class="num" data-column="index" data-value={index}>
        <button type="button" class="link tabular" aria-label={`Show ${sampleWords(sample)} in the timeline`}>
          {index < 0 ? <Unknown reason="An iterable dataset has no index." /> : index}
        </button>
      </td>
      <TimeCell column="duration_us" us={sample.duration_us} unit={unit} reason="" />
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
      <td class="mono">
        {stage === "" ? (
          <Unknown reason="No stage was recorded inside this sample." />
        ) : (
          <>
            <Swatch token={stageToken(stage)} />
            {stage}
          </>
        )}
      </td>
      <TimeCell column="stage_us" us={sample.stage_us} unit={unit} reason="" />
      <td class="num">{shareWords(sample.stage_us, sample.duration_us)}</td>
    </tr>
  );
}
