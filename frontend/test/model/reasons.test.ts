import { expect, it } from "vitest";
import { reasonFor } from "../../src/model/reasons";
import { capture } from "../build";

const diagnostics = [
  {
    topic: "throughput",
    code: "no_sample_count",
    message: "Samples unknown; the device side too.",
    title: "Samples unknown",
  },
  { topic: "wait_by_stage", code: "no_records", message: "No records." },
];

it("gives the diagnostic of the topic as the reason, in short where there is little room", () => {
  expect(reasonFor(capture({ diagnostics }), "throughput")).toEqual({
    title: "Samples unknown",
    message: "Samples unknown; the device side too.",
  });
});

it("asks the next topic where the first has none, and falls back to what the first means", () => {
  expect(reasonFor(capture({ diagnostics }), "workers", "wait_by_stage").message).toBe("No records.");
  expect(reasonFor(capture({}), "device", "loader").message).toContain("No device activity");
});
