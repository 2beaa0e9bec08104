import { expect, it } from "vitest";
import { groupByRun } from "../../src/model/captures";
import { reasonFor } from "../../src/model/reasons";
import { causeParts, gapsSentence, newEvidence, stagesSentence, stepBars, stepStack } from "../../src/model/summary";
import { capture, device, entry, stage, step } from "../build";

it("says how idle a device is and why", () => {
  const said = gapsSentence(device({ idle_us: 40, gap_count: 7739 }), 100).replaceAll("\u00a0", " ");
  expect(said).toBe("Device 0 is idle for 40.0 µs of the 100 µs window (40.0 %), in 7,739 gaps. The largest cause is data wait: 75.0 % of the idle time.");
});

it("does not call the unknown a cause", () => {
  expect(gapsSentence(device({ idle_by_cause_us: { unknown: 40 } }), 100)).toContain("the cause is not known");
});

it("names the stage with the most self time, never the wait", () => {
  const said = stagesSentence(capture({
    stages: [stage(["wait::DataLoader"], { self_us: 900 }), stage(["decode::PIL"], { self_us: 30, count: 3 }), stage(["read::open"], { self_us: 10 })],
  }));
  expect(said.replaceAll("\u00a0", " ")).toBe("decode::PIL takes the most time of its own: 30.0 µs in 3 calls, 75.0 % of all recorded stage time.");
});

it("stacks a step so that its parts sum to its duration", () => {
  const sum = (parts: ReturnType<typeof stepStack>): number => parts.reduce((total, part) => total + part.us, 0);
  expect(sum(stepStack(step({ duration_us: 100, data_wait_us: 10 }), true))).toBe(100);
  expect(sum(stepStack(step({ duration_us: 100, device_busy_us: 70, idle_data_wait_us: 10, idle_other_us: 20 }), true))).toBe(100);
});

it("calls nothing data wait where the wait is not known", () => {
  const labels = (over: Parameters<typeof step>[0]): string[] => stepStack(step(over), false).map((part) => part.label);
  expect(labels({ device_busy_us: 70, idle_data_wait_us: 0, idle_other_us: 30 })).toEqual(["device busy", "idle"]);
  expect(labels({ data_wait_us: 0 })).toEqual(["step"]);
});

it("keeps the longest step of each group when there are more steps than room", () => {
  const items = Array.from({ length: 100 }, (_, n) => step({ number: n, duration_us: n === 42 ? 999 : 10 }));
  const bars = stepBars(items, 30);
  expect(bars.length).toBeLessThanOrEqual(30);
  expect(bars.some((bar) => bar.step.number === 42)).toBe(true);
  expect(bars.reduce((total, bar) => total + bar.of, 0)).toBe(100);
});

it("leaves out a first line of evidence that names the verdict's own stage and share", () => {
  const said = "In the replay, 65.4 % of the time to make a batch is spent in transform::RandomMask.";
  const lines = ["transform::RandomMask: 1.00 s, 65.4 % of loading", "decode::PIL.Image: 269 ms, 17.6 % of loading"];
  expect(newEvidence(said, lines)).toEqual(lines.slice(1));
  expect(newEvidence("RandomMask takes 5.4 % of it.", lines)).toEqual(lines);
  expect(newEvidence("transform::RandomMask takes 5.4 %.", ["transform::RandomMask: 1.00 s, 65.4 % of loading"]).length).toBe(1);
  expect(newEvidence("All is well.", [])).toEqual([]);
});

it("leaves out causes that are absent or zero, largest first", () => {
  expect(causeParts({ launch: 5, data_wait: 9, sync: 0 }).map((part) => part.token)).toEqual(["idle:data_wait", "idle:launch"]);
});

it("gives the diagnostic of the topic as the reason", () => {
  const diagnostics = [
    { topic: "throughput", code: "no_sample_count", count: 1, message: "samples unknown; the device side too" },
    { topic: "device", code: "no_device_activity", count: 1, message: "no device" },
  ];
  expect(reasonFor(capture({ diagnostics }), "device")).toBe("no device");
  expect(reasonFor(capture({}), "device")).toContain("No device activity");
});

it("groups captures by run in the order of the newest", () => {
  const groups = groupByRun([entry({ id: "b/2", run: "b" }), entry({ id: "a/1", run: "a" }), entry({ id: "b/1", run: "b" })]);
  expect(groups.map((group) => [group.run, group.captures.length])).toEqual([["b", 2], ["a", 1]]);
});
