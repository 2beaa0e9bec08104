import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { RunMark, RunPoint, WholeRun } from "../../contract/report";
import { formatCount, plural } from "../../model/format";
import { clockOf, type Panel, panelsOf, pathOf, pointAt, runName, topOf } from "../../model/whole-run";
import { cssColor } from "../../theme/tokens";
import { PictureMenu } from "../../ui/picture-menu";
import { useWidth } from "../../ui/use-width";
import { captureCalled, openCapture } from "../shared/open-capture";

const LEFT_PX = 76;
const RIGHT_PX = 8;
const MARKS_PX = 22;
const PLOT_PX = 72;
const GAP_PX = 22;
const AXIS_PX = 22;
const TICKS = 6;

type Scale = { readonly xOf: (seconds: number) => number; readonly leftPx: number; readonly rightPx: number };

/** Several quantities above each other on the run's axis; the marks above them open what was recorded. */
export function RunChart({ run }: { run: WholeRun }) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const chosen = useSignal<number | null>(null);
  const panels = panelsOf(run.points);
  if (run.points.length < 2) return <p class="muted">Too short for a picture: less than two intervals.</p>;
  const rightPx = Math.max(LEFT_PX + 100, widthPx - RIGHT_PX);
  const endS = Math.max(run.seconds, 1e-9);
  const scale = { leftPx: LEFT_PX, rightPx, xOf: (s: number) => LEFT_PX + (s / endS) * (rightPx - LEFT_PX) };
  const heightPx = MARKS_PX + panels.length * (PLOT_PX + GAP_PX) + AXIS_PX;
  const choose = (index: number): void => {
    chosen.value = Math.min(run.points.length - 1, Math.max(0, index));
  };
  const at = chosen.value;
  const point = at === null ? undefined : run.points[at];
  return (
    <figure class="chart run-chart" ref={ref}>
      <figcaption>
        <h2>The run</h2>
        <span class="muted">{legendWords(run)}</span>
        <PictureMenu name={`Run ${runName(run)}`} />
      </figcaption>
      <div
        role="slider"
        tabIndex={0}
        data-testid="run-chart"
        aria-label="Moment of the run; arrow keys move it"
        aria-valuemin={0}
        aria-valuemax={run.points.length - 1}
        aria-valuenow={at ?? 0}
        aria-valuetext={point === undefined ? "none chosen" : readout(panels, point)}
        onKeyDown={(event) => {
          const next = afterKey(event.key, at, run.points.length);
          if (next === null) return;
          event.preventDefault();
          choose(next);
        }}
        onPointerMove={(event) => {
          const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
          choose(pointAt(run.points, ((x - LEFT_PX) / (rightPx - LEFT_PX)) * endS));
        }}>
        <svg width={widthPx} height={heightPx} viewBox={`0 0 ${widthPx} ${heightPx}`} aria-hidden="true">
          <Phases run={run} scale={scale} heightPx={heightPx - AXIS_PX} />
          {panels.map((panel, index) => (
            <PanelOf
              key={panel.title}
              panel={panel}
              points={run.points}
              scale={scale}
              topPx={MARKS_PX + GAP_PX + index * (PLOT_PX + GAP_PX)}
            />
          ))}
          <Epochs points={run.points} scale={scale} yPx={heightPx - AXIS_PX} />
          <TimeAxis endS={endS} scale={scale} yPx={heightPx - 6} />
          {run.marks.map((mark) => (
            <Mark key={`${mark.at_s} ${mark.what}`} mark={mark} run={run.run} x={scale.xOf(mark.at_s)} />
          ))}
          {point !== undefined && (
            <line
              class="run-cursor"
              x1={scale.xOf((point.from_s + point.to_s) / 2)}
              x2={scale.xOf((point.from_s + point.to_s) / 2)}
              y1={MARKS_PX}
              y2={heightPx - AXIS_PX}
            />
          )}
        </svg>
      </div>
      <p class="tabular muted run-readout" data-testid="run-readout">
        {point === undefined ? "Point at a moment, or use the arrow keys." : readout(panels, point)}
      </p>
    </figure>
  );
}

function legendWords({ points, marks }: WholeRun): string {
  const epochs = points.reduce((sum, point) => sum + point.epochs, 0);
  const parts = [
    `${plural(points.length, "point")}`,
    ...(epochs > 0 ? ["ticks below: epochs begin"] : []),
    ...(marks.length > 0 ? ["triangles: stalls and slow times, filled where a capture opens"] : []),
  ];
  return parts.join("; ");
}

