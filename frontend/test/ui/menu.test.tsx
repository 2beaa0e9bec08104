import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Menu } from "../../src/ui/menu";

const root = document.createElement("div");
const run = vi.fn(() => "Copied");

beforeEach(() => {
  document.body.append(root);
  const items = ["One", "Two", "Three"].map((label) => ({ label, run }));
  act(() => render(<Menu label="Copy" of="table" testId="menu" items={items} />, root));
  root.querySelector("summary")?.focus();
});

afterEach(() => {
  act(() => render(null, root));
  root.remove();
});

/** Whether the key was taken: else the page would scroll by it. */
function press(key: string): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  act(() => void document.activeElement?.dispatchEvent(event));
  return event.defaultPrevented;
}

const focused = (): string => document.activeElement?.textContent ?? "";

it("opens by the arrow down, goes from item to item and around, and closes by Escape", () => {
  expect(press("ArrowUp")).toBe(false);
  expect(press("ArrowDown")).toBe(true);
  expect(root.querySelectorAll("li").length).toBe(3);
  const seen = ["ArrowDown", "ArrowDown", "End", "ArrowDown", "ArrowUp", "Home"].map((key) => [press(key), focused()]);
  expect(seen).toEqual(["One", "Two", "Three", "One", "Three", "One"].map((item) => [true, item]));
  press("Escape");
  expect(root.querySelectorAll("li").length).toBe(0);
  expect(document.activeElement?.tagName).toBe("SUMMARY");
});
