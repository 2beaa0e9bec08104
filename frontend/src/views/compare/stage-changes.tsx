import type { Comparison, Quantity } from "../../contract/report";
import { chooseTimeUnit, type TimeUnit } from "../../model/format";
import { partsOf } from "../../model/stage-tree";
import { TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Swatch } from "../../ui/swatch";
import {
  ChangeCell,
  IntervalCell,
  IntervalPicture,
  isSignificant,
  JUDGED,
  JudgedNote,
  OutcomeCell,
  reachOf,
} from "./intervals";

const TYPICAL =
  "Self time per call in a typical batch: batches in which another program had the CPU do not count. 95% interval.";
const MEASURE = "CPU: thread CPU time of the stage itself. Wall: its self time.";
const MEASURES: Readonly<Record<string, string>> = { cpu: "CPU", wall: "wall" };
const ADJUSTED = "Less what the other stages changed alike from run to run: the machine's speed.";

export function StageChangeTable({ comparison: { stages } }: { comparison: Comparison }) {
  if (stages.length === 0) return null;
  const unit = chooseTimeUnit(stages.flatMap((row) => [row.before_us, row.after_us]));
  const reach = reachOf(stages);
  return (
    <section>
      <h2>Stages</h2>
      <p class="muted">
        Per call in a typical batch, as CPU time or wall time.
        {stages.some(({ calls }) => calls?.speed_adjusted) &&
          " ~: After is what it would be at the machine speed of Before."}
        {stages.some(({ calls }) => calls?.per_sample) &&
          " Per sample where a stage runs once per batch: the batches differ in size."}
      </p>
      <div class="scroll-x">
        <DataTable name="Stages before and after" class="stages compare-stages pictured" testId="stage-changes" main>
          <thead>
            <tr>
              <Th column="stage" label="Stage" numeric={false} />
              <Th column="measure" label="Time" numeric={false} title={MEASURE} />
              <Th column="before" label="Before" unit={unit} title={TYPICAL} />
              <Th column="after" label="After" unit={unit} title={TYPICAL} />
              <Th column="change" label="Change" title={TYPICAL} />
              <Th column="interval" label="95% interval" title={TYPICAL} />
              <th scope="col" class="interval-head">
                <span class="offscreen">Change and its interval as a picture</span>
              </th>
              <Th column="outcome" label="Outcome" numeric={false} title={JUDGED} />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {stages.map((row) => (
                <StageLine key={row.name} row={row} unit={unit} reach={reach} />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
      <JudgedNote rows={stages} />
    </section>
  );
}

function StageLine({ row, unit, reach }: { row: Quantity; unit: TimeUnit; reach: number }) {
  const { kind, label } = partsOf(row.name);
  const adjusted = row.calls?.speed_adjusted === true;
  return (
    <tr data-testid="stage-change" data-stage={row.name} data-significant={isSignificant(row)}>
      <th scope="row">
        <Swatch token={kind} />
        <span class="mono stage-name">
          {kind !== row.name && <span class="stage-kind">{kind}::</span>}
          {label}
        </span>
      </th>
      <td class="muted" data-testid="measure" title={adjusted ? ADJUSTED : undefined}>
        {`${MEASURES[row.calls?.measure ?? ""] ?? "–"}${adjusted ? " ~" : ""}${row.calls?.per_sample ? " per sample" : ""}`}
      </td>
      <TimeCell us={row.before_us} unit={unit} reason="Not there before." />
      <TimeCell us={row.after_us} unit={unit} reason="No longer there after." />
      <ChangeCell quantity={row} />
      <IntervalCell quantity={row} />
      <td>
        <IntervalPicture quantity={row} reach={reach} token={kind} />
      </td>
      <OutcomeCell quantity={row} />
    </tr>
  );
}
