import type { SlowSample } from "../../contract/report";
import { chooseTimeUnit, formatDuration, type TimeUnit } from "../../model/format";
import { stageToken } from "../../model/parts";
import { shareWords } from "../../model/shares";
import type { LoaderPart } from "../../model/workers";
import { TimeCell } from "../../ui/cells";
import { Explained } from "../../ui/explained";
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
        <table class="slow-samples" data-testid="slow-samples">
          <thead>
            <tr>
              <th scope="col" class="num">
                <Explained text="Index in the dataset: dataset[index] gives the sample">Dataset index</Explained>
              </th>
              <th scope="col" class="num">
                Duration<span class="unit">, {unit}</span>
              </th>
              <th scope="col" class="num">
                DataLoader worker
              </th>
              <th scope="col" class="num">
                Batch
              </th>
              <th scope="col" class="num">
                Epoch
              </th>
              <th scope="col">
                <Explained text="The stage with the highest self time in this sample">Slowest stage</Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="That stage's self time">
                  Stage<span class="unit">, {unit}</span>
                </Explained>
              </th>
              <th scope="col" class="num">
                <Explained text="That stage's self time as a share of the sample">of sample</Explained>
              </th>
            </tr>
          </thead>
          <tbody>
            {samples.map((sample) => (
              <SampleLine
                key={`${sample.index} ${sample.epoch} ${sample.batch} ${sample.duration_us}`}
                sample={sample}
                unit={unit}
                part={part}
              />
            ))}
          </tbody>
        </table>
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
