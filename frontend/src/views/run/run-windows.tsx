import type { RunPhase, WholeRun } from "../../contract/report";
import { formatDuration } from "../../model/format";
import { clockOf } from "../../model/whole-run";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { captureCalled, openCapture } from "../shared/open-capture";

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
  const item = captureCalled(run, phase.capture);
  const lastedS = phase.to_s - phase.from_s;
  return (
    <tr data-testid="run-window">
      <td class="num" data-value-us={1e3 * Math.round(1e3 * phase.from_s)}>
        {clockOf(phase.from_s)}
      </td>
      <td class="num" data-value-us={1e6 * lastedS}>
        {formatDuration(1e6 * lastedS)}
      </td>
      <th scope="row" data-text={phase.capture}>
        {item === undefined ? (
          <span class="muted">{phase.capture} (not here)</span>
        ) : (
          <button type="button" class="link" data-testid="open-window" onClick={() => openCapture(item.id)}>
            {phase.capture}
          </button>
        )}
      </th>
    </tr>
  );
}
