import { expect, it } from "vitest";
import { CAUSES } from "../../src/contract/words";
import { asCause, causeLabel, causeParts, causeToken, STACK_ORDER } from "../../src/model/causes";
import { TOKENS } from "../../src/theme/tokens";

it("leaves out causes that are absent or zero, largest first", () => {
  const parts = causeParts({ launch: 5, data_wait: 9, sync: 0 });
  expect(parts.map((part) => part.token)).toEqual(["idle:data_wait", "idle:launch"]);
  expect(causeParts(undefined)).toEqual([]);
});

it("has a colour for every cause, and stacks each once", () => {
  for (const { id } of CAUSES) expect(TOKENS).toContain(causeToken(id));
  expect([...STACK_ORDER].sort()).toEqual(CAUSES.map(({ id }) => id).sort());
});

it("takes a cause that it does not know for unknown", () => {
  expect(["sync", "", "moonlight"].map(asCause)).toEqual(["sync", "unknown", "unknown"]);
  expect(causeLabel("h2d")).toBe("host-to-device copy");
});