function afterKey(key: string, at: number | null, count: number): number | null {
  if (key === "ArrowRight") return at === null ? 0 : at + 1;
  if (key === "ArrowLeft") return at === null ? count - 1 : at - 1;
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : null;
}

function readout(panels: readonly Panel[], point: RunPoint): string {
  const values = panels.flatMap((panel) =>
    panel.lines.flatMap((line) => {
      const value = line.of(point);
      return value === undefined ? [] : `${nameOf(panel, line.label)} ${panel.text(value)}`;
    }),
  );
  const epochs = point.epochs > 0 ? [`${plural(point.epochs, "epoch")} begun`] : [];
  const steps = `${formatCount(point.steps)} steps`;
  return [`${clockOf(point.from_s)} to ${clockOf(point.to_s)}: ${steps}`, ...epochs, ...values].join(", ");
}

function nameOf(panel: Panel, label: string): string {
  return panel.title === "Step time" ? `${label} step` : label;
}

type PanelProps = {
  readonly panel: Panel;
  readonly points: readonly RunPoint[];
  readonly scale: Scale;
  readonly topPx: number;
};

function PanelOf({ panel, points, scale, topPx }: PanelProps) {
  const top = topOf(panel, points);
  const yOf = (value: number): number => topPx + PLOT_PX * (1 - Math.min(1, value / top));
  return (
    <g>
      <text class="run-title" x={scale.leftPx} y={topPx - 6}>
        {panel.title}
        {panel.lines.length > 1 && <LineNames panel={panel} />}
      </text>
      {[0, 1].map((share) => (
        <g key={share} class="axis">
          <line x1={scale.leftPx} x2={scale.rightPx} y1={yOf(share * top)} y2={yOf(share * top)} />
          <text x={scale.leftPx - 8} y={yOf(share * top) + 4} text-anchor="end">
            {share === 0 ? "0" : panel.text(top)}
          </text>
        </g>
      ))}
      {panel.lines.map((line) => (
        <path
          key={line.label}
          class="trend-line"
          d={pathOf(points, line, scale.xOf, yOf)}
          style={{ stroke: cssColor(line.token) }}
        />
      ))}
    </g>
  );
}

function LineNames({ panel }: { panel: Panel }): ComponentChildren {
  return panel.lines.map((line) => (
    <tspan key={line.label} dx={10} style={{ fill: cssColor(line.token) }}>
      {line.label}
    </tspan>
  ));
}

function Phases({ run, scale, heightPx }: { run: WholeRun; scale: Scale; heightPx: number }) {
  return (
    <g>
      {run.phases.map((phase) => (
        <rect
          key={`${phase.kind} ${phase.from_s}`}
          class={`run-phase run-${phase.kind}`}
          x={scale.xOf(phase.from_s)}
          y={MARKS_PX}
          width={Math.max(1, scale.xOf(phase.to_s) - scale.xOf(phase.from_s))}
          height={heightPx - MARKS_PX}>
          <title>{phase.text}</title>
        </rect>
      ))}
    </g>
  );
}

function Epochs({ points, scale, yPx }: { points: readonly RunPoint[]; scale: Scale; yPx: number }) {
  return (
    <g class="axis">
      {points
        .filter((point) => point.epochs > 0)
        .map((point) => (
          <line key={point.from_s} x1={scale.xOf(point.from_s)} x2={scale.xOf(point.from_s)} y1={yPx} y2={yPx + 5} />
        ))}
    </g>
  );
}

function TimeAxis({ endS, scale, yPx }: { endS: number; scale: Scale; yPx: number }) {
  return (
    <g class="axis">
      {Array.from({ length: TICKS + 1 }, (_, tick) => (endS * tick) / TICKS).map((seconds, tick) => (
        <text
          key={seconds}
          x={scale.xOf(seconds)}
          y={yPx}
          text-anchor={tick === 0 ? "start" : tick === TICKS ? "end" : "middle"}>
          {clockOf(seconds)}
        </text>
      ))}
    </g>
  );
}

/** The table below has the same as buttons. */
function Mark({ mark, run, x }: { mark: RunMark; run: string; x: number }) {
  const item = mark.capture === "" ? undefined : captureCalled(run, mark.capture);
  const points = `${x - 6},4 ${x + 6},4 ${x},${MARKS_PX - 4}`;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table's buttons do the same by keys
    <polygon
      class={item === undefined ? "run-mark" : "run-mark run-mark-opens"}
      data-testid="run-triangle"
      points={points}
      onClick={() => item !== undefined && openCapture(item.id)}>
      <title>{mark.sentence}</title>
    </polygon>
  );
}
