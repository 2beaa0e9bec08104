import { expect, it } from "vitest";
import { Verdict } from "../../src/contract/report";
import { deviceName, newEvidence, stageParts } from "../../src/model/parts";
import { device } from "../build";

it("shows the evidence that is news: not in the sentence, not in the bar of causes", () => {
  const evidence = [
    { kind: "wait_by_stage", text: "transform::RandomMask: 1.00 s, 65.4% of the data wait", in_sentence: true },
    { kind: "idle_by_cause", text: "idle time by cause: data wait 33.6% of the window" },
    { kind: "data_wait", text: "data wait 416 ms: 356 ms exposed" },
    { kind: "wait_by_stage", text: "decode::PIL.Image: 269 ms, 17.6% of the data wait" },
  ];
  expect(newEvidence(Verdict.fromJSON({ evidence })).map(({ text }) => text)).toEqual([evidence[3]?.text]);
  expect(newEvidence(undefined)).toEqual([]);
});

it("names stages as in the trace, and says what is no stage", () => {
  expect(stageParts({ starved: 2, "decode::PIL": 5, transfer: 0 })).toEqual([
    { name: "decode::PIL", us: 5, token: "decode", meaning: "" },
    {
      name: "no index yet (not drawn)",
      us: 2,
      token: "starved",
      meaning: "The training thread had not drawn the batch's index yet.",
    },
  ]);
});

it("names a device by number, and by its name where the trace has one", () => {
  expect(deviceName(device({ id: 1 }))).toBe("Device 1");
  expect(deviceName(device({ name: "V100" }))).toBe("Device 0 (V100)");
});
