import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { asDuration, asShare, BigNumber } from "../../src/ui/numbers";

let root: HTMLElement;

beforeEach(() => {
  root = document.createElement("div");
});
afterEach(() => render(null, root));

function draw(shown: ReturnType<typeof asDuration>): HTMLElement {
  const reason = { title: "Not recorded", message: "It was not recorded: record it." };
  act(() => render(<BigNumber label="Idle" testId="n" {...shown} note="of the window" reason={reason} />, root));
  return root;
}

it.each([
  [asDuration(58_700), "58.7", "\u00a0ms"],
  [asShare(25, 100), "25.0", "%"],
])("writes the unit small beside the digits, and one string in all", (shown, digits, unit) => {
  const value = draw(shown).querySelector(".number-value");
  expect(value?.textContent).toBe(digits + unit);
  expect(value?.querySelector(".number-unit")?.textContent).toBe(unit);
});

it("keeps the exact time on hover, also where a share is written", () => {
  expect(draw(asShare(25.125, 100)).querySelector<HTMLElement>(".number-value")?.title).toBe("25.125\u00a0µs");
  expect(asShare(25, undefined)).toEqual(asDuration(25));
});

it("says in short why a number is unknown, and in full on hover", () => {
  const unknown = draw(asDuration(undefined));
  expect(unknown.textContent).toBe("Idle–Not recorded");
  expect(unknown.querySelector<HTMLElement>(".number-value")?.title).toContain("record it");
});
