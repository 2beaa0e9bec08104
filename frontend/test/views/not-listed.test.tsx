// Links whose batch, sample or gap the capture on screen does not list say so.

import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import * as atoms from "../../src/state/atoms";
import { batch, device, gap, stage, worker } from "../build";
import { all, find, open, plain } from "../page";

const summary = { loader: 0, workers: 1, processes: 1, batches: 1, busy_us: 9, starved_us: 1 };
const known = {
  workers: [worker({})],
  worker_summaries: [summary],
  batches: [batch({ number: 7, epoch: 1, started_us: 3 })],
  slow_samples: [{ index: 3, worker: 0, loader: 0, start_us: 4, duration_us: 9 }],
};
const words = (): string[] => all("not-listed").map(({ textContent }) => plain(textContent));

it("says of a link's batch that it is not listed, until another one is chosen", () => {
  atoms.selectedBatch.value = "0:0:0:99:1";
  open(known, "workers");
  expect(words()).toEqual(["The chosen batch 99 of epoch 0 is not listed here; none is selected."]);
  act(() => find("batch-row").click());
  expect(words()).toEqual([]);
});

it("says it of a batch whose number is unknown, or that is none, without a number", () => {
  atoms.selectedBatch.value = "foo";
  open(known, "workers");
  expect(words()).toEqual(["The chosen batch is not listed here; none is selected."]);
});

it("says it of a sample", () => {
  atoms.selectedSample.value = "5:0:0:4";
  open(known, "workers");
  expect(words()).toEqual(["The chosen sample 5 is not listed here; none is selected."]);
  act(() => {
    atoms.selectedSample.value = "3:0:0:4";
  });
  expect(words()).toEqual([]);
});

it("says of a gap which one stands in its place", () => {
  atoms.selectedGapUs.value = 1250;
  open({ devices: [device({ gaps: [gap({ start_us: 60, duration_us: 10 })] })] }, "gaps");
  expect(words()).toEqual(["The chosen gap at 1.25 ms is not listed here; showing the longest."]);
});

it("says of a stage's call which one stands in its place", () => {
  const mask = { name: "transform::Mask", slowest: [{ start_us: 50, duration_us: 35, loader: 0, worker: 1 }] };
  atoms.shownStage.value = "transform::Mask";
  atoms.selectedCall.value = "50:34:0:1";
  open({ stages: [stage(["transform::Mask"], {})], stage_details: [mask] }, "stages");
  expect(words()).toEqual(["The chosen call is not listed here; showing the slowest."]);
  act(() => find("slow-call").click());
  expect(words()).toEqual([]);
  expect(find("slow-call").getAttribute("aria-current")).toBe("true");
});

it("says of a link's steps that they are no range", () => {
  atoms.unknownSteps.value = "foo";
  open({}, "overview");
  expect(find("steps-unknown").textContent).toBe("steps=foo is no range of steps, such as 3..7; showing all steps.");
});
