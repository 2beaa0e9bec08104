import { useSignal } from "@preact/signals";
import type { CaptureRow } from "../../contract/report";
import { whenOf } from "../../model/captures";
import { chooseTimeUnit, formatCount, formatDuration, formatPercent, onAxis, plural } from "../../model/format";
import type { Course } from "../../model/rows";
import { capitalised } from "../../model/sentence";
import { niceStep } from "../../model/time-scale";
import { trendOfStep } from "../../state/atoms";
import { LineKey, lineClass, type Stroke } from "../../ui/line-key";
import { PictureMenu } from "../../ui/picture-menu";
import { Prose } from "../../ui/prose";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";
import { openCapture } from "../shared/open-capture";

/** Room for "5,000 ms". */
const LEFT_PX = 64;
const RIGHT_PX = 8;
const TOP_PX = 8;
const PLOT_PX = 120;
/** Below the plot: when the oldest and the newest were recorded. */
const WHEN_PX = 24;
const HEIGHT_PX = TOP_PX + PLOT_PX + WHEN_PX;
/** Between two captures, at most: few of them do not need all of a wide screen. */
const WIDEST_PX = 96;
const NARROWEST_PX = 640;

type Line = {
  readonly label: string;
  readonly stroke: Stroke;
  readonly of: (row: CaptureRow) => number | undefined;
};

type Measure = {
  readonly label: string;
  readonly lines: readonly Line[];
  /** At the upper edge, given the largest value. */
  readonly topOf: (largest: number) => number;
  readonly text: (value: number) => string;
  readonly axisText: (value: number, top: number) => string;
};

/** The data wait looks as it does above the steps of a capture. */
const SHARES: Measure = {
  label: "share of the window",
  lines: [
    { label: "data wait", stroke: "main", of: (row) => row.data_wait_share },
    { label: "device idle", stroke: "second", of: (row) => row.idle_share },
  ],
  topOf: () => 1,
  text: formatPercent,
  axisText: (share) => `${100 * share}%`,
};
/** A share may stay as it is where all became faster. */
const STEP: Measure = {
  label: "mean step",
  lines: [{ label: "mean step", stroke: "main", of: (row) => row.step_us }],
  topOf: (largest) => 2 * niceStep(largest, 2),
  text: formatDuration,
  axisText: (us, top) => {
    const unit = chooseTimeUnit([top]);
    return `${onAxis(us, top / 2, unit)} ${unit}`;
  },
};

type Props = { readonly run: string; readonly course: Course };

/** Their order is only as good as what it is from. */
function byFileWords(byFile: number, of: number): string {
  if (byFile === 0) return "";
  if (byFile === of) return " by when their files were changed";
  return ` (${formatCount(byFile)} by when ${byFile === 1 ? "its file was" : "their files were"} changed)`;
}

/** How a run went from capture to capture, oldest first. */
export function Trend({ run, course }: Props) {
  const { rows, left, byFile } = course;
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const hover = useSignal<{ readonly row: CaptureRow; readonly x: number; readonly y: number } | null>(null);
  const measures = [SHARES, STEP].filter(({ lines }) => rows.some((row) => lines.some((line) => has(line, row))));
  const chosen = trendOfStep.value ? STEP : SHARES;
  const measure = measures.includes(chosen) ? chosen : measures[0];
  if (measure === undefined) return null;
  const lines = measure.lines.filter((line) => rows.some((row) => has(line, row)));
  const top = measure.topOf(Math.max(...rows.flatMap((row) => lines.map((line) => line.of(row) ?? 0)))) || 1;
  const plotPx = Math.max(100, widthPx - LEFT_PX - RIGHT_PX);
  const slotPx = plotPx / rows.length;
  const mostPx = Math.max(NARROWEST_PX, LEFT_PX + RIGHT_PX + WIDEST_PX * rows.length);
  const xOf = (index: number): number => LEFT_PX + (index + 0.5) * slotPx;
  const yOf = (value: number): number => TOP_PX + PLOT_PX * (1 - value / top);
  return (
    <figure class="step-chart trend" ref={ref} style={{ maxWidth: `${mostPx}px` }}>
      <figcaption>
        <h2>Trend: {run === "." ? "log directory" : run}</h2>
        {measure !== STEP && <LineNames lines={lines} />}
        {measures.length > 1 && (
          <MeasureChoice
            measures={measures}
            shown={measure}
            choose={(next) => {
              trendOfStep.value = next === STEP;
            }}
          />
        )}
        <span class="muted">
          {plural(rows.length, "capture")}
          {rows[0]?.rank === undefined ? "" : ` of rank ${rows[0].rank}`}, oldest first
          {byFileWords(byFile, rows.length)}
          {measures.length < 2 && `; ${measure.label}`}
          {left > 0 && `; ${formatCount(left)} of ${left === 1 ? "another program is" : "other programs are"} left out`}
        </span>
        <PictureMenu name={`Trend ${run}`} />
      </figcaption>
      <svg
        width={widthPx}
        height={HEIGHT_PX}
        viewBox={`0 0 ${widthPx} ${HEIGHT_PX}`}
        role="img"
        data-testid="trend"
        aria-label={`${capitalised(lines.map(({ label }) => label).join(" and "))} of ${plural(rows.length, "capture")}; the table below has the numbers`}>
        <Axis
          endPx={LEFT_PX + plotPx}
          yOf={yOf}
          values={[0, top / 2, top]}
          text={(value) => measure.axisText(value, top)}
        />
        <Ends rows={rows} startPx={LEFT_PX} endPx={LEFT_PX + plotPx} />
        {lines.map((line) => (
          <LineOf key={line.label} line={line} rows={rows} xOf={xOf} yOf={yOf} dots={slotPx >= 6} />
        ))}
        {rows.map((row, index) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table's buttons do the same by keys
          <rect
            key={row.id}
            class="step-target trend-target"
            x={LEFT_PX + index * slotPx}
            y={0}
            width={slotPx}
            height={HEIGHT_PX}
            onPointerMove={({ clientX: x, clientY: y }) => {
              hover.value = { row, x, y };
            }}
            onPointerLeave={() => {
              hover.value = null;
            }}
            onClick={() => openCapture(row.id)}
          />
        ))}
      </svg>
      {hover.value !== null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <Readout row={hover.value.row} measure={measure} />
        </Tooltip>
      )}
    </figure>
  );
}

