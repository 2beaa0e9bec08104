import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { scrollToSee, sideOf } from "../../src/ui/sight";

const scrolled: number[] = [];

beforeEach(() => {
  scrolled.length = 0;
  vi.stubGlobal("innerHeight", 800);
  vi.spyOn(window, "scrollBy").mockImplementation((_: unknown, y?: number) => void scrolled.push(y ?? 0));
  document.body.innerHTML = `<div class="top" style="position: sticky; top: -32px"></div>
    <div class="timeline-top" style="position: sticky; top: 64px"></div>`;
  const [tabs, strip] = document.body.querySelectorAll("div");
  vi.spyOn(tabs as HTMLElement, "offsetHeight", "get").mockReturnValue(96);
  vi.spyOn(strip as HTMLElement, "offsetHeight", "get").mockReturnValue(100);
});

afterEach(() => {
  document.body.innerHTML = "";
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

it("scrolls what is covered by the tabs and the timeline's strip to below both", () => {
  scrollToSee([{ topPx: 150, heightPx: 20 }]);
  expect(scrolled).toEqual([150 - (64 + 100 + 8)]);
});

it("scrolls what is below the screen no further than until it is seen, and not what is seen", () => {
  scrollToSee([{ topPx: 900, heightPx: 50 }]);
  expect(scrolled).toEqual([950 - (800 - 8)]);
  scrollToSee([{ topPx: 300, heightPx: 50 }]);
  expect(scrolled).toHaveLength(1);
});

it("leaves out what there is no room for: then the last one's beginning is seen", () => {
  scrollToSee([
    { topPx: 0, heightPx: 900 },
    { topPx: 100, heightPx: 18 },
  ]);
  scrollToSee([{ topPx: 400, heightPx: 2000 }]);
  expect(scrolled).toEqual([100 - 172, 400 - 172]);
});

it("covers nothing with a strip that goes with the page", () => {
  (document.querySelector(".timeline-top") as HTMLElement).style.position = "static";
  scrollToSee([{ topPx: 80, heightPx: 20 }]);
  expect(scrolled).toEqual([]);
});

it("knows on which side of the screen something is", () => {
  expect(sideOf({ topPx: 100, heightPx: 10 })).toBe("above");
  expect(sideOf({ topPx: 795, heightPx: 10 })).toBe("below");
  expect(sideOf({ topPx: 170, heightPx: 10 })).toBeNull();
});
