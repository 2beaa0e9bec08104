// Findings: how they are grouped, and the words of their confidence.

import type { Finding } from "../contract/report";
import { CONFIDENCES, SEVERITIES } from "../contract/words";
import { meaningOf } from "./words";

export type SeverityGroup = { readonly severity: string; readonly findings: readonly Finding[] };

/** Most severe first; within one severity in the report's order, which is by gain. A severity unknown here stands last. */
export function bySeverity(findings: readonly Finding[]): SeverityGroup[] {
  const names = [...SEVERITIES.map(({ id }) => id as string), ...findings.map((finding) => finding.severity)];
  return [...new Set(names)]
    .map((severity) => ({ severity, findings: findings.filter((finding) => finding.severity === severity) }))
    .filter((group) => group.findings.length > 0);
}

/** How far a finding can be trusted, and why no more than that; "" when the report does not say. */
export function confidenceWords({ confidence, confidence_reason: reason }: Finding): string {
  return [meaningOf(CONFIDENCES, confidence), reason].filter((sentence) => sentence !== "").join(" ");
}

/** A finding has no id of its own; a rule finds each stage at most once. */
export function findingKey({ rule, stage, title }: Finding): string {
  return [rule, stage, title].join(" ");
}
