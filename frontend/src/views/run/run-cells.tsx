// Cells of the tables of a whole run.

import { exactUs, formatCount, formatDuration } from "../../model/format";
import { clockOf } from "../../model/whole-run";
import { Unknown } from "../../ui/numbers";
import { captureCalled, openCapture } from "../shared/open-capture";

/** Times of these tables differ by orders of magnitude: each has its own unit. Exact on hover. */
export function DurationCell({ us, reason = "" }: { us: number | undefined; reason?: string }) {
  return (
    <td class="num" data-value-us={us} title={us === undefined ? undefined : exactUs(us)}>
      {us === undefined ? <Unknown reason={reason} /> : formatDuration(us)}
    </td>
  );
}

export function CountCell({ value, reason = "" }: { value: number | undefined; reason?: string }) {
  return (
    <td class="num" data-value={value}>
      {value === undefined ? <Unknown reason={reason} /> : formatCount(value)}
    </td>
  );
}

/** When, since the run began. */
export function AfterCell({ atS }: { atS: number }) {
  return (
    <td class="num" data-value-us={1e3 * Math.round(1e3 * atS)}>
      {clockOf(atS)}
    </td>
  );
}

type WayProps = {
  readonly run: string;
  readonly capture: string;
  /** What the button says, where that is not the name. */
  readonly label?: string;
  readonly testId: string;
};

/** A button where the capture is here. */
export function CaptureWay({ run, capture, label, testId }: WayProps) {
  const item = captureCalled(run, capture);
  if (item === undefined) return <span class="muted">{capture} (not here)</span>;
  return (
    <button
      type="button"
      class="link"
      data-testid={testId}
      title={label === undefined ? undefined : capture}
      onClick={() => openCapture(item.id)}>
      {label ?? capture}
    </button>
  );
}
