import { useSignal } from "@preact/signals";
import type { CaptureRow } from "../../contract/report";
import { formatCount, formatPercent, plural } from "../../model/format";
import type { Course } from "../../model/rows";
import { selectCapture, selectView } from "../../state/actions";
import { LineKey, lineClass, type Stroke } from "../../ui/line-key";
import { PictureMenu } from "../../ui/picture-menu";
import { Prose } from "../../ui/prose";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";

const LEFT_PX = 48;
const RIGHT_PX = 8;
const TOP_PX = 8;
const PLOT_PX = 120;
/** Between two captures, at most: few of them do not need all of a wide screen. */
const WIDEST_PX = 96;
const NARROWEST_PX = 640;

type Line = {
  readonly label: string;
  readonly stroke: Stroke;
  readonly of: (row: CaptureRow) => number | undefined;
};

/** The data wait looks as it does above the steps of a capture. */
const LINES: readonly Line[] = [
  { label: "data wait", stroke: "main", of: (row) => row.data_wait_share },
  { label: "device idle", stroke: "second", of: (row) => row.idle_share },
];

type Props = { readonly run: string; readonly course: Course };

/** The shares of a run's captures, oldest first. */
export function Trend({ run, course }: Props) {
  const { rows, left } = course;
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const hover = useSignal<{ readonly row: CaptureRow; readonly x: number; readonly y: number } | null>(null);
  const lines = LINES.filter((line) => rows.some((row) => line.of(row) !== undefined));
  if (lines.length === 0) return null;
  const plotPx = Math.max(100, widthPx - LEFT_PX - RIGHT_PX);
  const slotPx = plotPx / rows.length;
  const mostPx = Math.max(NARROWEST_PX, LEFT_PX + RIGHT_PX + WIDEST_PX * rows.length);
  const xOf = (index: number): number => LEFT_PX + (index + 0.5) * slotPx;
  const yOf = (share: number): number => TOP_PX + PLOT_PX * (1 - share);
  return (
    <figure class="step-chart trend" ref={ref} style={{ maxWidth: `${mostPx}px` }}>
      <figcaption>
        <h2>Trend: {run === "." ? "log directory" : run}</h2>
        <LineNames lines={lines} />
        <span class="muted">
          {plural(rows.length, "capture")}
          {rows[0]?.rank === undefined ? "" : ` of rank ${rows[0].rank}`}, oldest first; share of the window
          {left > 0 && `; ${formatCount(left)} of ${left === 1 ? "another program is" : "other programs are"} left out`}
        </span>
        <PictureMenu name={`Trend ${run}`} />
      </figcaption>
      <svg
        width={widthPx}
        height={TOP_PX + PLOT_PX + 12}
        viewBox={`0 0 ${widthPx} ${TOP_PX + PLOT_PX + 12}`}
        role="img"
        data-testid="trend"
        aria-label={`Device idle and data wait of ${plural(rows.length, "capture")}; the table below has the numbers`}>
        <Axis endPx={LEFT_PX + plotPx} yOf={yOf} />
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
            height={TOP_PX + PLOT_PX + 12}
            onPointerMove={({ clientX: x, clientY: y }) => {
              hover.value = { row, x, y };
            }}
            onPointerLeave={() => {
              hover.value = null;
            }}
            onClick={() => {
              selectCapture(row.id);
              selectView("overview");
            }}
          />
        ))}
      </svg>
      {hover.value !== null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <Readout row={hover.value.row} />
        </Tooltip>
      )}
    </figure>
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

function Axis({ endPx, yOf }: { endPx: number; yOf: (share: number) => number }) {
  return (
    <g class="axis">
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line x1={LEFT_PX} x2={endPx} y1={Math.round(yOf(share)) + 0.5} y2={Math.round(yOf(share)) + 0.5} />
          <text x={LEFT_PX - 8} y={yOf(share) + 4} text-anchor="end">
            {100 * share}%
          </text>
        </g>
      ))}
    </g>
  );
}

type LineProps = {
  readonly line: Line;
  readonly rows: readonly CaptureRow[];
  readonly xOf: (index: number) => number;
  readonly yOf: (share: number) => number;
  readonly dots: boolean;
};

/** Broken where a capture does not know the number. */
function LineOf({ line, rows, xOf, yOf, dots }: LineProps) {
  const points = rows.map((row, index) => ({ x: xOf(index), share: line.of(row) }));
  const path = points
    .map(({ x, share }, index) => {
      if (share === undefined) return "";
      const isStart = points[index - 1]?.share === undefined;
      return `${isStart ? "M" : "L"}${x.toFixed(1)},${yOf(share).toFixed(1)}`;
    })
    .join("");
  return (
    <g>
      <path class={lineClass(line.stroke)} d={path} />
      {points.map(({ x, share }) =>
        share === undefined || !(dots || rows.length < 3) ? null : (
          <circle key={x} class={`dot-${line.stroke}`} cx={x} cy={yOf(share)} r={3} />
        ),
      )}
    </g>
  );
}

function Readout({ row }: { row: CaptureRow }) {
  return (
    <>
      <p class="tooltip-title">{row.name}</p>
      <table>
        <tbody>
          {LINES.map((line) => {
            const share = line.of(row);
            return (
              <tr key={line.label}>
                <th scope="row">
                  <LineKey stroke={line.stroke} />
                  {line.label}
                </th>
                <td class="num">{share === undefined ? "–" : formatPercent(share)}</td>
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
