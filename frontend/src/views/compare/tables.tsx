import type { Comparison, Difference, PartDifference, SettingChange, StageDifference } from "../../contract/report";
import { chooseTimeUnit, exactUs, inUnit, type TimeUnit } from "../../model/format";
import { changeWords, intervalWords } from "../../model/sides";
import { Unknown } from "../../ui/numbers";
import { fillStyle, Swatch } from "../../ui/swatch";

const TYPICAL =
  "Self time per call in a typical batch: batches in which another program had the core do not count. 19 of 20 such intervals hold the true change.";
const MEASURE_TITLES: Readonly<Record<string, string>> = { cpu: "by thread CPU time", wall: "by wall time" };
const BESIDE = ", at equal machine speed: less what the other stages changed alike from run to run";

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
                Before <span class="unit">{unit}</span>
              </th>
              <th scope="col" class="num" title="Mean self time per call">
                After <span class="unit">{unit}</span>
              </th>
              <th scope="col" class="num" title={TYPICAL}>
                Change
              </th>
              <th scope="col" class="num" title={TYPICAL}>
                19 of 20
              </th>
              <th scope="col" class="interval-head">
                <span class="offscreen">Change and its interval as a picture</span>
              </th>
              <th scope="col">Verdict</th>
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
  return (
    <tr data-testid="stage-change" data-stage={row.stage} data-told-apart={typical?.told_apart ?? false}>
      <th scope="row">
        <Swatch token={kind} />
        <span class="mono stage-name">
          <span class="stage-kind">{kind}::</span>
          {label}
        </span>
      </th>
      <Time us={row.before_us} unit={unit} reason="Not there before." />
      <Time us={row.after_us} unit={unit} reason="Not there any more." />
      <td
        class="num"
        data-value={typical?.change}
        title={`${MEASURE_TITLES[row.measure] ?? ""}${row.beside ? BESIDE : ""}`}>
        {typical === undefined ? (
          <Unknown reason="One side does not have it, or has too few calls of it." />
        ) : (
          changeWords(typical.change)
        )}
      </td>
      <td class="num muted">{intervalWords(typical?.low, typical?.high)}</td>
      <td>{typical !== undefined && <Interval difference={typical} reach={reach} token={kind} />}</td>
      <td>{verdict(row)}</td>
    </tr>
  );
}

/** Half the width of all pictures as a change: the widest that was told apart or is at least somewhat known. */
function reachOf(stages: readonly StageDifference[]): number {
  const ends = stages.flatMap(({ typical }) =>
    typical === undefined ? [] : [Math.abs(typical.change), Math.min(0.5, Math.abs(typical.high ?? 0))],
  );
  return Math.max(0.05, ...ends);
}

const WIDTH_PX = 160;

/** No change in the middle, dearer to the right; the interval as a line, cut off where it leaves the picture. */
function Interval({
  difference: { change, low, high, told_apart: apart },
  reach,
  token,
}: {
  difference: Difference;
  reach: number;
  token: string;
}) {
  const at = (share: number): number => WIDTH_PX / 2 + (Math.min(1, Math.max(-1, share / reach)) * (WIDTH_PX - 10)) / 2;
  return (
    <svg class="interval" width={WIDTH_PX} height={12} aria-hidden="true">
      <line class="interval-zero" x1={WIDTH_PX / 2} x2={WIDTH_PX / 2} y1={0} y2={12} />
      {low !== undefined && high !== undefined && (
        <line class="interval-line" x1={at(low)} x2={at(high)} y1={6} y2={6} />
      )}
      <circle cx={at(change)} cy={6} r={apart ? 4.5 : 3} style={fillStyle(token)} class="interval-point" />
    </svg>
  );
}

function verdict({ typical, before_us: beforeUs, after_us: afterUs }: StageDifference): string {
  if (beforeUs === undefined) return "new";
  if (afterUs === undefined) return "gone";
  if (typical === undefined || !typical.told_apart) return "within noise";
  return typical.change > 0 ? "dearer" : "cheaper";
}

function Time({ us, unit, reason }: { us: number | undefined; unit: TimeUnit; reason: string }) {
  if (us === undefined)
    return (
      <td class="num">
        <Unknown reason={reason} />
      </td>
    );
  return (
    <td class="num" data-value-us={us} title={exactUs(us)}>
      {inUnit(us, unit)}
    </td>
  );
}

const PART_WORDS: Readonly<Record<string, string>> = {
  data_wait: "data wait",
  rest: "rest of the step",
  device_busy: "device busy",
};

function partWords(name: string): string {
  const [group = "", rest = ""] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
  if (group === "idle") return `idle: ${rest.replace("_", " ")}`;
  return group === "wait" ? `wait for ${rest}` : (PART_WORDS[name] ?? name);
}

export function PartTable({ comparison: { parts, unit: per } }: { comparison: Comparison }) {
  const size = (part: PartDifference): number => Math.max(part.before_us ?? 0, part.after_us ?? 0);
  const isBlame = (part: PartDifference): number => Number(part.name.startsWith("wait:"));
  const known = parts.filter((part) => size(part) > 0).toSorted((a, b) => isBlame(a) - isBlame(b) || size(b) - size(a));
  if (known.length === 0) return null;
  const unit = chooseTimeUnit(known.flatMap((part) => [part.before_us, part.after_us]));
  return (
    <table class="parts compare-parts" data-testid="part-changes">
      <caption>What the time per {per} went to</caption>
      <thead>
        <tr>
          <th scope="col" class="parts-name">
            Part
          </th>
          <th scope="col" class="num">
            Before <span class="unit">{unit}</span>
          </th>
          <th scope="col" class="num">
            After <span class="unit">{unit}</span>
          </th>
          <th scope="col" class="num" title="As a share of the whole time before">
            of before
          </th>
        </tr>
      </thead>
      <tbody>
        {known.map((part) => (
          <tr key={part.name} data-testid="part-change" data-part={part.name}>
            <th scope="row" class="parts-name" title={part.name}>
              {partWords(part.name)}
            </th>
            <Time us={part.before_us} unit={unit} reason="Not told before." />
            <Time us={part.after_us} unit={unit} reason="Not told after." />
            <td class="num" title={intervalWords(part.low, part.high)}>
              {part.change === undefined ? <Unknown reason="Not known on both sides." /> : changeWords(part.change)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function SettingTable({ settings }: { settings: readonly SettingChange[] }) {
  return (
    <section>
      <h2>Settings that changed</h2>
      {settings.length === 0 ? (
        <p class="muted" data-testid="no-settings">
          None that the captures tell.
        </p>
      ) : (
        <table class="settings" data-testid="setting-changes">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {settings.map((one) => (
              <tr key={one.name} data-testid="setting-change">
                <th scope="row" class="mono">
                  {one.name}
                </th>
                <td>{one.before}</td>
                <td>{one.after}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
