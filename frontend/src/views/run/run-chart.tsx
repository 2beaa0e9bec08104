import { useSignal } from "@preact/signals";
import type { RunMark, RunPhase, RunPoint, WholeRun } from "../../contract/report";
import { plural } from "../../model/format";
import {
  clockOf,
  clockTicks,
  hasUnknown,
  type LineName,
  lineNames,
  type Panel,
  panelsOf,
  pathOf,
  pointAt,
  topOf,
} from "../../model/whole-run";
import { lineClass } from "../../ui/line-key";
import { PictureMenu } from "../../ui/picture-menu";
import { useWidth } from "../../ui/use-width";
import { captureCalled, openCapture } from "../shared/open-capture";

const LEFT_PX = 76;
const RIGHT_PX = 8;
const MARKS_PX = 22;
const PLOT_PX = 72;
/** Between the 0 of one panel and the top of the next, with its title. */
const GAP_PX = 40;
const NAMES_PX = 16;
const AXIS_PX = 22;
const EPOCHS_PX = 8;
/** Room for a time on the axis, with some around it. */
const TICK_PX = 96;
const MOST_TICKS = 6;

type Placed = { readonly panel: Panel; readonly names: readonly LineName[]; readonly topPx: number };

/** The panels below each other; one whose lines have long names gets more room above it. */
function placed(panels: readonly Panel[], roomPx: number): Placed[] {
  let bottomPx = MARKS_PX;
  return panels.map((panel) => {
    const names = lineNames(panel, roomPx);
    const topPx = bottomPx + GAP_PX + (names.at(-1)?.row ?? 0) * NAMES_PX;
    bottomPx = topPx + PLOT_PX;
    return { panel, names, topPx };
  });
}

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
  const choose = (index: number): void => {
    chosen.value = Math.min(run.points.length - 1, Math.max(0, index));
  };
  const at = chosen.value;
  const point = at === null ? undefined : run.points[at];
  return (
    <figure class="chart run-chart" ref={ref}>
      <figcaption>
        <h2>The run</h2>
        <ul class="legend" data-testid="run-legend">
          {legendOf(run).map((words) => (
            <li key={words}>{words}</li>
          ))}
        </ul>
        <PictureMenu name="Over time" />
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
        <Drawing run={run} places={placed(panels, rightPx - LEFT_PX)} scale={scale} widthPx={widthPx} point={point} />
      </div>
      <p class="tabular muted run-readout" data-testid="run-readout">
        {point === undefined ? (
          <span class="hand-hint">Point at a moment, or use the arrow keys.</span>
        ) : (
          readout(panels, point)
        )}
      </p>
    </figure>
  );
}

type DrawingProps = {
  readonly run: WholeRun;
  readonly places: readonly Placed[];
  readonly scale: Scale;
  readonly widthPx: number;
  readonly point: RunPoint | undefined;
};

function Drawing({ run, places, scale, widthPx, point }: DrawingProps) {
  const bottomPx = (places.at(-1)?.topPx ?? MARKS_PX) + PLOT_PX + EPOCHS_PX;
  const heightPx = bottomPx + AXIS_PX;
  const cursorPx = point === undefined ? 0 : scale.xOf((point.from_s + point.to_s) / 2);
  return (
    <svg width={widthPx} height={heightPx} viewBox={`0 0 ${widthPx} ${heightPx}`} aria-hidden="true">
      <Phases run={run} scale={scale} heightPx={bottomPx} />
      {places.map((place) => (
        <PanelOf key={place.panel.title} {...place} points={run.points} scale={scale} />
      ))}
      <Epochs points={run.points} scale={scale} yPx={bottomPx} />
      <TimeAxis endS={run.seconds} scale={scale} yPx={heightPx - 6} />
      {run.marks.map((mark) => (
        <Mark key={`${mark.at_s} ${mark.what}`} mark={mark} run={run.run} x={scale.xOf(mark.at_s)} />
      ))}
      {point !== undefined && <line class="run-cursor" x1={cursorPx} x2={cursorPx} y1={MARKS_PX} y2={bottomPx} />}
    </svg>
  );
}

/** With fewer a line is a step or two. */
const FEW_POINTS = 4;

function legendOf({ points, marks, phases }: WholeRun): readonly string[] {
  const epochs = points.reduce((sum, point) => sum + point.epochs, 0);
  return [
    points.length < FEW_POINTS
      ? `${plural(points.length, "interval")}: too few to show how it went`
      : plural(points.length, "point"),
    ...(hasUnknown(points) ? ["lines are broken where a value was not measured"] : []),
    ...(epochs > 0 ? ["ticks below: points in which epochs begin"] : []),
    ...(phases.some(({ kind }) => kind === "slow") ? ["bands: times in which it was slow"] : []),
    ...(phases.some(({ kind }) => kind === "recorded")
      ? [
          "dotted frames: a window was recorded; its steps are not timed, and samples/s are without the intervals that it lies in",
        ]
      : []),
    ...(phases.some(({ kind }) => kind === "process") ? ["frames: processes"] : []),
    ...(marks.length > 0 ? ["triangles: stalls and slow times, filled where a capture opens"] : []),
  ];
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
  const steps = plural(point.steps, "step");
  return [`${clockOf(point.from_s)} to ${clockOf(point.to_s)}: ${steps}`, ...epochs, ...values].join(", ");
}

