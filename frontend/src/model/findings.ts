// Findings: the words of their confidence.

import type { Finding } from "../contract/report";
import { CONFIDENCES } from "../contract/words";
import { meaningOf } from "./words";

/** How far a finding can be trusted, and why no more than that; "" when the report does not say. */
export function confidenceWords({ confidence, confidence_reason: reason }: Finding): string {
  return [meaningOf(CONFIDENCES, confidence), reason].filter((sentence) => sentence !== "").join(" ");
}

/** A finding has no id; a rule names each stage at most once. */
export function findingKey({ rule, stage, title }: Finding): string {
  return [rule, stage, title].join(" ");
}
