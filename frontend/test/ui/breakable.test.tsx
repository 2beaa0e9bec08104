import { render } from "preact";
import { expect, it } from "vitest";
import { Breakable } from "../../src/ui/breakable";

it("breaks a long name after its marks, and keeps its text", () => {
  const root = document.createElement("div");
  render(<Breakable name="real/torch1_12_cpu.5-x" />, root);
  expect(root.innerHTML.split("<wbr>").slice(0, -1)).toEqual(["real/", "torch1_", "12_", "cpu.", "5-", "x"]);
});
