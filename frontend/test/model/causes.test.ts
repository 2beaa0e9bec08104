import { expect, it } from "vitest";
import { asCause, CAUSES, causeMeaning, causeParts, causeToken, causeWords, STACK_ORDER } from "../../src/model/causes";
import { TOKENS } from "../../src/theme/tokens";

it("leaves out causes that are absent or zero, largest first", () => {
  expect(causeParts({ launch: 5, data_wait: 9, sync: 0 }).map((part) => part.token)).toEqual([
    "idle:data_wait",
    "idle:launch",
  ]);
  expect(causeParts(undefined)).toEqual([]);
});

it("has a token, words and a meaning for every cause, and stacks each once", () => {
  for (const cause of CAUSES) {
    expect(TOKENS).toContain(causeToken(cause));
    expect(causeWords(cause)).not.toBe("");
    expect(causeMeaning(cause)).toMatch(/\.$/);
  }
  expect([...STACK_ORDER].sort()).toEqual([...CAUSES].sort());
});

it("takes a cause that it does not know for unknown", () => {
  expect(asCause("sync")).toBe("sync");
  expect(asCause("")).toBe("unknown");
  expect(asCause("moonlight")).toBe("unknown");
});
