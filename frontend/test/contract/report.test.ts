import { expect, it } from "vitest";
import { Batch, Capture, Report, Timeline } from "../../src/contract/report";

it("fills in what proto3 JSON leaves out, and keeps absence absent", () => {
  const [capture] = Report.fromJSON({ captures: [{ name: "c", devices: [{ idle_us: 3 }], loader: {} }] }).captures;
  expect(capture?.devices[0]).toMatchObject({ id: 0, idle_us: 3, gaps: [], name: "" });
  expect(capture?.loader?.wait_us).toBe(0);
  expect(capture?.loader?.exposed_wait_us).toBeUndefined();
  expect(capture?.steps).toBeUndefined();
  expect(capture?.window_us).toBeUndefined();
});

it("keeps absent what did not happen to a batch, and 0 what did at 0", () => {
  const batch = Batch.fromJSON({ number: 3, finished_us: 0, wait_us: null });
  expect(batch).toMatchObject({ number: 3, epoch: 0, finished_us: 0, wait_us: undefined, consumed_us: undefined });
});

it("reads maps, and evidence with its type", () => {
  const capture = Capture.fromJSON({
    loader: { wait_by_stage_us: { "decode::PIL": 2.5 } },
    verdict: { evidence: [{ kind: "wait_by_stage", value: 0.6, unit: "share", text: "so", in_sentence: true }] },
  });
  expect(capture.loader?.wait_by_stage_us).toEqual({ "decode::PIL": 2.5 });
  expect(capture.verdict?.evidence[0]).toMatchObject({ value: 0.6, whole: "", in_sentence: true });
});

it("takes an empty answer for an empty message", () => {
  expect(Report.fromJSON({}).captures).toEqual([]);
  expect(Timeline.fromJSON({}).lanes).toEqual([]);
});
