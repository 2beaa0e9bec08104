import { useMemo } from "preact/hooks";
import type { Comparison, FlameChange } from "../../contract/report";
import { type Flame, type Frame, frameKey, frameOfKey, pathOf } from "../../model/flame";
import { flameOfChange, type Sides, sidesOf, toneOf } from "../../model/flame-change";
import { chooseTimeUnit, formatChange, formatDuration, plural } from "../../model/format";
import { flameScope, flameZoom } from "../../state/atoms";
import { TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Icicle, IcicleKeys, type Paint } from "../../ui/icicle";
import { PictureMenu } from "../../ui/picture-menu";
import { Legend } from "../../ui/swatch";
import { paintIn, textOfFrame } from "./frame-facts";

const LABELS: Readonly<Record<string, string>> = { pipeline: "Whole pipeline", training: "Training thread" };
const LEGEND = [
  { token: "more", label: "takes more time after (the stronger, the more)" },
  { token: "less", label: "takes less time after" },
];

/** Which functions take more or less time than before: both sides' sampled stacks, joined by function and file. */
export function FlameDifference({ comparison: { flames, unit } }: { comparison: Comparison }) {
  const change = flames.find(({ scope }) => scope === flameScope.value) ?? flames[0];
  if (change === undefined) return null;
  return (
    <section data-testid="flame-difference" data-part={change.scope}>
      <div class="table-head">
        <h2>Flame graph of the difference, per {unit}</h2>
        {flames.length > 1 && <ScopeSelect flames={flames} scope={change.scope} />}
        {change.text === "" && <PictureMenu name={`Flame graph of the difference ${labelOf(change.scope)}`} />}
      </div>
      {change.text === "" ? (
        <Graph change={change} unit={unit} />
      ) : (
        <p class="muted" data-testid="flame-difference-text">
          {change.text}
        </p>
      )}
    </section>
  );
}

function labelOf(scope: string): string {
  return LABELS[scope] ?? scope;
}

function ScopeSelect({ flames, scope }: { flames: readonly FlameChange[]; scope: string }) {
  const choose = (next: string): void => {
    flameScope.value = next;
    flameZoom.value = null;
  };
  return (
    <label>
      Of{" "}
      <select data-testid="flame-difference-part" value={scope} onChange={(event) => choose(event.currentTarget.value)}>
        {flames.map((flame) => (
          <option key={flame.scope} value={flame.scope}>
            {labelOf(flame.scope)}
            {flame.text === "" ? "" : " (no picture)"}
          </option>
        ))}
      </select>
    </label>
  );
}

function Graph({ change, unit }: { change: FlameChange; unit: string }) {
  const flame = useMemo(() => flameOfChange(change, labelOf(change.scope)), [change]);
  const zoomed = frameOfKey(flame, flameZoom.value);
  const zoom = (index: number): void => {
    const frame = flame[index];
    flameZoom.value = index === 0 || frame === undefined ? null : frameKey(frame);
  };
  return (
    <figure class="flame">
      <p class="muted">
        A frame is as wide as the mean of both sides, and coloured where the change is larger than the sampling error
        (95%, {plural(change.before_samples, "stack sample")} before, {plural(change.after_samples, "stack sample")}{" "}
        after). It is a function with all its lines; the line beside it is the only one sampled, or has most of the
        change. What differs from run to run is not in that error, so colour is no proof. These are times by stack
        samples, with all that a stage calls and waits for; the table of stages has what one call takes by itself, and
        may differ.
        {unit === "sample" && ` ${perSample(change.scope)}`}
        {change.note !== "" && <strong data-testid="flame-difference-note"> {change.note}</strong>}
      </p>
      <Legend items={LEGEND} />
      <Icicle
        flame={flame}
        zoomed={zoomed}
        found={null}
        label={`Flame graph of the difference in ${labelOf(change.scope)}. The list below has the same frames.`}
        paint={(frame) => paint(change, frame)}
        textOf={(frame) => writtenOf(change, frame)}
        speak={(frame) => [writtenOf(change, frame), ...factsOf(sidesOf(change, frame), unit)].join(", ")}
        describe={(frame) => <Facts frame={frame} facts={factsOf(sidesOf(change, frame), unit)} />}
        onZoom={zoom}
      />
      <IcicleKeys />
      <DifferenceList change={change} flame={flame} />
    </figure>
  );
}

