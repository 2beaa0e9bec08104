import type { Capture, ReplayedSample } from "../../contract/report";
import { chooseTimeUnit, formatCount, type TimeUnit } from "../../model/format";
import { FilesCell, TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Prose } from "../../ui/prose";

const WARM = "Median of its loads, its files being in the page cache";
const COLD = "One load, with its files from storage";
const NOT_COLD = "Its files could not be had from storage.";
const CAPTURED = "What it took in the capture that it was named from";
const NOT_CAPTURED = "It was named by its index alone, not from a capture.";
const FILES = "The first paths that the sample was read from";
const NO_FILES = "No file was seen being read for this sample.";

/** What a replay of named samples is for: was each slow in itself, or only in training? */
export function ReplayedSamples({ capture: { replayed_samples: samples } }: { capture: Capture }) {
  if (samples.length === 0) return null;
  const unit = chooseTimeUnit(samples.flatMap(({ warm_us, cold_us, captured_us }) => [warm_us, cold_us, captured_us]));
  const withFiles = samples.some(({ files }) => files.length > 0);
  const isNamedFrom = samples.some(({ captured_us }) => captured_us !== undefined);
  return (
    <section>
      <h2>Replayed samples</h2>
      <p class="muted">Loaded again, alone. Warm: files in the page cache; cold: files from storage.</p>
      <div class="scroll-x">
        <DataTable name="Replayed samples" class="slow-samples replayed-samples" testId="replayed-samples">
          <thead>
            <tr>
              <Th column="index" label="Index" title="Index in the dataset: dataset[index] gives the sample" />
              {isNamedFrom && <Th column="captured" label="Captured" unit={unit} title={CAPTURED} />}
              <Th column="cold" label="Cold" unit={unit} title={COLD} />
              <Th column="warm" label="Warm" unit={unit} title={WARM} />
              <Th column="loads" label="Loads" title="How many warm loads that is the median of" />
              <Th column="why" label={isNamedFrom ? "Why it was slow" : "Where its time goes"} numeric={false} />
              {withFiles && <Th column="files" label="Files" numeric={false} title={FILES} />}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {samples.map((sample) => (
                <SampleLine
                  key={sample.index}
                  sample={sample}
                  unit={unit}
                  isNamedFrom={isNamedFrom}
                  withFiles={withFiles}
                />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

type LineProps = {
  readonly sample: ReplayedSample;
  readonly unit: TimeUnit;
  readonly isNamedFrom: boolean;
  readonly withFiles: boolean;
};

function SampleLine({ sample, unit, isNamedFrom, withFiles }: LineProps) {
  return (
    <tr data-testid="replayed-sample" data-index={sample.index} data-cause={sample.cause}>
      <th scope="row" class="num" data-value={sample.index}>
        {String(sample.index)}
      </th>
      {isNamedFrom && <TimeCell column="captured_us" us={sample.captured_us} unit={unit} reason={NOT_CAPTURED} />}
      <TimeCell column="cold_us" us={sample.cold_us} unit={unit} reason={NOT_COLD} />
      <TimeCell column="warm_us" us={sample.warm_us} unit={unit} reason="" />
      <td class="num" data-column="loads" data-value={sample.loads}>
        {formatCount(sample.loads)}
      </td>
      <td class="replayed-why">
        <Prose text={sample.text} />
      </td>
      {withFiles && <FilesCell files={sample.files} reason={NO_FILES} />}
    </tr>
  );
}
