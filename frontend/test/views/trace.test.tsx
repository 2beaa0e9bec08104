import { expect, it } from "vitest";
import { range, selectedGapUs, view } from "../../src/state/atoms";
import { device, gap } from "../build";
import { all, click, find, open, plain } from "../page";

const IDLE = device({ id: 0, idle_us: 45, gap_count: 1, gaps: [gap({ start_us: 10, duration_us: 45, step: 3 })] });

it("offers ui.perfetto.dev and a download when Perfetto is not installed", () => {
  const root = open({}, "trace");
  expect(find("open-perfetto").textContent).toContain("ui.perfetto.dev");
  expect(find("download-trace").getAttribute("href")).toContain("trace?id=exp1%2Fc");
  expect(root.querySelector("iframe")).toBeNull();
  expect(all("trace-place")).toEqual([]);
});

it("opens at the gap that was chosen, until the whole trace is asked for", () => {
  open({ devices: [IDLE] }, "gaps");
  click(find("gap-perfetto"));
  expect([view.value, selectedGapUs.value]).toEqual(["trace", 10]);
  expect(plain(find("trace-place").textContent)).toContain("the gap that was chosen in step 3, 45.0 µs long");
  click(find("trace-whole"));
  expect([selectedGapUs.value, range.value]).toEqual([null, null]);
  expect(all("trace-place")).toEqual([]);
});

it("opens at what the timeline shows where no gap was chosen", () => {
  range.value = { startUs: 1000, endUs: 3000 };
  open({}, "trace");
  expect(plain(find("trace-place").textContent)).toContain("what the timeline shows, 2.00 ms long");
});

it("opens no file that is cut off, and says so", () => {
  open({ doubts: [{ code: "cut_off", sentence: "The file is cut off." }], file: "runs/exp1/c.pt.trace.json" }, "trace");
  expect(find("trace-sentence").textContent).toContain("does not open such a file");
  expect(all("open-perfetto")).toEqual([]);
  expect(find("download-trace").getAttribute("download")).toBe("c.pt.trace.json");
});
