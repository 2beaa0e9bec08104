import type { Line, PartLines } from "../../contract/report";
import { chooseTimeUnit, formatCount, formatPercent, plural, type TimeUnit } from "../../model/format";
import { flameSearch } from "../../state/atoms";
import { TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";

const INTERVAL = "95% interval of the share, by the number of samples";
const LINE = "The innermost line of your own code in the sampled stacks, with what it calls";

type Props = {
  readonly lines: PartLines;
  readonly ofAllTime: boolean;
  /** Not beside times of spans: sampled time is another one, and a line would take longer than its stage. */
  readonly withTime?: boolean;
};

/** The lines that take the time, most first; `ofAllTime` where the picture above is of less. a click looks for the line in the flame graph. */
export function HotLines({ lines, ofAllTime, withTime = true }: Props) {
  const rows = lines.lines.filter(({ share, error }, number) => number === 0 || share > error);
  const others = lines.others + lines.lines.length - rows.length;
  if (rows.length === 0) return null;
  const unit = chooseTimeUnit(rows.map((row) => row.time_us));
  return (
    <section>
      <h2>Hottest lines{ofAllTime && " of all time"}</h2>
      <div class="scroll-x">
        <DataTable name="Hottest lines" class="hot-lines" testId="hot-lines" main>
          <thead>
            <tr>
              <Th column="line" label="Line" numeric={false} title={LINE} />
              <Th column="share" label="Share" />
              <Th column="interval" label="95% interval" title={INTERVAL} />
              {withTime && <Th column="time" label="Time" unit={unit} />}
              <Th column="samples" label="Samples" />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {rows.map((row) => (
                <HotLine key={`${row.file}:${row.line} ${row.function}`} row={row} unit={withTime ? unit : null} />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
      {others > 0 && (
        <p class="muted">and {plural(others, "line")} more, with less time or with too few samples to tell</p>
      )}
    </section>
  );
}

function HotLine({ row, unit }: { row: Line; unit: TimeUnit | null }) {
  return (
    <tr data-testid="hot-line" data-place={row.place}>
      <td>
        <button
          type="button"
          class="link line-text"
          onClick={() => {
            flameSearch.value = row.place;
          }}>
          {row.text}
        </button>
        {row.source !== "" && !row.text.includes(row.source) && <code class="source-line">{row.source}</code>}
      </td>
      <td class="num" data-value={row.share}>
        {formatPercent(row.share)}
      </td>
      <td class="num">
        {formatPercent(Math.max(0, row.share - row.error))} to {formatPercent(Math.min(1, row.share + row.error))}
      </td>
      {unit !== null && <TimeCell us={row.time_us} unit={unit} reason="" />}
      <td class="num" data-value={row.samples}>
        {formatCount(row.samples)}
      </td>
    </tr>
  );
}
