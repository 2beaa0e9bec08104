// What the report says of a change; which intervals are worth showing is decided there.

import type { Quantity } from "../../contract/report";
import { OUTCOMES } from "../../contract/words";
import { formatChange } from "../../model/format";
import { labelOf } from "../../model/words";
import { Explained } from "../../ui/explained";
import { Unknown } from "../../ui/numbers";
import { fillStyle } from "../../ui/swatch";

/** Why a row may be "not significant" beside an interval without 0 in it. */
export const JUDGED =
  "Judged together with all rows of the table: among many rows the intervals of some leave out 0 by chance, so with few captures of a side none may be certain enough. More captures settle it. The interval is for this row alone.";

const DIRECTIONS = new Set(["faster", "slower", "more", "less"]);

export function isSignificant({ outcome }: Quantity): boolean {
  return DIRECTIONS.has(outcome);
}

/** "95% interval: −36% to −0.9%"; where there is none, why. */
export function intervalNote({ high, interval_text }: Quantity): string {
  return high === undefined ? interval_text : `95% interval: ${interval_text}`;
}

/** Undefined too where a side is too short for a change to mean anything. */
export function knownChange({ change, outcome }: Quantity): number | undefined {
  return outcome === "too_short" ? undefined : change;
}

export function ChangeCell({ quantity }: { quantity: Quantity }) {
  const change = knownChange(quantity);
  return (
    <td class="num" data-value={change}>
      {change === undefined ? <Unknown reason={quantity.interval_text} /> : formatChange(change)}
    </td>
  );
}

/** The interval alone; what of the change the machine's speed explains, one Tab or hover away. */
export function IntervalCell({ quantity }: { quantity: Quantity }) {
  const [interval = "", ofWhat = ""] = quantity.interval_text.split("; ");
  if (quantity.outcome === "too_short")
    return (
      <td class="num" data-testid="interval">
        <Unknown reason={quantity.interval_text} />
      </td>
    );
  return (
    <td class="num muted interval-words" data-testid="interval" data-low={quantity.low} data-high={quantity.high}>
      {ofWhat === "" ? interval : <Explained text={ofWhat}>{interval}</Explained>}
    </td>
  );
}

export function OutcomeCell({ quantity }: { quantity: Quantity }) {
  const { outcome } = quantity;
  const label = labelOf(OUTCOMES, outcome);
  if (isChangedAlone(quantity))
    return (
      <td class="outcome">
        <Explained text={JUDGED}>{label}</Explained>
      </td>
    );
  return (
    <td class="outcome" title={OUTCOMES.find((term) => term.id === outcome)?.meaning}>
      {label}
    </td>
  );
}

/** Below a table where that is so of a row: it is not understood by itself. */
export function JudgedNote({ rows }: { rows: readonly Quantity[] }) {
  if (!rows.some(isChangedAlone)) return null;
  return (
    <p class="muted" data-testid="judged-note">
      {JUDGED}
    </p>
  );
}

/** Its own interval leaves out 0, and yet it is not significant. */
function isChangedAlone({ outcome, low, high }: Quantity): boolean {
  return outcome === "not_significant" && ((low ?? 0) > 0 || (high ?? 0) < 0);
}

/**
 * Half the width of all pictures as a change: the widest change that has an interval, or an end of one: of those that
 * are not significant up to a half.
 */
export function reachOf(quantities: readonly Quantity[]): number {
  const ends = quantities.flatMap((quantity) => {
    const { change, low, high, outcome } = quantity;
    if (change === undefined || high === undefined || outcome === "too_short") return [];
    const [most, least] = [Math.abs(high), Math.abs(low ?? 0)];
    return isSignificant(quantity) ? [Math.abs(change), most, least] : [Math.abs(change), Math.min(0.5, most)];
  });
  return Math.max(0.05, ...ends);
}

const WIDTH_PX = 160;
const MARGIN_PX = 5;

/** Head of a line that goes on over the edge `x` of the picture; `inward`: which way the picture lies. */
function arrow(x: number, inward: 1 | -1): string {
  return x === (inward > 0 ? 0 : WIDTH_PX) ? `M${x + 4 * inward} 3L${x} 6L${x + 4 * inward} 9` : "";
}

type PictureProps = { readonly quantity: Quantity; readonly reach: number; readonly token: string };

/** No change in the middle, more to the right; the interval as a line, which has an arrow where it leaves the picture. */
export function IntervalPicture({ quantity, reach, token }: PictureProps) {
  const { low, high } = quantity;
  const change = knownChange(quantity);
  if (change === undefined) return null;
  const half = WIDTH_PX / 2;
  const at = (share: number): number => half + Math.min(1, Math.max(-1, share / reach)) * (half - MARGIN_PX);
  const from = low === undefined || low < -reach ? 0 : at(low);
  const to = high === undefined || high > reach ? WIDTH_PX : at(high);
  const radius = isSignificant(quantity) ? 4.5 : 3;
  return (
    <svg class="interval" width={WIDTH_PX} height={12} aria-hidden="true">
      <line class="interval-zero" x1={half} x2={half} y1={0} y2={12} />
      {low !== undefined && <path class="interval-line" d={`M${from} 6H${to}${arrow(from, 1)}${arrow(to, -1)}`} />}
      <circle cx={at(change)} cy={6} r={radius} style={fillStyle(token)} class="interval-point" />
    </svg>
  );
}
