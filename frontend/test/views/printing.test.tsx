import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { httpSource, useSource } from "../../src/data/source";
import { EMPTY_TIMELINE, timeline } from "../../src/state/atoms";
import { predictAhead } from "../../src/state/predicting";
import { printPage, watchPrinting } from "../../src/views/shared/printing";
import { worker } from "../build";
import { all, open } from "../page";

const parent = window.parent;

afterEach(() => {
  Object.defineProperty(window, "parent", { value: parent, configurable: true });
  vi.unstubAllGlobals();
  useSource(httpSource);
});

function framed(): void {
  Object.defineProperty(window, "parent", { value: {}, configurable: true });
}

/** How many views stand on the paper below each other. */
function printed(print: () => void): number {
  open({}, "stages");
  const stop = watchPrinting();
  let count = 0;
  const see = (): void => {
    count = document.querySelectorAll(".printed").length;
  };
  window.addEventListener("beforeprint", see);
  act(print);
  window.removeEventListener("beforeprint", see);
  act(() => {
    window.dispatchEvent(new Event("afterprint"));
  });
  stop();
  return count;
}

const around = (): void => {
  window.dispatchEvent(new Event("beforeprint"));
};

it("prints all views of a page by itself, and of a framed one that is asked for", () => {
  expect(printed(around)).toBeGreaterThan(2);
  framed();
  vi.stubGlobal("print", around);
  expect(printed(printPage)).toBeGreaterThan(2);
});

it("leaves the view on screen where a page around it is printed, and says how to print all", () => {
  expect(all("print-note")).toEqual([]);
  framed();
  expect(printed(around)).toBe(0);
  expect(document.querySelector(".print-note")?.textContent).toContain("Help prints all of the page");
});

it("waits for the timeline of a view that was not on screen", () => {
  vi.useFakeTimers();
  const print = vi.fn();
  vi.stubGlobal("print", print);
  const summary = { loader: 0, workers: 1, processes: 1, batches: 1, busy_us: 1, sentence: "Busy." };
  open({ workers: [worker({})], worker_summaries: [summary], loader: { wait_us: 1 } }, "stages");
  act(() => {
    timeline.value = EMPTY_TIMELINE;
  });
  act(printPage);
  act(printPage);
  expect(print).not.toHaveBeenCalled();
  act(() => {
    timeline.value = { ...EMPTY_TIMELINE, error: "cannot be read" };
  });
  act(() => {
    vi.advanceTimersByTime(200);
  });
  expect(print).toHaveBeenCalledOnce();
  vi.useRealTimers();
});

it("has the predictions of a page that carries them, whatever view is on screen", async () => {
  const predicted = {
    sentence: "As captured: 8.00 ms per step.",
    doubts: [],
    limitTexts: [],
    basisText: "",
    predictions: [],
  };
  useSource({ ...httpSource, live: false, whatIf: () => Promise.resolve({ kind: "ready", value: predicted }) });
  const stopAhead = predictAhead();
  open({ loader: { wait_us: 1 } }, "gaps");
  await act(() => new Promise((done) => setTimeout(done, 0)));
  const stop = watchPrinting();
  act(around);
  expect(document.querySelector('[data-testid="what-if"]')?.textContent).toContain("8.00 ms per step");
  stop();
  stopAhead();
});
