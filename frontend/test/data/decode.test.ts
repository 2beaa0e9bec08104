import { expect, it } from "vitest";
import { decodeReport, decodeTimeline } from "../../src/data/decode";
import { decodeRuns } from "../../src/data/runs";

it("fills in what proto3 JSON leaves out, and keeps absence absent", () => {
  const [capture] = decodeReport({ captures: [{ name: "c", devices: [{ idle_us: 3 }], loader: {} }] }).captures;
  expect(capture?.devices[0]).toMatchObject({ id: 0, idle_us: 3, gaps: [], name: "" });
  expect(capture?.loader?.wait_us).toBe(0);
  expect(capture?.loader?.exposed_wait_us).toBeUndefined();
  expect(capture?.steps).toBeUndefined();
  expect(capture?.window_us).toBeUndefined();
});

it("takes neither NaN nor TensorBoard's spelling of it for a number", () => {
  const [capture] = decodeReport({ captures: [{ window_us: "NaN", loader: { wait_by_stage_us: { a: "NaN", b: 2 } } }] }).captures;
  expect(capture?.window_us).toBeUndefined();
  expect(capture?.loader?.wait_by_stage_us).toEqual({ b: 2 });
});

it("survives answers of another shape", () => {
  expect(decodeReport(null).captures).toEqual([]);
  expect(decodeTimeline("x").lanes).toEqual([]);
  expect(decodeRuns([1]).captures).toEqual([]);
});

it("reads capture entries with states and modes it knows", () => {
  const [item] = decodeRuns({ captures: [{ id: "a", name: "a", run: "", state: "odd", mode: "odd" }] }).captures;
  expect(item).toMatchObject({ run: ".", state: "queued", mode: null, error: null });
});
