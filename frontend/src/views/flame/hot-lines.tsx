import type { Line, PartLines } from "../../contract/report";
import { linesBy, type Measure, OF_MEASURE, shareOf } from "../../model/flame-parts";
import { chooseTimeUnit, formatCount, formatPercent, plural, type TimeUnit } from "../../model/format";
import { flameSearch } from "../../state/atoms";
import { ShareCell, TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Prose } from "../../ui/prose";

const INTERVAL = "95% interval of the share, by the number of samples";
const LINE = "The innermost line of your own code in the sampled stacks, with what it calls";

type Props = {
  readonly lines: PartLines;
  /** What the picture above is of. */
  readonly measure: Measure;
  /** Not beside times of spans: sampled time is another one, and a line would take longer than its stage. */
  readonly withTime?: boolean;
};

/** By the time that they take, or by their part in what the picture above is of. */
const TITLES: Readonly<Record<Measure, string>> = {
  all: "Hottest lines",
  wait: "Lines by the data wait they caused",
  idle: "Lines by their time while a device was idle",
};

/** The lines that take the time, most first; a click looks for the line in the flame graph. */
export function HotLines({ lines, measure, withTime = true }: Props) {
  const rows = linesBy(lines, measure).filter(({ share, error }, number) => number === 0 || share > error);
  const others = lines.others + lines.lines.length - rows.length;
  if (rows.length === 0) return null;
  const unit = chooseTimeUnit(rows.map((row) => row.time_us));
  const isOfAll = measure === "all";
  return (
    <section>
      <h2>{TITLES[measure]}</h2>
      <div class="scroll-x">
        <DataTable name="Hottest lines" class="hot-lines" testId="hot-lines" main>
          <thead>
            <tr>
              <Th column="line" label="Line" numeric={false} title={LINE} />
              {!isOfAll && <Th column="part" label={OF_MEASURE[measure]} />}
              <Th column="share" label={isOfAll ? "Share" : OF_MEASURE.all} />
              <Th
                column="interval"
                label={isOfAll ? "95% interval" : `95% interval ${OF_MEASURE.all}`}
                title={INTERVAL}
              />
              {withTime && <Th column="time" label={isOfAll ? "Time" : "All time"} unit={unit} />}
              <Th column="samples" label="Samples" />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {rows.map((row) => (
                <HotLine
                  key={`${row.file}:${row.line} ${row.function}`}
                  row={row}
                  measure={measure}
                  unit={withTime ? unit : null}
                />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
      {others > 0 && (
        <p class="muted">
          {plural(others, "more line")} {others === 1 ? "has" : "have"} less time, or an interval that reaches 0%.
        </p>
      )}
    </section>
  );
}

function HotLine({ row, measure, unit }: { row: Line; measure: Measure; unit: TimeUnit | null }) {
  const [low, high] = [Math.max(0, row.share - row.error), Math.min(1, row.share + row.error)];
  return (
    <tr data-testid="hot-line" data-place={row.place}>
      <td>
        <button
          type="button"
          class="link line-text"
          onClick={() => {
            flameSearch.value = row.place;
          }}>
          <Prose text={row.text} />
        </button>
        {row.source !== "" && !row.text.includes(row.source) && (
          <>
            {" "}
            <code class="source-line">{row.source}</code>
          </>
        )}
      </td>
      {measure !== "all" && <ShareCell column="part" share={shareOf(row, measure) ?? 0} />}
      <ShareCell share={row.share} />
      <td class="num" data-low={low} data-high={high}>
        {formatPercent(low)} to {formatPercent(high)}
      </td>
      {unit !== null && <TimeCell us={row.time_us} unit={unit} reason="" />}
      <td class="num" data-value={row.samples}>
        {formatCount(row.samples)}
      </td>
    </tr>
  );
}
