import { useSignal } from "@preact/signals";
import type { StepSelection, Steps } from "../../contract/report";
import { source } from "../../data/source";
import { exactUs, formatCount, inUnit, onAxis, plural } from "../../model/format";
import { rangeOf, type StepRange } from "../../model/step-range";
import { type StepBar, stackKeys, stepStack } from "../../model/steps";
import { niceStep, ticks } from "../../model/time-scale";
import { printing, recordedSteps } from "../../state/atoms";
import { cssColor, isHatched } from "../../theme/tokens";
import { PictureMenu } from "../../ui/picture-menu";
import { StepFields } from "../../ui/step-fields";
import { Legend, Swatch } from "../../ui/swatch";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";
import { AllSteps, chooseSteps } from "../shared/selection";
import { BandWords, barsOf, StepBand, useStepDrag } from "./step-drag";
import { BARS_PX, type Geometry, geometryOf, LABEL_PX, LEFT_PX, WAIT_PX, WAIT_TOP_PX } from "./step-geometry";
import { StepTable } from "./step-table";

type Props = { readonly steps: Steps; readonly waitKnown: boolean; readonly selection: StepSelection | undefined };

/**
 * One stacked bar per step, and above it the data wait on its own scale, so that a sawtooth shows even when small. Where
 * steps are chosen, the others stay, dimmed: one sees where in the run they are, and can choose others.
 */
export function StepChart({ steps, waitKnown, selection }: Props) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const hover = useSignal<{ readonly index: number; readonly x: number; readonly y: number } | null>(null);
  const drawn = selection === undefined ? steps : (recordedSteps.value ?? steps);
  const geometry = geometryOf(drawn, widthPx, waitKnown);
  const canChoose = source().live && !printing.value;
  const recorded = recordedIn(steps, selection);
  const choose = canChoose ? (range: StepRange) => chooseSteps(range, recorded) : undefined;
  const [handlers, dragged, draggedBars] = useStepDrag(geometry, choose);
  const [from, to] = selection === undefined ? [0, geometry.bars.length - 1] : barsOf(geometry, selection);
  const chosen = selection !== undefined && drawn !== steps ? { bars: [from, to] as const, steps: selection } : null;
  const band = dragged === null ? chosen : { bars: draggedBars, steps: dragged };
  const first = geometry.bars[0];
  if (first === undefined) return null;
  const legend = stackKeys(
    geometry.bars.map((bar) => bar.step),
    waitKnown,
  );
  // Where a bar is for several steps, a tooth has no bar.
  const sawtooth = first.of === 1 ? steps.sawtooth : undefined;
  const hovered = hover.value === null ? undefined : geometry.bars[hover.value.index];
  return (
    <figure class="step-chart" ref={ref}>
      <figcaption>
        <h2>Steps</h2>
        <Legend items={legend} />
        {first.of > 1 && <span class="muted">each bar is the longest of {plural(first.of, "step")}</span>}
        {steps.counted !== "" && (
          <span class="muted" data-testid="steps-counted">
            {steps.counted}
          </span>
        )}
        <PictureMenu name="Steps" />
        {sawtooth !== undefined && (
          <p class="sawtooth" data-testid="sawtooth" data-period={sawtooth.period}>
            <ToothKey /> {sawtooth.sentence}
          </p>
        )}
      </figcaption>
      {canChoose && (
        <StepFields
          shown={rangeOf(steps.items) ?? recorded}
          recorded={recorded}
          choose={(range) => chooseSteps(range, recorded)}>
          {selection !== undefined && <AllSteps />}
        </StepFields>
      )}
      <svg
        {...handlers}
        class={canChoose ? "choosable" : ""}
        width={widthPx}
        height={geometry.heightPx}
        viewBox={`0 0 ${widthPx} ${geometry.heightPx}`}
        role="img"
        data-testid="step-chart"
        aria-label={`Duration of ${plural(drawn.count, "step")}; the table below has the numbers`}>
        {band !== null && <StepBand geometry={geometry} bars={band.bars} />}
        <Hatches tokens={legend.map((item) => item.token)} />
        <DurationAxis geometry={geometry} />
        {geometry.bars.map((bar, index) => (
          <Bar
            key={bar.step.number}
            bar={bar}
            index={index}
            geometry={geometry}
            dim={index < from || index > to || (hovered !== undefined && hovered !== bar)}
          />
        ))}
        {waitKnown && <WaitLine geometry={geometry} teeth={new Set(sawtooth?.steps)} />}
        {band !== null && <BandWords geometry={geometry} {...band} />}
        <Targets
          geometry={geometry}
          show={(index, { clientX: x, clientY: y }) => {
            hover.value = { index, x, y };
          }}
          hide={() => {
            hover.value = null;
          }}
        />
      </svg>
      {hover.value !== null && hovered !== undefined && dragged === null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <StepReadout bar={hovered} waitKnown={waitKnown} />
        </Tooltip>
      )}
      <StepTable steps={steps} waitKnown={waitKnown} />
    </figure>
  );
}

/** How the points of steps look that the sentence beside it is about. */
function ToothKey() {
  return (
    <svg class="tooth-key" width="8" height="8" aria-hidden="true">
      <circle class="wait-point tooth" cx={4} cy={4} r={4} />
    </svg>
  );
}

function recordedIn({ items }: Steps, selection: StepSelection | undefined): StepRange {
  if (selection !== undefined) return { first: selection.recorded_first, last: selection.recorded_last };
  return rangeOf(items) ?? { first: 0, last: 0 };
}

type TargetProps = {
  readonly geometry: Geometry;
  readonly show: (index: number, event: PointerEvent) => void;
  readonly hide: () => void;
};

/** What the pointer meets: the whole height above and below a bar. */
function Targets({ geometry: { bars, slotPx, heightPx }, show, hide }: TargetProps) {
  return (
    <>
      {bars.map((bar, index) => (
        <rect
          key={bar.step.number}
          class="step-target"
          x={LEFT_PX + index * slotPx}
          y={0}
          width={slotPx}
          height={heightPx}
          onPointerMove={(event) => show(index, event)}
          onPointerLeave={hide}
        />
      ))}
    </>
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
function WaitLine({ geometry, teeth }: { geometry: Geometry; teeth: ReadonlySet<number> }) {
  const { bars, slotPx, mostWaitUs, waitUnit, endPx } = geometry;
  const bottom = WAIT_TOP_PX + WAIT_PX + 0.5;
  const points = bars.map(({ step }, index) => ({
    x: LEFT_PX + (index + 0.5) * slotPx,
    y: bottom - (mostWaitUs === 0 ? 0 : (WAIT_PX * (step.data_wait_us ?? 0)) / mostWaitUs),
    tooth: teeth.has(step.number),
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
  const parts = stepStack(step, waitKnown);
  const waitUs = step.data_wait_us ?? 0;
  const saidUs = parts.find((part) => part.key === "wait" || part.key === "data_wait")?.us ?? 0;
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
          {parts.map((part) => (
            <tr key={part.key}>
              <th scope="row">
                <Swatch token={part.token} />
                {part.label}
              </th>
              <td class="num">{exactUs(part.us)}</td>
            </tr>
          ))}
          {waitKnown && waitUs > saidUs && (
            <tr>
              <th scope="row">{saidUs > 0 ? "rest of the data wait" : "data wait"}</th>
              <td class="num">{exactUs(waitUs - saidUs)}</td>
            </tr>
          )}
        </tbody>
      </table>
    </>
  );
}
