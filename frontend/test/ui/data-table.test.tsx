import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { stage, worker } from "../build";
import { all, click, csvOf, find, open, plain } from "../page";

const workers = [
  { worker: 0, pid: 30, batches: 5, busy_us: 2000, idle_us: 500 },
  { worker: 1, pid: 20, batches: 7, busy_us: 1000, idle_us: 900 },
  { worker: 2, pid: 10, batches: 6, busy_us: 3000, idle_us: 100, starved_us: 50 },
];

const known = {
  workers: workers.map(worker),
  worker_summaries: [{ loader: 0, workers: 3, processes: 3 }],
  loader: { wait_us: 1, num_workers: 3 },
};

afterEach(() => vi.restoreAllMocks());

const shown = (): Array<string | undefined> => all("worker-row").map((row) => row.dataset.worker);
const press = (column: string): void => click(document.querySelector<HTMLElement>(`[data-head="${column}"] button`));

it("sorts any column, largest first, then smallest, then as the report has it", () => {
  open(known, "workers");
  press("busy");
  expect(shown()).toEqual(["2", "0", "1"]);
  press("busy");
  expect(shown()).toEqual(["1", "0", "2"]);
  press("busy");
  expect(shown()).toEqual(["0", "1", "2"]);
  press("starved");
  expect(shown()[0]).toBe("2");
});

it("copies any table with exact values", async () => {
  open(known, "workers");
  const lines = await csvOf("DataLoader workers");
  expect(lines[0]).toContain("Busy (µs)");
  expect(lines.join("\n")).toContain("DataLoader worker 0,30,5,,,2000");
  vi.unstubAllGlobals();
});

it("narrows the stages to those with all words", () => {
  const stages = [stage(["sample::Photos"], {}), stage(["sample::Photos", "decode::PIL.Image"], {})];
  open({ stages }, "stages");
  const search = find("search") as HTMLInputElement;
  act(() => {
    search.value = "pil";
    search.dispatchEvent(new Event("input", { bubbles: true }));
  });
  expect(all("stage-row").length).toBe(1);
  expect(plain(find("search-count").textContent)).toBe("1 of 2");
});
