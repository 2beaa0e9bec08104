import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { buildTimeline } from "../../src/model/lanes";
import type { TimeRange } from "../../src/model/time-scale";
import { light } from "../../src/theme/light";
import { Timeline } from "../../src/ui/timeline";
import { lane, timeline } from "../build";

const root = document.createElement("div");
afterEach(() => render(null, root));

const nothing = (): void => undefined;
const builder = { ...lane([[0, 10, 0]]), kind: "worker", title: "DataLoader worker 0", worker: 0 };
const whole = buildTimeline(timeline([builder]));

function draw(foldAll: (folded: boolean) => void, onRange: (range: TimeRange | null) => void = nothing): void {
  const content = {
    whole,
    detail: null,
    range: null,
    selected: null,
    marked: null,
    only: null,
    link: null,
    searched: [],
  };
  const events = { onRange, onResize: nothing, onPick: nothing, turnLane: nothing, foldAll };
  act(() =>
    render(
      <Timeline {...content} {...events} folded={new Set()} palette={light} label="A timeline." error={null} />,
      root,
    ),
  );
}

it("names the key to the next idle gap only where there is one", () => {
  draw(nothing);
  expect(root.querySelector(".keys")?.textContent).toContain("n goes to the next data wait");
  expect([...root.querySelectorAll(".keys kbd")].map((key) => key.textContent)).not.toContain("g");
  expect(root.querySelector(".canvas-frame canvas")?.getAttribute("aria-label")).not.toContain("idle gap");
});

it("folds all lanes of DataLoader workers by one button", () => {
  const foldAll = vi.fn();
  draw(foldAll);
  act(() => root.querySelector<HTMLElement>('[data-testid="lanes-batches"]')?.click());
  expect(foldAll.mock.calls).toEqual([[true]]);
});

it("names in the legend what is drawn, and its keys for those who cannot see it", () => {
  draw(nothing);
  expect(root.querySelector(".legend")?.textContent).toBe("kernel");
  expect(root.querySelector(".canvas-frame canvas")?.getAttribute("aria-label")).toContain("A timeline. Keys:");
  expect(root.querySelector(".canvas-frame canvas")?.getAttribute("role")).toBe("application");
});

it("says how to zoom at the first plain turn of the wheel, until somebody zooms", () => {
  draw(nothing);
  const send = (event: Event): void => {
    act(() => void root.querySelector(".canvas-frame canvas")?.dispatchEvent(event));
  };
  send(new WheelEvent("wheel", { deltaY: 10 }));
  expect(root.querySelector('[data-testid="wheel-hint"]')).not.toBeNull();
  send(new KeyboardEvent("keydown", { key: "w" }));
  expect(root.querySelector('[data-testid="wheel-hint"]')).toBeNull();
});

it("zooms by w and 0 wherever the focus is, once also on the canvas, and not where somebody types", () => {
  const onRange = vi.fn();
  draw(nothing, onRange);
  document.body.append(root);
  const field = root.appendChild(document.createElement("input"));
  const press = (key: string, target: Element | null): boolean =>
    target?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })) ?? true;
  press("w", field);
  expect(onRange.mock.calls).toEqual([]);
  press("w", document.body);
  expect(onRange.mock.calls).toEqual([[{ startUs: 15, endUs: 85 }]]);
  press("w", root.querySelector(".canvas-frame canvas"));
  press("0", document.body);
  expect(onRange.mock.calls.slice(2)).toEqual([[null]]);
  field.remove();
  root.remove();
});
