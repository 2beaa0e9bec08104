import { describe, expect, it } from "vitest";
import { decodeTimeline } from "../../src/data/timeline";
import { counterHover, pointAt, valueWords } from "../../src/model/counters";
import { buildHover } from "../../src/model/hover";
import { placeLanes, ROW_PX } from "../../src/model/lane-layout";
import { buildTimeline, CHART_ROWS } from "../../src/model/lanes";
import { lane, timeline } from "../build";

const boxes = {
  id: "device:0",
  kind: "device",
  title: "Device 0",
  boxes: [2, 0, 1],
  start_ns: [-500, 1750, 0],
  duration_ns: [250, 1, 2000],
  name: [0, 1, 0],
  merged: [1, 7, 1],
  covered: [100, 40, 100],
};
const counter = {
  id: "counter:host::cpu",
  kind: "counter",
  title: "CPU cores",
  unit: "%",
  top: 100,
  lines: [
    { name: "mean of 2 cores", time_ns: [1000, 1000, 2000], mean: [10, 20, 30], low: [5, 10, 15], high: [15, 30, 45] },
  ],
};
const decoded = decodeTimeline({
  start_us: 2,
  end_us: 9,
  names: ["gemm", "copy"],
  colors: ["kernel", "copy"],
  lanes: [boxes, counter],
});

describe("a timeline on the wire", () => {
  const [device] = decoded.lanes;
  it("tells distances, row by row, which become times", () => {
    expect(device?.start_us).toEqual([1.5, 3.25, 2]);
    expect(device?.duration_us).toEqual([0.25, 0.001, 2]);
    expect(device?.depth).toEqual([0, 0, 2]);
  });
  it("keeps nanoseconds exact at the end of a long capture", () => {
    const many = {
      ...boxes,
      boxes: [100_000],
      start_ns: new Array(100_000).fill(333_333_333),
      duration_ns: [],
      name: [],
    };
    expect(decodeTimeline({ start_us: 0, lanes: [many] }).lanes[0]?.start_us.at(-1)).toBe(33_333_333_300);
  });
  it("has a colour with each name", () =>
    expect(device?.color.map((i) => decoded.names[i])).toEqual(["kernel", "copy", "kernel"]));
  it("says of a box for several how much of it they cover", () => {
    const info = buildHover(buildTimeline(decoded), { laneId: "device:0", row: 0, index: 1 });
    expect(info?.lines.join(" ")).toContain("they cover 40% of it");
  });
});

describe("a counter", () => {
  const model = buildTimeline(decoded);
  const [, cpu] = model.lanes;
  if (cpu === undefined || cpu.chart === null) throw new Error("no chart");
  const { chart } = cpu;
  it("has lines in place of rows, in a lane of its own height", () => {
    expect(chart.lines[0]?.time_us).toEqual([3, 4, 6]);
    expect(cpu.rows).toEqual([]);
    const layout = placeLanes({ ...model, lanes: [cpu] }, []);
    expect(layout.lanes[0]?.heightPx).toBe(CHART_ROWS * ROW_PX);
  });
  it("tells the point whose value holds", () => {
    expect([0, 3.4, 3.6, 4, 5.1, 99].map((us) => pointAt(chart, us))).toEqual([0, 0, 0, 1, 1, 2]);
    expect(pointAt({ ...chart, lines: [] }, 1)).toBe(-1);
  });
  it("says mean and spread under the pointer", () => {
    expect(counterHover(cpu, 1)?.lines[0]).toBe("mean of 2 cores: 20.0% (10.0% to 30.0%)");
    expect(buildHover(model, { laneId: cpu.id, row: 0, index: 1 })?.box).toBeNull();
    expect(counterHover(cpu, 9)).toBeNull();
  });
  it("leaves boxes in other lanes as they are", () =>
    expect(buildTimeline(timeline([lane([[0, 1]])])).lanes[0]?.chart).toBeNull());
});

it.each([
  [1500, "bytes", "1.50\u00a0kB"],
  [2e6, "bytes/s", "2.00\u00a0MB/s"],
  [2500, "us/s", "2.50\u00a0ms per s"],
  [12.345, "%", "12.3%"],
  [7, "", "7.00"],
])("%d %s reads %s", (value, unit, words) => expect(valueWords(value, unit)).toBe(words));
