import { expect, it } from "vitest";
import { confidenceWords, findingKey } from "../../src/model/findings";
import { finding } from "../build";

it("says how far a finding can be trusted and why no more", () => {
  expect(confidenceWords(finding({ confidence: "measured" }))).toBe(
    "The numbers under Evidence are the finding itself: it rests on no assumption.",
  );
  expect(confidenceWords(finding({ confidence: "likely", confidence_reason: "There is no replay." }))).toBe(
    "There is no replay.",
  );
  expect(confidenceWords(finding({ confidence: "" }))).toBe("");
});

it("tells findings of one rule apart", () => {
  expect(findingKey(finding({ stage: "a::b" }))).not.toBe(findingKey(finding({ stage: "a::c" })));
});
