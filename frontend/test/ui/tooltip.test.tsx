import { type JSX, render } from "preact";
import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import { Tooltip } from "../../src/ui/tooltip";

it("stands above all of what it explains where there is no room below", () => {
  const root = document.createElement("div");
  const [y, aboveY] = [window.innerHeight - 20, window.innerHeight - 120];
  const bottom = (tip: JSX.Element): string | undefined => {
    act(() => render(tip, root));
    return root.querySelector<HTMLElement>(".tooltip")?.style.bottom;
  };
  expect(bottom(<Tooltip {...{ x: 0, y, aboveY }}>A number</Tooltip>)).toBe("134px");
  expect(bottom(<Tooltip {...{ x: 0, y }}>A span</Tooltip>)).toBe("34px");
  act(() => render(null, root));
});

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
