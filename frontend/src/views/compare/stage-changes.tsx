import type { Comparison, Quantity } from "../../contract/report";
import { chooseTimeUnit, type TimeUnit } from "../../model/format";
import { TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Swatch } from "../../ui/swatch";
import { ChangeCell, IntervalCell, IntervalPicture, isSignificant, JUDGED, OutcomeCell, reachOf } from "./intervals";

const TYPICAL =
  "Self time per call in a typical batch: batches in which another program had the CPU do not count. 95% interval.";
const MEASURE_TITLES: Readonly<Record<string, string>> = { cpu: "by thread CPU time", wall: "by wall time" };
const ADJUSTED = ", at equal machine speed: less what the other stages changed alike from run to run";

export function StageChangeTable({ comparison: { stages } }: { comparison: Comparison }) {
  if (stages.length === 0) return null;
  const unit = chooseTimeUnit(stages.flatMap((row) => [row.before_us, row.after_us]));
  const reach = reachOf(stages);
  return (
    <section>
      <h2>Stages</h2>
      <p class="muted">
        Before and After are means as recorded. The change is that of typical batches
        {stages.some(({ calls }) => calls?.speed_adjusted) && " at equal machine speed"}: it need not be the ratio of
        the two.
      </p>
      <div class="scroll-x">
        <DataTable name="Stages before and after" class="stages compare-stages" testId="stage-changes">
          <thead>
            <tr>
              <Th column="stage" label="Stage" numeric={false} />
              <Th column="before" label="Before" unit={unit} title="Mean self time per call" />
              <Th column="after" label="After" unit={unit} title="Mean self time per call" />
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
    </section>
  );
}

function StageLine({ row, unit, reach }: { row: Quantity; unit: TimeUnit; reach: number }) {
  const [kind = "", label = ""] = row.name.split("::");
  const measure = `${MEASURE_TITLES[row.calls?.measure ?? ""] ?? ""}${row.calls?.speed_adjusted ? ADJUSTED : ""}`;
  return (
    <tr data-testid="stage-change" data-stage={row.name} data-significant={isSignificant(row)}>
      <th scope="row">
        <Swatch token={kind} />
        <span class="mono stage-name">
          <span class="stage-kind">{kind}::</span>
          {label}
        </span>
      </th>
      <TimeCell us={row.before_us} unit={unit} reason="Not there before." />
      <TimeCell us={row.after_us} unit={unit} reason="No longer there after." />
      <ChangeCell quantity={row} title={measure} />
      <IntervalCell quantity={row} />
      <td>
        <IntervalPicture quantity={row} reach={reach} token={kind} />
      </td>
      <OutcomeCell quantity={row} />
    </tr>
  );
}
