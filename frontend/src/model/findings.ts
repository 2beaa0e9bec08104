// Findings in words: how they are grouped, what each may gain and of what, and how sure it is.

import type { Capture, Finding } from "../contract/report";
import { formatDuration, plural, ratioWords } from "./format";
import { reasonFor } from "./reasons";
import { share, shareWords } from "./shares";

export const SEVERITIES = ["high", "medium", "low"] as const;

export type SeverityGroup = { readonly severity: string; readonly findings: readonly Finding[] };

/** Most severe first; within one severity in the report's order, which is by gain. A severity unknown here stands last. */
export function bySeverity(findings: readonly Finding[]): SeverityGroup[] {
  const others = findings
    .map((finding) => finding.severity)
    .filter((name) => !SEVERITIES.some((known) => known === name));
  return [...SEVERITIES, ...new Set(others)]
    .map((severity) => ({ severity, findings: findings.filter((finding) => finding.severity === severity) }))
    .filter((group) => group.findings.length > 0);
}

const CONFIDENCE: Readonly<Record<string, string>> = {
  measured: "Measured: the figures are the finding",
  likely: "Likely: the figures point to it",
  possible: "Possible: the figures allow it",
};

/** How sure a finding is, and why no more than that; "" when the report does not say. */
export function confidenceWords({ confidence, confidence_reason: reason }: Finding): string {
  if (confidence === "") return "";
  const head = CONFIDENCE[confidence] ?? confidence;
  return reason === "" ? `${head}.` : `${head}. ${asSentence(reason)}`;
}

export function asSentence(text: string): string {
  const whole = /[.!?]$/.test(text) ? text : `${text}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

export type Gain = {
  readonly perStepUs: number;
  /** Of the mean step; undefined without steps. */
  readonly ofStep: number | undefined;
  /** Over all steps of the window; undefined without steps. */
  readonly windowUs: number | undefined;
  readonly ofWindow: number | undefined;
};

export function gainOf({ gain_us_per_step: perStepUs }: Finding, { steps, window_us: wholeUs }: Capture): Gain | null {
  if (perStepUs === undefined) return null;
  const windowUs = steps === undefined ? undefined : perStepUs * steps.count;
  return {
    perStepUs,
    ofStep: share(perStepUs, steps?.mean_us),
    windowUs,
    ofWindow: windowUs === undefined ? undefined : share(windowUs, wholeUs),
  };
}

/** How many times as fast a step would be without the blamed time, by Amdahl's law; undefined where nothing would be left. */
export function speedupOf(ofStep: number | undefined): number | undefined {
  return ofStep === undefined || ofStep >= 0.999 ? undefined : 1 / (1 - ofStep);
}

/** "at most 58.7 ms per step (33.6 % of it: 1.5x as fast)". */
export function gainWords(gain: Gain, { steps }: Capture): string {
  const speedup = speedupOf(gain.ofStep);
  const faster = speedup === undefined || speedup < 1.05 ? "" : `: ${ratioWords(speedup)} as fast`;
  const part =
    steps === undefined || gain.ofStep === undefined
      ? ""
      : ` (${shareWords(gain.perStepUs, steps.mean_us)} of it${faster})`;
  return `at most ${formatDuration(gain.perStepUs)} per step${part}`;
}

/** "single process loading" of `single_process_loading`. */
export function ruleWords(rule: string): string {
  return rule.replaceAll("_", " ");
}

/** Whether there was anything for the rules to look at: nothing found is good news only then. */
export function isBlind({ loader, verdict }: Capture): boolean {
  return loader === undefined && (verdict?.bound ?? "unknown") === "unknown";
}

/** Verdicts with which all is well. */
const CONTENT: ReadonlySet<string> = new Set(["device", "balanced"]);

/** What stands where no finding is. */
export function nothingFound(capture: Capture): string {
  if (isBlind(capture)) {
    return `This capture cannot tell whether there is anything to change. ${asSentence(reasonFor(capture, "loader"))}`;
  }
  const { bound = "unknown", sentence = "" } = capture.verdict ?? {};
  // A device that is mostly idle with no rule to say why is no reason to be content.
  const head = CONTENT.has(bound) ? "Nothing to change" : "No rule found anything to change";
  return sentence === "" ? `${head}.` : `${head}: ${uncapitalised(sentence)}`;
}

/** For use after a colon; names and abbreviations keep their capitals. */
function uncapitalised(text: string): string {
  return /^[A-Z][a-z]+ /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

export function findingsSentence(capture: Capture): string {
  const { findings } = capture;
  const [first] = findings;
  if (first === undefined) return nothingFound(capture);
  const best = findings.reduce<Gain | null>((most, finding) => {
    const gain = gainOf(finding, capture);
    return gain !== null && gain.perStepUs > (most?.perStepUs ?? 0) ? gain : most;
  }, null);
  const count = `${plural(findings.length, "thing")} to change`;
  if (best === null) return `${count}; how much they may gain cannot be bounded.`;
  return `${count}; the largest gain is ${gainWords(best, capture)}.`;
}
