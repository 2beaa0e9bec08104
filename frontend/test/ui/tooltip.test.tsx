import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import { Tooltip } from "../../src/ui/tooltip";

it("goes when the page scrolls away under it, until the pointer moves on", () => {
  const root = document.createElement("div");
  const drawAt = (x: number): void => {
    const tip = (
      <Tooltip x={x} y={5}>
        A span
      </Tooltip>
    );
    act(() => render(tip, root));
  };
  drawAt(10);
  expect(root.textContent).toBe("A span");
  act(() => void window.dispatchEvent(new Event("scroll")));
  expect(root.textContent).toBe("");
  drawAt(11);
  expect(root.textContent).toBe("A span");
  act(() => render(null, root));
});
