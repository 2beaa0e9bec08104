import type { Comparison, Difference, StageDifference } from "../../contract/report";
import { OUTCOMES } from "../../contract/words";
import { chooseTimeUnit, formatChange, formatInterval, isTooWide, type TimeUnit } from "../../model/format";
import { labelOf } from "../../model/words";
import { TimeCell } from "../../ui/cells";
import { Unknown } from "../../ui/numbers";
import { fillStyle, Swatch } from "../../ui/swatch";

const TYPICAL =
  "Self time per call in a typical batch: batches in which another program had the CPU do not count. 95% interval.";
const MEASURE_TITLES: Readonly<Record<string, string>> = { cpu: "by thread CPU time", wall: "by wall time" };
const ADJUSTED = ", at equal machine speed: less what the other stages changed alike from run to run";
const NO_TYPICAL = "One side does not have it, or has too few calls of it.";

export function StageChangeTable({ comparison: { stages } }: { comparison: Comparison }) {
  if (stages.length === 0) return null;
  const unit = chooseTimeUnit(stages.flatMap((row) => [row.before_us, row.after_us]));
  const reach = reachOf(stages);
  return (
    <section>
      <h2>Stages</h2>
      <div class="scroll-x">
        <table class="stages compare-stages" data-testid="stage-changes">
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col" class="num" title="Mean self time per call">
                Before<span class="unit">, {unit}</span>
              </th>
              <th scope="col" class="num" title="Mean self time per call">
                After<span class="unit">, {unit}</span>
              </th>
              <th scope="col" class="num" title={TYPICAL}>
                Change
              </th>
              <th scope="col" class="num" title={TYPICAL}>
                95% interval
              </th>
              <th scope="col" class="interval-head">
                <span class="offscreen">Change and its interval as a picture</span>
              </th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {stages.map((row) => (
              <StageLine key={row.stage} row={row} unit={unit} reach={reach} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function StageLine({ row, unit, reach }: { row: StageDifference; unit: TimeUnit; reach: number }) {
  const [kind = "", label = ""] = row.stage.split("::");
  const { typical } = row;
  const measure = `${MEASURE_TITLES[row.measure] ?? ""}${row.speed_adjusted ? ADJUSTED : ""}`;
  return (
    <tr data-testid="stage-change" data-stage={row.stage} data-significant={typical?.significant ?? false}>
      <th scope="row">
        <Swatch token={kind} />
        <span class="mono stage-name">
          <span class="stage-kind">{kind}::</span>
          {label}
        </span>
      </th>
      <TimeCell us={row.before_us} unit={unit} reason="Not there before." />
      <TimeCell us={row.after_us} unit={unit} reason="No longer there after." />
      <td class="num" data-value={typical?.change} title={measure}>
        {typical === undefined ? <Unknown reason={NO_TYPICAL} /> : formatChange(typical.change)}
      </td>
      <td class="num muted">{formatInterval(typical?.low, typical?.high)}</td>
      <td>{typical !== undefined && <Interval difference={typical} reach={reach} token={kind} />}</td>
      <td>{labelOf(OUTCOMES, row.outcome)}</td>
    </tr>
  );
}

/** Half the width of all pictures as a change: the widest change, or an interval's end up to a half. */
function reachOf(stages: readonly StageDifference[]): number {
  const ends = stages.flatMap(({ typical }) =>
    typical === undefined ? [] : [Math.abs(typical.change), Math.min(0.5, Math.abs(typical.high ?? 0))],
  );
  return Math.max(0.05, ...ends);
}

const WIDTH_PX = 160;
const MARGIN_PX = 5;

type IntervalProps = { readonly difference: Difference; readonly reach: number; readonly token: string };

/** No change in the middle, slower to the right; the interval as a line, cut off where it leaves the picture. */
function Interval({ difference: { change, low, high, significant }, reach, token }: IntervalProps) {
  const half = WIDTH_PX / 2;
  const at = (share: number): number => half + Math.min(1, Math.max(-1, share / reach)) * (half - MARGIN_PX);
  return (
    <svg class="interval" width={WIDTH_PX} height={12} aria-hidden="true">
      <line class="interval-zero" x1={half} x2={half} y1={0} y2={12} />
      {low !== undefined && high !== undefined && !isTooWide(low, high) && (
        <line class="interval-line" x1={at(low)} x2={at(high)} y1={6} y2={6} />
      )}
      <circle cx={at(change)} cy={6} r={significant ? 4.5 : 3} style={fillStyle(token)} class="interval-point" />
    </svg>
  );
}
