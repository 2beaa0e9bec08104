// Shares of a whole.

import { formatPercent, UNKNOWN } from "./format";

export function share(part: number, whole: number | undefined): number | undefined {
  return whole === undefined || whole <= 0 ? undefined : part / whole;
}

/** "41.3%", or "–" when there is nothing to take a share of. */
export function shareWords(part: number, whole: number | undefined): string {
  const value = share(part, whole);
  return value === undefined ? UNKNOWN : formatPercent(value);
}
