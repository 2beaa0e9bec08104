import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { worker } from "../build";
import { find, open } from "../page";

const known = {
  workers: [worker({})],
  worker_summaries: [{ loader: 0, workers: 1, processes: 1 }],
  loader: { wait_us: 1 },
};
let [roomPx, tablePx, tightPx] = [0, 0, 0];
let resized: () => void = () => undefined;

vi.stubGlobal(
  "ResizeObserver",
  class {
    constructor(readonly call: () => void) {}
    observe(element: Element): void {
      if (element.contains(document.querySelector('[data-testid="workers"]'))) resized = this.call;
    }
    disconnect(): void {}
  },
);
vi.stubGlobal("matchMedia", () => ({
  matches: roomPx < 700,
  addEventListener: () => {},
  removeEventListener: () => {},
}));
vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockImplementation(() => roomPx);
vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockImplementation(function (this: HTMLElement) {
  return Math.max(roomPx, this.dataset.tight === undefined ? tablePx : tightPx);
});
afterEach(() => vi.clearAllMocks());

const isCards = (): boolean => find("workers").dataset.cards !== undefined;
const resize = (px: number): boolean => {
  roomPx = px;
  act(() => resized());
  return isCards();
};

it("has a card for each row as long as the table is wider than its room", () => {
  [roomPx, tablePx, tightPx] = [788, 950, 900];
  open(known, "workers");
  expect(isCards()).toBe(true);
  expect([960, 898, 920].map(resize)).toEqual([false, true, false]);
  expect(find("workers").dataset.tight, "its heads then take several lines").toBe("");
  resize(960);
  expect(find("workers").dataset.tight).toBeUndefined();
});

it("has cards of many columns where there is little room, also where they could be squeezed into it", () => {
  [roomPx, tablePx, tightPx] = [390, 300, 300];
  open(known, "workers");
  expect(isCards()).toBe(true);
  expect(resize(700)).toBe(false);
});
