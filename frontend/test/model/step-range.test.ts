import { expect, it } from "vitest";
import { stepsOfFields, stepWords, within, writtenSteps } from "../../src/model/step-range";

it("writes a range as the command line takes it", () => {
  expect(writtenSteps({ first: 3, last: 7 })).toBe("3..7");
  expect(writtenSteps({ first: 7, last: 3 })).toBe("3..7");
});

it("reads two fields whichever way round", () => {
  expect(stepsOfFields(" 7", "3 ")).toEqual({ first: 3, last: 7 });
  for (const text of ["", "x", "-1", "1.5", "1e3", "12345678901"]) expect(stepsOfFields(text, "3")).toBeNull();
});

it("keeps the part of a range that there is", () => {
  const recorded = { first: 12, last: 31 };
  expect(within({ first: 10, last: 20 }, recorded)).toEqual({ first: 12, last: 20 });
  expect(within({ first: 1, last: 11 }, recorded)).toBeNull();
});

it("names one step as one", () => {
  expect(stepWords({ first: 3, last: 3 })).toBe("step 3");
  expect(stepWords({ first: 3, last: 4 })).toBe("steps 3 to 4");
});
