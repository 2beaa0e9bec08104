import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Explained, Explanations } from "../../src/ui/explained";

const root = document.createElement("div");

beforeEach(() => {
  vi.useFakeTimers();
  document.body.append(root);
  act(() =>
    render(
      <>
        <Explanations />
        <Explained text="Part of idle">Starved</Explained>
        <span id="cell" title="exact">
          1 <b>ms</b>
        </span>
      </>,
      root,
    ),
  );
});

afterEach(() => {
  act(() => render(null, root));
  root.remove();
  vi.useRealTimers();
});

const shown = (): string | undefined => document.querySelector('[role="tooltip"]')?.textContent ?? undefined;
const word = (): HTMLElement => root.querySelector("button") as HTMLElement;

function send(element: Element, event: Event): void {
  act(() => {
    element.dispatchEvent(event);
    vi.advanceTimersByTime(400);
  });
}

it("is reached by a tap, which the next one elsewhere ends", () => {
  send(word(), new MouseEvent("click", { bubbles: true }));
  expect(shown()).toBe("Part of idle");
  expect([word().title, word().getAttribute("aria-description")]).toEqual(["", "Part of idle"]);
  send(document.body, new MouseEvent("click", { bubbles: true }));
  expect([shown(), word().title]).toEqual([undefined, "Part of idle"]);
});

it("follows a mouse that rests, and goes at Escape", () => {
  const inner = root.querySelector("b") as HTMLElement;
  send(inner, new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
  expect(shown()).toBe("exact");
  send(inner, new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
  expect(shown()).toBe("exact");
  send(document.body, new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  expect(shown()).toBeUndefined();
});

it("leaves what the keyboard leads to in sight, at the lower edge of the window too", () => {
  const [top, bottom] = [window.innerHeight - 120, window.innerHeight - 20];
  vi.spyOn(word(), "matches").mockReturnValue(true);
  vi.spyOn(word(), "getBoundingClientRect").mockReturnValue({ left: 40, top, bottom } as DOMRect);
  send(word(), new FocusEvent("focusin", { bubbles: true }));
  const tip = document.querySelector<HTMLElement>('[role="tooltip"]');
  expect(Number.parseFloat(tip?.style.bottom ?? "")).toBeGreaterThan(window.innerHeight - top);
});

it("waits for the mouse to move where a click brought something else under it", () => {
  const inner = root.querySelector("b") as HTMLElement;
  const over = (type: string, clientX: number): Event =>
    new PointerEvent(type, { bubbles: true, pointerType: "mouse", clientX, clientY: 5 });
  send(document.body, new MouseEvent("click", { bubbles: true, clientX: 7, clientY: 5 }));
  send(inner, over("pointerover", 7));
  send(inner, over("pointermove", 7));
  expect(shown()).toBeUndefined();
  send(inner, over("pointermove", 8));
  expect(shown()).toBe("exact");
});
