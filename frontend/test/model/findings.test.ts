import { expect, it } from "vitest";
import { bySeverity, confidenceWords, findingKey } from "../../src/model/findings";
import { finding } from "../build";

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
  const groups = bySeverity([finding({ severity: "dire" }), finding({ severity: "low" })]);
  expect(groups.map((group) => group.severity)).toEqual(["low", "dire"]);
});

it("says how far a finding can be trusted and why no more", () => {
  expect(confidenceWords(finding({ confidence: "measured" }))).toBe("Measured directly.");
  expect(confidenceWords(finding({ confidence: "likely", confidence_reason: "There is no replay." }))).toBe(
    "The numbers point to it. There is no replay.",
  );
  expect(confidenceWords(finding({ confidence: "" }))).toBe("");
});

it("tells findings of one rule apart", () => {
  expect(findingKey(finding({ stage: "a::b" }))).not.toBe(findingKey(finding({ stage: "a::c" })));
});
