import { useSignal } from "@preact/signals";
import type { StageDetail, StageTrend } from "../../contract/report";
import { chooseTimeUnit, formatDuration, formatTick, onAxis, plural } from "../../model/format";
import { niceStep, ticks } from "../../model/time-scale";
import { cssColor } from "../../theme/tokens";
import { PictureMenu } from "../../ui/picture-menu";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";

const TOP_PX = 32;
const PLOT_PX = 120;
const BOTTOM_PX = 20;
/** Room for the axis of durations, and that a point at the end is drawn whole. */
const LEFT_PX = 64;
const INSET_PX = 6;
const LABEL_PX = 80;

type Props = {
  readonly detail: StageDetail;
  readonly kind: string;
  readonly startUs: number;
  readonly windowUs: number | undefined;
};

/** Mean and longest call of each batch over the window. */
export function CallTrend({ detail, kind, startUs, windowUs }: Props) {
  const { trend } = detail;
  const [ref, widthPx] = useWidth<HTMLDivElement>(480);
  const hover = useSignal<{ readonly row: number; readonly x: number; readonly y: number } | null>(null);
  if (trend === undefined) return null;
  const endUs = startUs + (windowUs ?? Math.max(0, ...trend.start_us) - startUs);
  const top = Math.max(1e-9, ...trend.max_us);
  const unit = chooseTimeUnit(trend.max_us);
  const base = TOP_PX + PLOT_PX;
  const xOf = (us: number): number =>
    LEFT_PX + ((us - startUs) / Math.max(1e-9, endUs - startUs)) * (widthPx - LEFT_PX - INSET_PX);
  const [stepUs, perTickUs] = [niceStep(top, 3), niceStep(endUs - startUs, (widthPx - LEFT_PX) / LABEL_PX)];
  const yOf = (us: number): number => base - (us / top) * PLOT_PX;
  const onMove = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }): void => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    hover.value = { row: nearest(trend, xOf, x), x: event.clientX, y: event.clientY };
  };
  const what = trend.per === "batch" ? "by batch" : "by time";
  return (
    <figure class="chart" ref={ref} data-testid="trend" data-per={trend.per}>
      <figcaption>
        <h2>Time per call over the window, {what}</h2>
        <PictureMenu name={`Time per call ${detail.name}`} />
      </figcaption>
      <svg
        width={widthPx}
        height={base + BOTTOM_PX}
        role="img"
        aria-label={`Mean and longest call ${what}, in ${plural(trend.calls.length, "row")}`}
        onPointerMove={onMove}
        onPointerLeave={() => (hover.value = null)}>
        <g class="axis">
          {ticks(0, top, stepUs).map((us) => (
            <g key={us}>
              <line x1={LEFT_PX} x2={widthPx} y1={Math.round(yOf(us)) + 0.5} y2={Math.round(yOf(us)) + 0.5} />
              <text x={LEFT_PX - 8} y={yOf(us) + 4} text-anchor="end">
                {onAxis(us, stepUs, unit)} {unit}
              </text>
            </g>
          ))}
          {ticks(startUs, endUs, perTickUs).map((us) => (
            <g key={us}>
              <line class="tick" x1={xOf(us)} x2={xOf(us)} y1={base} y2={base + 4} />
              <text x={xOf(us)} y={base + 15} text-anchor={xOf(us) > widthPx - 24 ? "end" : "middle"}>
                {formatTick(us, perTickUs)}
              </text>
            </g>
          ))}
        </g>
        {trend.start_us.map((us, row) => (
          <g key={us} data-testid="trend-point" opacity={hover.value === null || hover.value.row === row ? 1 : 0.5}>
            <line
              class="trend-reach"
              x1={xOf(us)}
              x2={xOf(us)}
              y1={yOf(trend.mean_us[row] ?? 0)}
              y2={yOf(trend.max_us[row] ?? 0)}
            />
            <circle cx={xOf(us)} cy={yOf(trend.mean_us[row] ?? 0)} r={3} fill={cssColor(kind)} class="trend-mean" />
          </g>
        ))}
      </svg>
      <p class="muted legend-line">
        dot: mean of the batch's calls; line: up to its longest; times as in the timeline below
      </p>
      {hover.value !== null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <Readout trend={trend} row={hover.value.row} />
        </Tooltip>
      )}
    </figure>
  );
}

function nearest({ start_us: starts }: StageTrend, xOf: (us: number) => number, px: number): number {
  const distances = starts.map((us) => Math.abs(xOf(us) - px));
  return distances.indexOf(Math.min(...distances));
}

function Readout({ trend, row }: { trend: StageTrend; row: number }) {
  const batch = trend.batch[row];
  return (
    <>
      <p class="tooltip-title">
        {batch === undefined ? formatDuration(trend.start_us[row] ?? 0) : `from batch ${batch}`}
      </p>
      <p>{plural(trend.calls[row] ?? 0, "call")}</p>
      <p>mean {formatDuration(trend.mean_us[row] ?? 0)}</p>
      <p>longest {formatDuration(trend.max_us[row] ?? 0)}</p>
    </>
  );
}
