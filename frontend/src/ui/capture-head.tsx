import type { Capture } from "../contract/report";
import { modeLabel, modeMeaning } from "../model/captures";
import { exactUs, formatDuration, plural } from "../model/format";
import { deviceName } from "../model/parts";
import { Explained } from "./explained";
import { Exact } from "./numbers";

/** One quiet line: which capture this is. */
export function CaptureHead({ capture, name }: { capture: Capture; name: string }) {
  const facts = [
    stepWords(capture),
    deviceWords(capture),
    capture.rank === undefined ? "" : `rank ${capture.rank}`,
    capture.torch_version === "" ? "" : `torch ${capture.torch_version}`,
  ].filter((fact) => fact !== "");
  return (
    <p class="capture-head" data-testid="capture-head">
      <span class="mono">{name}</span> ·{" "}
      <Explained text={modeMeaning(capture.mode)}>{modeLabel(capture.mode)}</Explained>
      {capture.window_us !== undefined && (
        <>
          {" "}
          ·{" "}
          <Exact value={capture.window_us} title={exactUs(capture.window_us)}>
            {formatDuration(capture.window_us)}
          </Exact>{" "}
          window
        </>
      )}
      {facts.map((fact) => ` · ${fact}`).join("")}
    </p>
  );
}

/** "50 steps of 4 batches"; without their batches where each takes one. */
function stepWords({ steps }: Capture): string {
  if (steps === undefined) return "";
  return `${plural(steps.count, "step")}${steps.batches_each === "" ? "" : ` of ${steps.batches_each}`}`;
}

function deviceWords({ devices }: Capture): string {
  const [first] = devices;
  if (first === undefined) return "no device";
  return devices.length === 1 ? deviceName(first) : plural(devices.length, "device");
}
