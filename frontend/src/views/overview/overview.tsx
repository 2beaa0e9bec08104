import type { Capture } from "../../contract/report";
import { causeParts, newEvidence, stageParts, deviceName } from "../../model/summary";
import { reasonFor } from "../../model/reasons";
import { PartsTable } from "../../ui/parts-table";
import { Diagnostics } from "./diagnostics";
import { Findings } from "./findings";
import { OverviewNumbers } from "./numbers";
import { Rates } from "./rates";
import { Settings } from "./settings";
import { StepChart } from "./step-chart";

/** Sentence, numbers, picture, then what to change and what the capture cannot tell. */
export function Overview({ capture }: { capture: Capture }) {
  return (
    <>
      <Verdict capture={capture} />
      <OverviewNumbers capture={capture} />
      {capture.steps === undefined ? (
        <section data-testid="steps-unavailable">
          <h2>Steps</h2>
          <p class="muted reason">{reasonFor(capture, "steps")}</p>
        </section>
      ) : (
        <StepChart steps={capture.steps} waitKnown={capture.loader !== undefined} />
      )}
      <Divisions capture={capture} />
      <Findings capture={capture} />
      <Rates throughput={capture.throughput} />
      <Diagnostics diagnostics={capture.diagnostics} />
      <Settings capture={capture} />
    </>
  );
}

function Verdict({ capture }: { capture: Capture }) {
  const { verdict } = capture;
  const sentence = verdict?.sentence ?? "";
  const evidence = newEvidence(sentence, verdict?.evidence ?? []);
  return (
    <section>
      <p class="sentence" data-testid="verdict" data-value={verdict?.bound}>
        {sentence === "" ? "This capture does not tell what held the run back." : sentence}
      </p>
      {evidence.length > 0 && (
        <ul class="evidence" data-testid="verdict-evidence">
          {evidence.map((line) => <li key={line}>{line}</li>)}
        </ul>
      )}
    </section>
  );
}

/** Where the idle time and the data wait go. */
function Divisions({ capture }: { capture: Capture }) {
  const device = capture.devices[0];
  const causes = causeParts(device?.idle_by_cause_us);
  const stages = stageParts(capture.loader?.wait_by_stage_us ?? {});
  if (causes.length === 0 && stages.length === 0) return null;
  return (
    <div class="columns">
      {device !== undefined && causes.length > 0 && (
        <PartsTable caption={`${deviceName(device)}: idle time by cause`} parts={causes} wholeUs={device.idle_us} of="of idle" testId="idle-by-cause" />
      )}
      {capture.loader !== undefined && stages.length > 0 && (
        <PartsTable caption="Data wait by stage" parts={stages} wholeUs={capture.loader.wait_us} of="of data wait" testId="wait-by-stage" />
      )}
    </div>
  );
}
