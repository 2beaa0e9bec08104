// Findings: the words of their confidence.

import type { Finding } from "../contract/report";
import { CONFIDENCES } from "../contract/words";
import { meaningOf } from "./words";

/** Why a finding can be trusted no more, or else what its confidence means; "" when the report does not say. */
export function confidenceWords({ confidence, confidence_reason: reason }: Finding): string {
  return reason || meaningOf(CONFIDENCES, confidence);
}

/** A finding has no id; a rule names each stage at most once. */
export function findingKey({ rule, stage, title }: Finding): string {
  return [rule, stage, title].join(" ");
}