function has(line: Line, row: CaptureRow): boolean {
  return line.of(row) !== undefined;
}

type ChoiceProps = {
  readonly measures: readonly Measure[];
  readonly shown: Measure;
  readonly choose: (measure: Measure) => void;
};

function MeasureChoice({ measures, shown, choose }: ChoiceProps) {
  return (
    <div class="toggle" role="group" aria-label="What the trend is of">
      {measures.map((measure) => (
        <button type="button" key={measure.label} aria-pressed={measure === shown} onClick={() => choose(measure)}>
          {measure.label}
        </button>
      ))}
    </div>
  );
}

function LineNames({ lines }: { lines: readonly Line[] }) {
  return (
    <ul class="legend">
      {lines.map(({ label, stroke }) => (
        <li key={label}>
          <LineKey stroke={stroke} />
          {label}
        </li>
      ))}
    </ul>
  );
}

type AxisProps = {
  readonly endPx: number;
  readonly yOf: (value: number) => number;
  readonly values: readonly number[];
  readonly text: (value: number) => string;
};

function Axis({ endPx, yOf, values, text }: AxisProps) {
  return (
    <g class="axis">
      {values.map((value) => (
        <g key={value}>
          <line x1={LEFT_PX} x2={endPx} y1={Math.round(yOf(value)) + 0.5} y2={Math.round(yOf(value)) + 0.5} />
          <text x={LEFT_PX - 8} y={yOf(value) + 4} text-anchor="end">
            {text(value)}
          </text>
        </g>
      ))}
    </g>
  );
}

type EndsProps = { readonly rows: readonly CaptureRow[]; readonly startPx: number; readonly endPx: number };

/** A picture on paper has no pointer to ask with. */
function Ends({ rows, startPx, endPx }: EndsProps) {
  return (
    <g class="axis">
      <text x={startPx} y={HEIGHT_PX - 6}>
        {whenWordsOf(rows[0])}
      </text>
      <text x={endPx} y={HEIGHT_PX - 6} text-anchor="end">
        {whenWordsOf(rows.at(-1))}
      </text>
    </g>
  );
}

function whenWordsOf(row: CaptureRow | undefined): string {
  return row === undefined ? "" : (whenOf({ taken: row.taken, takenBy: row.taken_by })?.words ?? "");
}

type LineProps = {
  readonly line: Line;
  readonly rows: readonly CaptureRow[];
  readonly xOf: (index: number) => number;
  readonly yOf: (value: number) => number;
  readonly dots: boolean;
};

/** Broken where a capture does not know the number. */
function LineOf({ line, rows, xOf, yOf, dots }: LineProps) {
  const points = rows.map((row, index) => ({ x: xOf(index), value: line.of(row) }));
  const path = points
    .map(({ x, value }, index) => {
      if (value === undefined) return "";
      const isStart = points[index - 1]?.value === undefined;
      return `${isStart ? "M" : "L"}${x.toFixed(1)},${yOf(value).toFixed(1)}`;
    })
    .join("");
  return (
    <g>
      <path class={lineClass(line.stroke)} d={path} />
      {points.map(({ x, value }) =>
        value === undefined || !(dots || rows.length < 3) ? null : (
          <circle key={x} class={`dot-${line.stroke}`} cx={x} cy={yOf(value)} r={3} />
        ),
      )}
    </g>
  );
}

function Readout({ row, measure: { lines, text } }: { row: CaptureRow; measure: Measure }) {
  return (
    <>
      <p class="tooltip-title">{row.name}</p>
      <p class="muted">{whenOf({ taken: row.taken, takenBy: row.taken_by })?.words}</p>
      <table>
        <tbody>
          {lines.map((line) => {
            const value = line.of(row);
            return (
              <tr key={line.label}>
                <th scope="row">
                  <LineKey stroke={line.stroke} />
                  {line.label}
                </th>
                <td class="num">{value === undefined ? "–" : text(value)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p>
        <Prose text={row.finding} />
      </p>
    </>
  );
}
