import { expect, it } from "vitest";
import {
  asSentence,
  bySeverity,
  confidenceWords,
  findingsSentence,
  gainOf,
  gainWords,
  nothingFound,
  ruleWords,
  speedupOf,
} from "../../src/model/findings";
import { capture, finding } from "../build";

const steps = { count: 10, mean_us: 200, p50_us: 200, p95_us: 200, items: [] };
const verdict = { bound: "device", sentence: "The device is busy for 98.0 % of the window.", evidence: [] };
const plain = (text: string): string => text.replaceAll("\u00a0", " ");

it("groups findings by severity, in each the order of the report", () => {
  const found = [
    finding({ rule: "a", severity: "low" }),
    finding({ rule: "b", severity: "high" }),
    finding({ rule: "c", severity: "low" }),
  ];
  expect(bySeverity(found).map(({ severity, findings }) => [severity, findings.map((one) => one.rule)])).toEqual([
    ["high", ["b"]],
    ["low", ["a", "c"]],
  ]);
});

it("loses no finding of a severity that it does not know", () => {
  expect(
    bySeverity([finding({ severity: "dire" }), finding({ severity: "low" })]).map((group) => group.severity),
  ).toEqual(["low", "dire"]);
});

it("says a gain per step and over the window, as a bound", () => {
  const run = capture({ steps, window_us: 2000 });
  const gain = gainOf(finding({ gain_us_per_step: 50 }), run);
  expect(gain).toEqual({ perStepUs: 50, ofStep: 0.25, windowUs: 500, ofWindow: 0.25 });
  expect(plain(gainWords(gain ?? fail(), run))).toBe("at most 50.0 µs per step (25.0 % of it: 1.3x as fast)");
});

it("bounds nothing that the report does not, and takes no share of steps that are not known", () => {
  expect(gainOf(finding({}), capture({ steps }))).toBeNull();
  const gain = gainOf(finding({ gain_us_per_step: 50 }), capture({}));
  expect(gain).toEqual({ perStepUs: 50, ofStep: undefined, windowUs: undefined, ofWindow: undefined });
  expect(plain(gainWords(gain ?? fail(), capture({})))).toBe("at most 50.0 µs per step");
});

it("follows Amdahl, and promises no infinite speed", () => {
  expect(speedupOf(0.5)).toBe(2);
  expect(speedupOf(1)).toBeUndefined();
  expect(speedupOf(undefined)).toBeUndefined();
});

it("says how sure a finding is and why no more", () => {
  expect(confidenceWords(finding({ confidence: "measured" }))).toBe("Measured: the figures are the finding.");
  expect(confidenceWords(finding({ confidence: "likely", confidence_reason: "there is no replay" }))).toBe(
    "Likely: the figures point to it. There is no replay.",
  );
  expect(confidenceWords(finding({ confidence: "" }))).toBe("");
});

it("says that nothing is to change with the verdict, but only where it could look", () => {
  expect(nothingFound(capture({ verdict }))).toBe("Nothing to change: the device is busy for 98.0 % of the window.");
  expect(nothingFound(capture({ verdict: { ...verdict, bound: "host" } }))).toContain(
    "No rule found anything to change: the device",
  );
  const blind = capture({
    verdict: { ...verdict, bound: "unknown" },
    diagnostics: [{ topic: "loader", code: "x", count: 1, message: "no loader spans" }],
  });
  expect(nothingFound(blind)).toBe("This capture cannot tell whether there is anything to change. No loader spans.");
});

it("counts findings and names the largest gain, wherever it stands", () => {
  const run = capture({ steps, verdict, findings: [finding({}), finding({ gain_us_per_step: 100 })] });
  expect(plain(findingsSentence(run))).toBe(
    "2 things to change; the largest gain is at most 100 µs per step (50.0 % of it: 2.0x as fast).",
  );
  expect(findingsSentence(capture({ findings: [finding({})] }))).toContain("cannot be bounded");
  expect(findingsSentence(capture({ verdict }))).toContain("Nothing to change");
});

it("writes rules as words and lines as sentences", () => {
  expect(ruleWords("too_few_workers")).toBe("too few workers");
  expect(asSentence("no spans")).toBe("No spans.");
  expect(asSentence("Why not?")).toBe("Why not?");
});

function fail(): never {
  throw new Error("no gain");
}
