import { useSignal } from "@preact/signals";
import type { Step, Steps } from "../../contract/report";
import { chooseTimeUnit, exactUs, formatCount, inUnit, onAxis, plural, type TimeUnit } from "../../model/format";
import {
  type Sawtooth,
  type StepBar,
  type StepPart,
  sawtoothOf,
  sawtoothWords,
  stackKeys,
  stepBars,
  stepStack,
} from "../../model/steps";
import { niceStep, ticks } from "../../model/time-scale";
import { cssColor, isHatched } from "../../theme/tokens";
import { Legend, Swatch } from "../../ui/swatch";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";

const LEFT_PX = 56;
const RIGHT_PX = 8;
const WAIT_TOP_PX = 28;
const WAIT_PX = 56;
const BARS_PX = 160;
const MAX_SLOT_PX = 120;
const MIN_SLOT_PX = 3;
const LABEL_PX = 32;

type Geometry = {
  readonly bars: readonly StepBar[];
  readonly slotPx: number;
  readonly barPx: number;
  readonly endPx: number;
  readonly unit: TimeUnit;
  readonly longestUs: number;
  readonly mostWaitUs: number;
  readonly waitUnit: TimeUnit;
  readonly waitKnown: boolean;
  readonly barsTopPx: number;
  readonly heightPx: number;
};

function geometryOf(steps: Steps, widthPx: number, waitKnown: boolean): Geometry {
  const plotPx = Math.max(100, widthPx - LEFT_PX - RIGHT_PX);
  const bars = stepBars(steps.items, Math.floor(plotPx / MIN_SLOT_PX));
  const slotPx = Math.min(MAX_SLOT_PX, plotPx / Math.max(1, bars.length));
  const durations = bars.map(({ step }) => step.duration_us);
  const waits = bars.map(({ step }) => step.data_wait_us ?? 0);
  const barsTopPx = waitKnown ? WAIT_TOP_PX + WAIT_PX + 36 : 24;
  return {
    bars,
    slotPx,
    barPx: slotPx > 8 ? slotPx - Math.min(32, slotPx * 0.25) : Math.max(1, slotPx - 1),
    endPx: LEFT_PX + slotPx * bars.length,
    unit: chooseTimeUnit(durations),
    longestUs: Math.max(1e-3, ...durations),
    mostWaitUs: Math.max(...waits, 0),
    waitUnit: chooseTimeUnit(waits),
    waitKnown,
    barsTopPx,
    heightPx: barsTopPx + BARS_PX + 24,
  };
}

/** One stacked bar per step, and above it the data wait on its own scale, so that a sawtooth shows even when small. */
export function StepChart({
  steps,
  waitKnown,
  workers,
}: {
  steps: Steps;
  waitKnown: boolean;
  workers: number | undefined;
}) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const hover = useSignal<{ readonly index: number; readonly x: number; readonly y: number } | null>(null);
  const geometry = geometryOf(steps, widthPx, waitKnown);
  const first = geometry.bars[0];
  if (first === undefined) return null;
  const legend = stackKeys(
    geometry.bars.map((bar) => bar.step),
    waitKnown,
  );
  const teeth = waitKnown && first.of === 1 ? sawtoothOf(steps.items, workers) : null;
  const hovered = hover.value === null ? undefined : geometry.bars[hover.value.index];
  return (
    <figure class="step-chart" ref={ref}>
      <figcaption>
        <h2>Steps</h2>
        <Legend items={legend} />
        {teeth !== null && (
          <p class="sawtooth" data-testid="sawtooth" data-period={teeth.period}>
            {sawtoothWords(teeth)}
          </p>
        )}
        {first.of > 1 && <span class="muted">each bar is the longest of {plural(first.of, "step")}</span>}
      </figcaption>
      <svg
        width={widthPx}
        height={geometry.heightPx}
        role="img"
        data-testid="step-chart"
        aria-label={`Duration of ${plural(steps.count, "step")}; the table below has the numbers`}>
        <Hatches tokens={legend.map((item) => item.token)} />
        <DurationAxis geometry={geometry} />
        {geometry.bars.map((bar, index) => (
          <Bar
            key={bar.step.number}
            bar={bar}
            index={index}
            geometry={geometry}
            dim={hovered !== undefined && hovered !== bar}
          />
        ))}
        {waitKnown && <WaitLine geometry={geometry} teeth={teeth} />}
        {geometry.bars.map((bar, index) => (
          <rect
            key={bar.step.number}
            class="step-target"
            x={LEFT_PX + index * geometry.slotPx}
            y={0}
            width={geometry.slotPx}
            height={geometry.heightPx}
            onPointerMove={(event) => (hover.value = { index, x: event.clientX, y: event.clientY })}
            onPointerLeave={() => (hover.value = null)}
          />
        ))}
      </svg>
      {hover.value !== null && hovered !== undefined && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <StepReadout bar={hovered} waitKnown={waitKnown} />
        </Tooltip>
      )}
      <StepTable steps={steps} waitKnown={waitKnown} />
    </figure>
  );
}