/** DataLoader workers build others than the loop takes in the same time. */
function perSample(scope: string): string {
  return scope === "training"
    ? "Per sample that the loop took."
    : "What builds samples is per sample built in the window, all else per sample that the loop took.";
}

function paint(change: FlameChange, frame: Frame): Paint {
  const tone = toneOf(sidesOf(change, frame));
  return paintIn(tone, tone === "same" ? "step" : (tone.split("-")[0] ?? tone));
}

/** What stands in a frame; what is spoken of it begins with the same words. */
function writtenOf(change: FlameChange, frame: Frame): string {
  return `${textOfFrame(frame)}${changeTail(sidesOf(change, frame))}`;
}

function changeTail(sides: Sides): string {
  return sides.isChanged && sides.before > 0 ? ` ${formatChange(sides.after / sides.before - 1)}` : "";
}

function factsOf(sides: Sides, unit: string): string[] {
  const { before, after, error, isChanged } = sides;
  const per = unit === "" ? "" : ` per ${unit}`;
  return [
    `${formatDuration(before)} before, ${formatDuration(after)} after${per}`,
    before > 0 && after > 0 ? formatChange(after / before - 1) : before > 0 ? "gone" : "new",
    `self ${formatDuration(sides.selfBefore)} before, ${formatDuration(sides.selfAfter)} after`,
    `sampling error ${formatDuration(error)}${isChanged ? "" : ": no change beyond it"}`,
    sides.lineChange,
  ].filter(Boolean);
}

function Facts({ frame, facts }: { frame: Frame; facts: readonly string[] }) {
  return (
    <>
      <p class="tooltip-title">{frame.name}</p>
      {frame.place !== "" && <p class="mono">{frame.place}</p>}
      {frame.source !== "" && <p class="mono source-line">{frame.source}</p>}
      {facts.map((fact) => (
        <p key={fact}>{fact}</p>
      ))}
    </>
  );
}

/** The same frames as text. */
function DifferenceList({ change, flame }: { change: FlameChange; flame: Flame }) {
  const unit = chooseTimeUnit([change.before_us, change.after_us]);
  return (
    <details class="frame-list">
      <summary>The same as a list ({plural(flame.length, "frame")})</summary>
      <div class="scroll-x">
        <DataTable name="Functions before and after" testId="difference-list">
          <thead>
            <tr>
              <Th column="function" label="Function" numeric={false} />
              <Th column="line" label="File, line" numeric={false} />
              <Th column="before" label="Before" unit={unit} />
              <Th column="after" label="After" unit={unit} />
              <Th column="change" label="Change" numeric={false} />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {flame.map((frame) => {
                const sides = sidesOf(change, frame);
                return (
                  <tr key={frame.index}>
                    <th scope="row" data-copied={pathOf(flame, frame)}>
                      <span class="stage-cell" style={{ "--depth": String(Math.min(frame.depth, 24)) }}>
                        {frame.name}
                      </span>
                    </th>
                    <td title={frame.source}>
                      <span class="mono">{frame.place}</span>
                      {sides.lineChange !== "" && <span class="muted"> {sides.lineChange}</span>}
                    </td>
                    <TimeCell us={sides.before} unit={unit} reason="" />
                    <TimeCell us={sides.after} unit={unit} reason="" />
                    <td>{sides.isChanged ? factsOf(sides, "")[1] : "within the sampling error"}</td>
                  </tr>
                );
              })}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </details>
  );
}