function nameOf(panel: Panel, label: string): string {
  return panel.title === "Step time" ? `${label} step` : label;
}

type PanelProps = Placed & { readonly points: readonly RunPoint[]; readonly scale: Scale };

function PanelOf({ panel, names, points, scale, topPx }: PanelProps) {
  const titlePx = topPx - 6 - (names.at(-1)?.row ?? 0) * NAMES_PX;
  const top = topOf(panel, points);
  const yOf = (value: number): number => topPx + PLOT_PX * (1 - Math.min(1, value / top));
  return (
    <g>
      <text class="run-title" x={scale.leftPx} y={titlePx}>
        {panel.title}
      </text>
      <LineNames names={names} leftPx={scale.leftPx} topPx={titlePx} />
      {[0, 1].map((share) => (
        <g key={share} class="axis">
          <line x1={scale.leftPx} x2={scale.rightPx} y1={yOf(share * top)} y2={yOf(share * top)} />
          <text x={scale.leftPx - 8} y={yOf(share * top) + 4} text-anchor="end">
            {share === 0 ? "0" : panel.text(top)}
          </text>
        </g>
      ))}
      {panel.lines.map((line) => (
        <path key={line.label} class={lineClass(line.stroke)} d={pathOf(points, line, scale.xOf, yOf)} />
      ))}
    </g>
  );
}

type NamesProps = { readonly names: readonly LineName[]; readonly leftPx: number; readonly topPx: number };

function LineNames({ names, leftPx, topPx }: NamesProps) {
  return (
    <>
      {names.map(({ line, row, keyPx }) => (
        <g key={line.label} transform={`translate(${leftPx + keyPx} ${topPx + row * NAMES_PX})`}>
          <path class={lineClass(line.stroke)} d="M0 -4H20" />
          <text x={24} y={0}>
            {line.label}
          </text>
        </g>
      ))}
    </>
  );
}

function Phases({ run, scale, heightPx }: { run: WholeRun; scale: Scale; heightPx: number }) {
  return (
    <g>
      {run.phases.map((phase) => (
        <Phase key={`${phase.kind} ${phase.from_s}`} phase={phase} run={run.run} scale={scale} heightPx={heightPx} />
      ))}
    </g>
  );
}

type PhaseProps = { readonly phase: RunPhase; readonly run: string; readonly scale: Scale; readonly heightPx: number };

/** The frame of a recorded window opens its capture; a table has the same as buttons. */
function Phase({ phase, run, scale, heightPx }: PhaseProps) {
  const item = phase.capture === "" ? undefined : captureCalled(run, phase.capture);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table's buttons do the same by keys
    <rect
      class={`run-phase run-${phase.kind}${item === undefined ? "" : " run-phase-opens"}`}
      data-testid={`run-phase-${phase.kind}`}
      x={scale.xOf(phase.from_s)}
      y={MARKS_PX}
      width={Math.max(1, scale.xOf(phase.to_s) - scale.xOf(phase.from_s))}
      height={heightPx - MARKS_PX}
      onClick={() => item !== undefined && openCapture(item.id)}>
      <title>{phase.text}</title>
    </rect>
  );
}

function Epochs({ points, scale, yPx }: { points: readonly RunPoint[]; scale: Scale; yPx: number }) {
  return (
    <g class="axis">
      {points
        .filter((point) => point.epochs > 0)
        .map((point) => (
          <line
            key={point.from_s}
            class="epoch"
            x1={scale.xOf(point.from_s)}
            x2={scale.xOf(point.from_s)}
            y1={yPx}
            y2={yPx + 5}
          />
        ))}
    </g>
  );
}

function TimeAxis({ endS, scale, yPx }: { endS: number; scale: Scale; yPx: number }) {
  const most = Math.min(MOST_TICKS, Math.max(1, Math.floor((scale.rightPx - scale.leftPx) / TICK_PX)));
  return (
    <g class="axis">
      {clockTicks(endS, most).map((seconds, tick) => (
        <text
          key={seconds}
          x={scale.xOf(seconds)}
          y={yPx}
          text-anchor={tick === 0 ? "start" : scale.xOf(seconds) + TICK_PX / 4 > scale.rightPx ? "end" : "middle"}>
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
