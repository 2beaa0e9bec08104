import { useSignal } from "@preact/signals";
import type { StageDetail } from "../../contract/report";
import { chooseTimeUnit, formatCount, formatDuration, inUnit, plural, type TimeUnit } from "../../model/format";
import {
  type Bar,
  countTicks,
  type DurationTick,
  durationTicks,
  histogramBars,
  percentilePx,
} from "../../model/histogram";
import { shareWords } from "../../model/shares";
import { cssColor } from "../../theme/tokens";
import { PictureMenu } from "../../ui/picture-menu";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";

/** Room for the axis of counts. */
const LEFT_PX = 36;
const TOP_PX = 32;
const PLOT_PX = 120;
const BOTTOM_PX = 20;

/** Calls by duration, with p50 and p95; the bins are the report's. */
export function CallHistogram({ detail, kind }: { detail: StageDetail; kind: string }) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(480);
  const hover = useSignal<{ readonly bar: Bar; readonly x: number; readonly y: number } | null>(null);
  const { histogram } = detail;
  if (histogram === undefined || histogram.calls.length === 0) return null;
  const { edges_us: edges, logarithmic } = histogram;
  const plotPx = Math.max(100, widthPx - LEFT_PX);
  const bars = histogramBars(histogram, plotPx).map((bar) => ({ ...bar, leftPx: LEFT_PX + bar.leftPx }));
  const most = Math.max(1, ...histogram.calls);
  const base = TOP_PX + PLOT_PX;
  const yOf = (count: number): number => Math.round(base - (count / most) * PLOT_PX) + 0.5;
  const unit = chooseTimeUnit(edges);
  const label = `Histogram of ${plural(detail.count, "call")} by duration: p50 ${formatDuration(detail.p50_us)}, p95 ${formatDuration(detail.p95_us)}`;
  return (
    <figure class="chart" ref={ref} data-testid="histogram">
      <figcaption>
        <h2>
          Calls by duration
          <span class="unit">
            {logarithmic ? ", logarithmic axis" : ""}; {plural(detail.count, "call")}
          </span>
        </h2>
        <PictureMenu name={`Calls by duration ${detail.name}`} />
      </figcaption>
      <svg
        width={widthPx}
        height={base + BOTTOM_PX}
        role="img"
        aria-label={label}
        onPointerLeave={() => (hover.value = null)}>
        <g class="axis">
          {countTicks(most).map((count) => (
            <g key={count}>
              <line x1={LEFT_PX} x2={widthPx} y1={yOf(count)} y2={yOf(count)} />
              <text x={LEFT_PX - 8} y={yOf(count) + 4} text-anchor="end">
                {formatCount(count)}
              </text>
            </g>
          ))}
        </g>
        {bars.map((bar) => (
          <rect
            key={bar.fromUs}
            data-testid="bin"
            data-value={bar.calls}
            x={bar.leftPx}
            y={base - bar.share * PLOT_PX}
            width={Math.max(1, bar.widthPx - 1)}
            height={bar.share * PLOT_PX}
            fill={cssColor(kind)}
          />
        ))}
        <g class="axis">
          {labelled(durationTicks(histogram, plotPx), unit).map(({ us, px, words }) => (
            <g key={us}>
              <line class="tick" x1={LEFT_PX + px} x2={LEFT_PX + px} y1={base} y2={base + 4} />
              <text x={LEFT_PX + px} y={base + 15} text-anchor={px > plotPx - 24 ? "end" : "middle"}>
                {words}
              </text>
            </g>
          ))}
        </g>
        <Mark
          name="p50"
          us={detail.p50_us}
          px={LEFT_PX + percentilePx(histogram, detail.p50_us, plotPx)}
          {...{ widthPx }}
          y={10}
        />
        <Mark
          name="p95"
          us={detail.p95_us}
          px={LEFT_PX + percentilePx(histogram, detail.p95_us, plotPx)}
          {...{ widthPx }}
          y={24}
        />
        {bars.map((bar) => (
          <rect
            key={bar.fromUs}
            class="chart-target"
            x={bar.leftPx}
            y={TOP_PX}
            width={bar.widthPx}
            height={PLOT_PX}
            onPointerMove={(event) => (hover.value = { bar, x: event.clientX, y: event.clientY })}
          />
        ))}
      </svg>
      {hover.value !== null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <p class="tooltip-title">{plural(hover.value.bar.calls, "call")}</p>
          <p>
            {formatDuration(hover.value.bar.fromUs)} to {formatDuration(hover.value.bar.toUs)}
          </p>
          <p>{shareWords(hover.value.bar.calls, detail.count)} of the calls</p>
        </Tooltip>
      )}
    </figure>
  );
}

/** Of durations that are nearly the same, each label once. */
function labelled(ticks: readonly DurationTick[], unit: TimeUnit): Array<DurationTick & { readonly words: string }> {
  const all = ticks.map((tick) => ({ ...tick, words: `${inUnit(tick.us, unit)} ${unit}` }));
  return all.filter(({ words }, at) => words !== all[at - 1]?.words);
}

type MarkProps = {
  readonly name: string;
  readonly us: number;
  readonly px: number;
  readonly widthPx: number;
  readonly y: number;
};

/** A line with its label on the side where there is room. */
function Mark({ name, us, px, widthPx, y }: MarkProps) {
  const isRight = px > widthPx * 0.7;
  return (
    <g class="chart-mark" data-testid={`mark-${name}`}>
      <line x1={px} x2={px} y1={y - 6} y2={TOP_PX + PLOT_PX} />
      <text x={px + (isRight ? -4 : 4)} y={y} text-anchor={isRight ? "end" : "start"}>
        {name} {formatDuration(us)}
      </text>
    </g>
  );
}
