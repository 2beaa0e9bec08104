import { expect, it, vi } from "vitest";
import { refreshRuns, selectCapture } from "../../src/state/actions";
import { captureId, goneId } from "../../src/state/atoms";
import { formatPlace, parsePlace } from "../../src/state/location";
import { paddedSlice, suffices } from "../../src/state/timeline-loader";
import { entry, runsOf } from "../build";

it("keeps view and capture in the hash, whatever is in the id", () => {
  const place = { view: "gaps", capture: "runs/a b&c=d/é" } as const;
  expect(parsePlace(formatPlace(place))).toEqual(place);
  expect(parsePlace("#view=nonsense")).toBeNull();
  expect(parsePlace("")).toBeNull();
});

it("fetches a slice as wide again on both sides, within the window", () => {
  const window = { startUs: 0, endUs: 1000 };
  expect(paddedSlice({ startUs: 400, endUs: 500 }, window)).toEqual({ startUs: 350, endUs: 550 });
  expect(paddedSlice({ startUs: 0, endUs: 100 }, window)).toEqual({ startUs: 0, endUs: 200 });
});

it("is content with a slice that covers the range and is fine enough", () => {
  const slice = { startUs: 350, endUs: 550 };
  expect(suffices(slice, 2000, { startUs: 400, endUs: 500 }, 1000)).toBe(true);
  expect(suffices(slice, 2000, { startUs: 400, endUs: 450 }, 1000)).toBe(false);
  expect(suffices(slice, 2000, { startUs: 500, endUs: 600 }, 1000)).toBe(false);
});

it("says which capture is gone when another takes its place, until one is chosen", async () => {
  const answer = (id: string): void => {
    vi.stubGlobal("fetch", () => Promise.resolve(Response.json(runsOf({ captures: [entry({ id, run: "exp1" })] }))));
  };
  answer("exp1/a");
  await refreshRuns();
  expect([captureId.value, goneId.value]).toEqual(["exp1/a", null]);
  answer("exp1/b");
  await refreshRuns();
  expect([captureId.value, goneId.value]).toEqual(["exp1/b", "exp1/a"]);
  selectCapture("exp1/b");
  expect(goneId.value).toBeNull();
  vi.unstubAllGlobals();
});
