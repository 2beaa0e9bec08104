import { expect, it } from "vitest";
import { groupByRun } from "../../src/model/captures";
import { reasonFor } from "../../src/model/reasons";
import { gapsSentence, newEvidence, stagesSentence } from "../../src/model/summary";
import { capture, device, entry, stage } from "../build";

it("says how idle a device is and why", () => {
  const said = gapsSentence(device({ idle_us: 40, gap_count: 7739 }), 100).replaceAll("\u00a0", " ");
  expect(said).toBe(
    "Device 0 is idle for 40.0 µs of the 100 µs window (40.0 %), in 7,739 gaps. The largest cause is data wait: 75.0 % of the idle time.",
  );
});

it("does not call the unknown a cause", () => {
  expect(gapsSentence(device({ idle_by_cause_us: { unknown: 40 } }), 100)).toContain("the cause is not known");
});

it("names the stage with the most self time, never the wait", () => {
  const said = stagesSentence(
    capture({
      stages: [
        stage(["wait::DataLoader"], { self_us: 900 }),
        stage(["decode::PIL"], { self_us: 30, count: 3 }),
        stage(["read::open"], { self_us: 10 }),
      ],
    }),
  );
  expect(said.replaceAll("\u00a0", " ")).toBe(
    "decode::PIL takes the most time of its own: 30.0 µs in 3 calls, 75.0 % of all recorded stage time.",
  );
});

it("leaves out a first line of evidence that names the verdict's own stage and share", () => {
  const said = "In the replay, 65.4 % of the time to make a batch is spent in transform::RandomMask.";
  const lines = ["transform::RandomMask: 1.00 s, 65.4 % of loading", "decode::PIL.Image: 269 ms, 17.6 % of loading"];
  expect(newEvidence(said, lines)).toEqual(lines.slice(1));
  expect(newEvidence("RandomMask takes 5.4 % of it.", lines)).toEqual(lines);
  expect(
    newEvidence("transform::RandomMask takes 5.4 %.", ["transform::RandomMask: 1.00 s, 65.4 % of loading"]).length,
  ).toBe(1);
  expect(newEvidence("All is well.", [])).toEqual([]);
});

it("leaves out the evidence that the bar of causes shows", () => {
  expect(newEvidence("Idle.", ["idle time by cause, of the window: data wait 33.6 %", "data wait 416 ms"])).toEqual([
    "data wait 416 ms",
  ]);
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
  const groups = groupByRun([
    entry({ id: "b/2", run: "b" }),
    entry({ id: "a/1", run: "a" }),
    entry({ id: "b/1", run: "b" }),
  ]);
  expect(groups.map((group) => [group.run, group.captures.length])).toEqual([
    ["b", 2],
    ["a", 1],
  ]);
});
