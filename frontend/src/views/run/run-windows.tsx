import type { RunPhase, WholeRun } from "../../contract/report";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { AfterCell, CaptureWay, DurationCell } from "./run-cells";

/** The dotted frames of the picture, which a keyboard cannot open. */
export function RunWindows({ run }: { run: WholeRun }) {
  const windows = run.phases.filter(({ kind }) => kind === "recorded");
  if (windows.length === 0) return null;
  return (
    <section>
      <h2>Recorded windows</h2>
      <p class="muted">From the profiler's warm-up until the file was written, which slows the loop.</p>
      <div class="scroll-x">
        <DataTable name="Recorded windows" testId="run-windows">
          <thead>
            <tr>
              <Th column="after" label="After" unit="h:min:s" />
              <Th column="lasted" label="Lasted" />
              <Th column="capture" label="Capture" numeric={false} />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {windows.map((phase) => (
                <WindowRow key={`${phase.from_s} ${phase.capture}`} phase={phase} run={run.run} />
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </div>
    </section>
  );
}

function WindowRow({ phase, run }: { phase: RunPhase; run: string }) {
  return (
    <tr data-testid="run-window">
      <AfterCell atS={phase.from_s} />
      <DurationCell us={1e6 * (phase.to_s - phase.from_s)} />
      <th scope="row" data-text={phase.capture}>
        <CaptureWay run={run} capture={phase.capture} testId="open-window" />
      </th>
    </tr>
  );
}
