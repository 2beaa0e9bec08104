// Findings: the words of their confidence.

import type { Finding } from "../contract/report";
import { CONFIDENCES } from "../contract/words";
import { formatDuration, formatPercent } from "./format";
import { meaningOf } from "./words";

/** Why a finding can be trusted no more, or else what its confidence means; "" when the report does not say. */
export function confidenceWords({ confidence, confidence_reason: reason }: Finding): string {
  return reason || meaningOf(CONFIDENCES, confidence);
}

/** "36.7% of a step of 131 ms": the bound's step is that of the steady state, without starts of epochs. */
export function shareOfStep(us: number, share: number): string {
  return `${formatPercent(share)} of a step of ${formatDuration(us / share)}`;
}

/** A finding has no id; a rule names each stage at most once. */
export function findingKey({ rule, stage, title }: Finding): string {
  return [rule, stage, title].join(" ");
}