function Hatches({ tokens }: { tokens: readonly string[] }) {
  return (
    <defs>
      {tokens.filter(isHatched).map((token) => (
        <pattern
          key={token}
          id={hatchId(token)}
          width="5"
          height="5"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)">
          <rect width="5" height="5" fill={cssColor("paper")} />
          <rect width="2.5" height="5" fill={cssColor(token)} />
        </pattern>
      ))}
    </defs>
  );
}

function hatchId(token: string): string {
  return `hatch-${token.replace(":", "-")}`;
}

function fillOf(token: string): Record<string, string> {
  // An id is looked up in the page's own document here; TensorBoard's <base> does not bend style attributes of SVG
  // paint servers in the browsers we support, but an absolute address is right in all of them.
  const here = window.location.href.split("#")[0] ?? "";
  return { fill: isHatched(token) ? `url("${here}#${hatchId(token)}")` : cssColor(token) };
}

function DurationAxis({ geometry }: { geometry: Geometry }) {
  const step = niceStep(geometry.longestUs, 4);
  return (
    <g class="axis">
      <text x={0} y={geometry.barsTopPx - 12}>
        Step duration, {geometry.unit}
      </text>
      {ticks(0, geometry.longestUs, step).map((us) => {
        const y = Math.round(geometry.barsTopPx + BARS_PX * (1 - us / geometry.longestUs)) + 0.5;
        return (
          <g key={us}>
            <line x1={LEFT_PX} x2={geometry.endPx} y1={y} y2={y} />
            <text x={LEFT_PX - 8} y={y + 4} text-anchor="end">
              {onAxis(us, step, geometry.unit)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

type BarProps = { readonly bar: StepBar; readonly index: number; readonly geometry: Geometry; readonly dim: boolean };

function Bar({ bar, index, geometry, dim }: BarProps) {
  const x = LEFT_PX + index * geometry.slotPx + (geometry.slotPx - geometry.barPx) / 2;
  const every = Math.ceil(LABEL_PX / geometry.slotPx);
  let bottomUs = 0;
  return (
    <g class={dim ? "dim" : ""} data-testid="step-bar" data-step={bar.step.number} data-value-us={bar.step.duration_us}>
      {stepStack(bar.step, geometry.waitKnown).map((part) => {
        bottomUs += part.us;
        const y = geometry.barsTopPx + BARS_PX * (1 - bottomUs / geometry.longestUs);
        const height = (BARS_PX * part.us) / geometry.longestUs;
        return <rect key={part.key} x={x} y={y} width={geometry.barPx} height={height} style={fillOf(part.token)} />;
      })}
      {index % every === 0 && (
        <text class="axis-label" x={x + geometry.barPx / 2} y={geometry.barsTopPx + BARS_PX + 16} text-anchor="middle">
          {bar.step.number}
        </text>
      )}
    </g>
  );
}

/** The data wait of each step as a line with a point per step. */
function WaitLine({ geometry, teeth }: { geometry: Geometry; teeth: Sawtooth | null }) {
  const { bars, slotPx, mostWaitUs, waitUnit, endPx } = geometry;
  const bottom = WAIT_TOP_PX + WAIT_PX + 0.5;
  const points = bars.map(({ step }, index) => ({
    x: LEFT_PX + (index + 0.5) * slotPx,
    y: bottom - (mostWaitUs === 0 ? 0 : (WAIT_PX * (step.data_wait_us ?? 0)) / mostWaitUs),
    tooth: teeth?.numbers.has(step.number) === true,
  }));
  return (
    <g class="axis">
      <text x={0} y={12}>
        Data wait, {waitUnit}
      </text>
      <line x1={LEFT_PX} x2={endPx} y1={bottom} y2={bottom} />
      <text x={LEFT_PX - 8} y={bottom + 3} text-anchor="end">
        0
      </text>
      {mostWaitUs > 0 && (
        <text x={LEFT_PX - 8} y={WAIT_TOP_PX + 5} text-anchor="end">
          {inUnit(mostWaitUs, waitUnit)}
        </text>
      )}
      <polygon
        class="wait-area"
        points={[
          `${LEFT_PX + slotPx / 2},${bottom}`,
          ...points.map(({ x, y }) => `${x},${y}`),
          `${endPx - slotPx / 2},${bottom}`,
        ].join(" ")}
      />
      <polyline class="wait-line" points={points.map(({ x, y }) => `${x},${y}`).join(" ")} />
      {points
        .filter(({ tooth }) => tooth || slotPx >= 8)
        .map(({ x, y, tooth }) => (
          <circle key={x} class={tooth ? "wait-point tooth" : "wait-point"} cx={x} cy={y} r={tooth ? 4 : 2.5} />
        ))}
    </g>
  );
}

function StepReadout({ bar, waitKnown }: { bar: StepBar; waitKnown: boolean }) {
  const { step } = bar;
  return (
    <>
      <p class="tooltip-title">
        Step {step.number}
        {bar.of > 1 ? `, longest of ${formatCount(bar.of)}` : ""}
      </p>
      <table>
        <tbody>
          <tr>
            <th scope="row">duration</th>
            <td class="num">{exactUs(step.duration_us)}</td>
          </tr>
          {stepStack(step, waitKnown).map((part) => (
            <tr key={part.key}>
              <th scope="row">
                <Swatch token={part.token} />
                {part.label}
              </th>
              <td class="num">{exactUs(part.us)}</td>
            </tr>
          ))}
          {waitKnown && (
            <tr>
              <th scope="row">data wait</th>
              <td class="num">{exactUs(step.data_wait_us ?? 0)}</td>
            </tr>
          )}
        </tbody>
      </table>
    </>
  );
}

/** Columns of the table: what the bars and the line show. */
function tableColumns(step: Step, waitKnown: boolean, keys: readonly Omit<StepPart, "us">[]): StepPart[] {
  const stack = new Map(stepStack(step, waitKnown).map((part) => [part.key, part.us]));
  return [
    { key: "duration", label: "Duration", token: "step", us: step.duration_us },
    ...(waitKnown ? [{ key: "wait", label: "Data wait", token: "wait", us: step.data_wait_us ?? 0 }] : []),
    ...keys
      .filter(({ key }) => key !== "wait" && key !== "step")
      .map((part) => ({ ...part, us: stack.get(part.key) ?? 0 })),
  ];
}

/** The chart's numbers for those who cannot see or hover it. */
function StepTable({ steps, waitKnown }: { steps: Steps; waitKnown: boolean }) {
  const open = useSignal(false);
  const unit = chooseTimeUnit(steps.items.map((step) => step.duration_us));
  const [first] = steps.items;
  const keys = stackKeys(steps.items, waitKnown);
  return (
    <details open={open.value} onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>Steps as a table</summary>
      {open.value && first !== undefined && (
        <table class="steps-table">
          <thead>
            <tr>
              <th scope="col">Step</th>
              {tableColumns(first, waitKnown, keys).map((part) => (
                <th key={part.key} scope="col" class="num">
                  {part.label.replace("idle: ", "Idle: ")}
                  <span class="unit">, {unit}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.items.map((step) => (
              <tr key={step.number} data-testid="step-row" data-step={step.number}>
                <th scope="row">{step.number}</th>
                {tableColumns(step, waitKnown, keys).map(({ key, us }) => (
                  <td key={key} class="num" data-column={key} data-value-us={us} title={exactUs(us)}>
                    {inUnit(us, unit)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
